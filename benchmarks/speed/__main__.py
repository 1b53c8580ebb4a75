"""Sealed replays beside the same mission as a plain Playwright script, and by @puppeteer/replay, on the live site.

Run: `python -m benchmarks.speed [SUBJECT ...] [--rounds 5] [--json FILE]` in the environment of scripts/test, with npm
on the path. Three missions: the bundled one, a site of many pages, an editor that loads megabytes of scripts; the last
two are applications of `benchmarks.field`, and are recorded and certified first. All use the same browser, in a
process of their own each time. Each round runs all three ways; the first one is not counted. A run of another way than
ours that fails is named, and not counted either.

The table has medians: messages to the driver of Playwright, in all and for a step; processor time of Python, of the
driver (Node.js) and of the browser; wall time with and without starting the processes; for sealed replays, the 95th
percentile of a step. The ratios below are those of a sealed replay to the other two.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median, quantiles
from typing import Final, Literal, TypeAlias, get_args

from benchmarks.field.install import default_cache
from benchmarks.speed.perform import messages_counted
from benchmarks.speed.processes import CommandError, run_measured
from benchmarks.speed.subjects import ROOT, SUBJECTS, Subject, find_subject
from benchmarks.table import table
from eikon_engine.browser.executable import find_browser
from eikon_engine.browser.page_timeline import PageTimeline
from eikon_engine.outcome.outcomes import ReplayOutcome
from eikon_engine.replay import ReplayEngine, ReplayOptions
from eikon_engine.replay.artifacts import OUTCOME_FILE

Way: TypeAlias = Literal["sealed replay", "Playwright script", "@puppeteer/replay"]
PACKAGES: Final = ("@puppeteer/replay@3.1.3", "puppeteer@24.43.1")
HEADS: Final = ("mission", "way", "messages", "a step", "Python", "driver", "browser", "wall", "in all", "step p95")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One run; all times in seconds."""

    python_s: float
    driver_s: float
    browser_s: float
    wall_s: float
    """Without the start of the processes."""
    all_s: float
    messages: float | None = None
    messages_of_a_step: float | None = None
    """Median."""
    slow_step_s: float | None = None

    @property
    def cpu_s(self) -> float:
        """Processor time of all processes."""
        return self.python_s + self.driver_s + self.browser_s


def main() -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(each.name for each in SUBJECTS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="file for all samples")
    chosen = parser.parse_args()
    try:
        subjects = tuple(map(find_subject, chosen.subjects)) or SUBJECTS
    except KeyError as error:
        sys.stderr.write(f"unknown subject {error}; known are {', '.join(each.name for each in SUBJECTS)}\n")
        return 2
    measured: dict[str, dict[Way, list[Sample]]] = {}
    try:
        with tempfile.TemporaryDirectory(prefix="eikon-speed-") as scratch:
            for subject in subjects:
                measured[subject.name] = _measure(subject, Path(scratch), chosen.rounds)
    except CommandError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(
        table(HEADS, [_row(name, way, all_) for name, ways in measured.items() for way, all_ in ways.items()])
    )
    for name, ways in measured.items():
        sys.stdout.write(_ratios(name, ways))
    if chosen.json:
        plain = {
            name: {way: [asdict(each) for each in all_] for way, all_ in ways.items()}
            for name, ways in measured.items()
        }
        chosen.json.write_text(json.dumps(plain, indent=1))
    return 0


def _measure(subject: Subject, scratch: Path, rounds: int) -> dict[Way, list[Sample]]:
    folder = scratch / subject.name
    folder.mkdir()
    with subject.served(folder / "recorded") as url:
        bundle = subject.bundle(url, folder)
    counted = _count_messages(bundle, folder / "counted")
    samples: defaultdict[Way, list[Sample]] = defaultdict(list)
    for number in range(rounds + 1):
        for way in get_args(Way):
            place = folder / f"{number}-{get_args(Way).index(way)}"
            with subject.served(place) as url:
                try:
                    sample = _run(way, subject, url, bundle, place.with_name(f"{place.name}-artifacts"))
                except CommandError as error:
                    if way == "sealed replay":
                        raise
                    sys.stdout.write(f"{subject.name}: {way} failed in round {number}: {error}\n")
                    continue
            if number:
                samples[way].append(replace(sample, **counted) if way == "sealed replay" else sample)
    return dict(samples)


def _run(way: Way, subject: Subject, url: str, bundle: Path, artifacts: Path) -> Sample:
    browser = str(find_browser(None, environ=os.environ).path)
    match way:
        case "sealed replay":
            command = ["-m", "eikon_engine.replay", "--trace", str(bundle), "--artifacts-dir", str(artifacts)]
            used = run_measured([sys.executable, *command], ROOT)
            seen = _times(artifacts)
        case "Playwright script":
            command = ["-m", "benchmarks.speed.perform", subject.name, url, browser]
            used = run_measured([sys.executable, *command], ROOT)
            seen = json.loads(used.output)
        case "@puppeteer/replay":
            script = Path(__file__).with_name("replay_flow.mjs")
            used = run_measured(["node", str(script), str(subject.flow), url, browser], install_puppeteer())
            seen = json.loads(used.output)
    return Sample(
        python_s=used.cpu_s.get("python", 0.0),
        driver_s=used.cpu_s.get("driver", 0.0),
        browser_s=used.cpu_s.get("browser", 0.0),
        all_s=used.wall_s,
        **seen,
    )


def _times(artifacts: Path) -> dict[str, float]:
    """Return the wall time of a replay and that of a slow step."""
    outcome = ReplayOutcome.model_validate_json((artifacts / OUTCOME_FILE).read_bytes())
    steps_s = [step.duration_ms / 1000 for subgoal in outcome.subgoals for step in subgoal.steps]
    return {
        "wall_s": (outcome.ended_at - outcome.started_at).total_seconds(),
        "slow_step_s": quantiles(steps_s, n=20)[-1],
    }


def _count_messages(bundle: Path, artifacts: Path) -> dict[str, float]:
    """Return the messages of a sealed replay, which is not timed: counting them imports modules too early."""
    with messages_counted(PageTimeline) as messages:
        ReplayEngine(ReplayOptions(artifacts_dir=artifacts)).replay(bundle)
    return {"messages": messages.total, "messages_of_a_step": messages.of_a_step()}


def install_puppeteer() -> Path:
    """Return the folder with @puppeteer/replay, installed now unless these versions are there already.

    Raises:
        CommandError: npm failed.
    """
    folder = default_cache() / "puppeteer-replay"
    done = folder / "installed.txt"
    if done.is_file() and done.read_text() == "\n".join(PACKAGES):
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = ["npm", "install", "--prefix", ".", "--no-audit", "--no-fund", "--loglevel=error", *PACKAGES]
    environment = {**os.environ, "PUPPETEER_SKIP_DOWNLOAD": "1"}
    status = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if status.returncode:
        raise CommandError(f"npm exited with {status.returncode}: {status.stderr.strip().splitlines()[-1]}")
    done.write_text("\n".join(PACKAGES))
    return folder


def _row(name: str, way: Way, samples: list[Sample]) -> tuple[object, ...]:
    messages, of_a_step, slow_s = (
        _median([getattr(each, field) for each in samples])
        for field in ("messages", "messages_of_a_step", "slow_step_s")
    )
    return (
        name,
        way,
        "" if messages is None else f"{messages:.0f}",
        "" if of_a_step is None else f"{of_a_step:.1f}",
        *(
            f"{_median([getattr(each, field) for each in samples]):.2f}"
            for field in ("python_s", "driver_s", "browser_s")
        ),
        *(f"{_median([getattr(each, field) for each in samples]):.2f}" for field in ("wall_s", "all_s")),
        "" if slow_s is None else f"{slow_s:.2f}",
    )


def _median(values: list[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return median(known) if known else None


def _ratios(name: str, ways: dict[Way, list[Sample]]) -> str:
    """Return the ratios of medians: processor time, and wall time with and without the start."""
    sealed, *others = get_args(Way)
    lines = []
    for other in others:
        ratios = (
            median(getattr(each, field) for each in ways[sealed]) / median(getattr(each, field) for each in ways[other])
            for field in ("cpu_s", "all_s", "wall_s")
        )
        cpu, in_all, without = (f"{each:.2f}" for each in ratios)
        lines.append(f"{name}: {sealed} to {other}: processor {cpu}, wall {in_all}, wall without start {without}\n")
    return "".join(lines)


if __name__ == "__main__":
    sys.exit(main())
