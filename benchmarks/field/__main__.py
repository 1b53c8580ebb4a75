"""Applications of strangers: missions recorded with `record_mission`, certified at the first try, replayed sealed.

Run: `python -m benchmarks.field [APPLICATION ...] [--missions NAME ...] [--recordings 1] [--runs 20] [--parallel 2]
[--live [3] [--learn]] [--busy 0] [--limit 300] [--cache FOLDER] [--keep FOLDER] [--json FILE] [--plain] [--list]` in
the environment of scripts/test, with npm on the path. Each application is installed from PyPI or npm into its own
folder of the cache, outside of the repository, and started on loopback on fresh state for each recording. A mission
is plain Playwright as a user's agent has it: roles, labels and texts, its own `expect`s; half of them are
asynchronous. It is recorded and certified by `record_mission` with its defaults, in a process of its own; then the
server is stopped, and the bundle replayed sealed. With `--live`, it is then replayed three times on the application,
unchanged and started on fresh state at the same address; with `--learn`, after `eikon certify --network live`
learned what it varies.

The table has a line per recording: its seconds and those of certifying, the rules and masks this needed, the replays
that were faithful and equal, and why it failed. A mission that fails stays in the table; none is adapted until it
passes.
`--plain` performs the missions without recording them, to see that they pass here: in the environment of the browser,
with these versions. Ends with 1 if any mission failed, with 2 if a name is unknown. Live replays fail it if fewer than
95 % of the missions were repeated by each of theirs; five missions that no agent can repeat are not replayed live, and
the table says why.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.busy import busy
from benchmarks.field.application import Application, Mission
from benchmarks.field.catalogue import APPLICATIONS
from benchmarks.field.install import InstallError, default_cache, install
from benchmarks.field.live import learn, open_site, replay_live
from benchmarks.field.perform import Performance
from benchmarks.field.serve import ServeError, serve
from benchmarks.often import replay_often
from benchmarks.subjects import Subject
from benchmarks.table import table
from eikon_engine.errors import EikonError

HEADS = (
    *("application", "mission", "actions", "recorded", "certified", "rules", "mission s", "certify s", "sealed"),
    "learned",
    "live",
    "reason",
)
LEARNING_LIMITS = 4
"""Learning has this many times the limit of a mission: it starts the application for each of its replays."""
REPEATED_LIVE = 0.95
"""Part of the missions that every live replay on the unchanged application must repeat."""
REASON = 150
"""Characters of a reason in the table; the JSON file has all."""


@dataclass(slots=True, kw_only=True)
class Result:
    """A line of the table."""

    application: str
    kind: str
    mission: str
    performance: Performance
    is_tried: bool = True
    """Whether it was to be recorded, not only performed."""
    runs: int = 0
    faithful: int = 0
    """Sealed replays that were faithful and equal to the first one."""
    learned: int | None = None
    """Accepted changes of `eikon certify --network live`; None if nothing was to be learned."""
    live_runs: int = 0
    """Replays on the unchanged application, each on fresh state."""
    live_faithful: int = 0
    live_reasons: list[str] = dataclasses.field(default_factory=list)
    never_the_same: str = ""
    """Why it was not replayed live; see `Application`."""

    @property
    def is_recorded(self) -> bool:
        """Whether the mission was performed to its end, and a bundle written."""
        return self.performance.actions is not None

    @property
    def passes(self) -> bool:
        """Whether everything that was tried worked."""
        return self.passes_sealed and self.is_repeated_live

    @property
    def passes_sealed(self) -> bool:
        """Whether everything but its live replays worked."""
        done = self.performance
        return not done.reasons and done.mission_s is not None and self.faithful == self.runs

    @property
    def is_repeated_live(self) -> bool:
        """Whether each live replay was faithful."""
        return self.live_faithful == self.live_runs

    @property
    def is_slow(self) -> bool:
        """Whether certifying took more than ten times the mission and five seconds."""
        mission, certify = self.performance.mission_s, self.performance.certify_s
        return mission is not None and certify is not None and certify > 10 * mission + 5

    def row(self) -> tuple[object, ...]:
        """Return the cells of the table."""
        done = self.performance
        reason = " ".join(next(iter((*done.reasons, *self.live_reasons, self.never_the_same)), "").split())
        return (
            self.application,
            self.mission,
            str(done.actions or ""),
            _answer(is_tried=self.is_tried, holds=self.is_recorded),
            _answer(is_tried=self.is_tried, holds=done.is_certified),
            done.rules + done.masks,
            _seconds(done.mission_s),
            _seconds(done.certify_s),
            f"{self.faithful} of {self.runs}" if self.runs else "",
            "" if self.learned is None else self.learned,
            f"{self.live_faithful} of {self.live_runs}" if self.live_runs else "-" if self.never_the_same else "",
            reason if len(reason) <= REASON else f"{reason[:REASON]} …",
        )


def _answer(*, is_tried: bool, holds: bool) -> str:
    return "" if not is_tried else "yes" if holds else "NO"


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def main() -> int:
    """Take the applications that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="APPLICATION", help="applications, instead of all")
    parser.add_argument("--missions", nargs="+", default=(), metavar="NAME", help="missions, instead of all")
    parser.add_argument("--recordings", type=int, default=1, help="recordings of each mission, each on fresh state")
    parser.add_argument("--runs", type=int, default=20, help="sealed replays of each bundle")
    parser.add_argument(
        "--live", type=int, nargs="?", const=3, default=0, help="live replays of each bundle, each on fresh state"
    )
    parser.add_argument("--learn", action="store_true", help="before the live replays, learn what the site varies")
    parser.add_argument("--parallel", type=int, default=2, help="replays at a time")
    parser.add_argument("--busy", type=int, default=0, help="processes that burn processor time all along")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for a mission and its certification")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="folder of what is installed")
    parser.add_argument("--keep", type=Path, help="folder for bundles, results and logs of servers; replaced")
    parser.add_argument("--json", type=Path, help="file for all results, with every reason and warning")
    parser.add_argument("--plain", action="store_true", help="perform the missions without recording them")
    parser.add_argument("--list", action="store_true", help="list applications, versions and missions, and end")
    chosen = parser.parse_args()
    if unknown := {*chosen.names} - {each.name for each in APPLICATIONS}:
        sys.stderr.write(f"unknown: {', '.join(sorted(unknown))}; --list shows the names\n")
        return 2
    if chosen.learn and not chosen.live:
        parser.error("--learn is for --live")
    applications = [each for each in APPLICATIONS if not chosen.names or each.name in chosen.names]
    if chosen.list:
        sys.stdout.write(_listed(applications))
        return 0
    with busy(chosen.busy):
        if chosen.keep is None:
            with tempfile.TemporaryDirectory(prefix="eikon-field-", ignore_cleanup_errors=True) as scratch:
                return measure(applications, Path(scratch), chosen)
        shutil.rmtree(chosen.keep, ignore_errors=True)
        chosen.keep.mkdir(parents=True)
        return measure(applications, chosen.keep.resolve(), chosen)


def measure(applications: list[Application], folder: Path, chosen: argparse.Namespace) -> int:
    """Install, perform, replay, and print the table."""
    results = []
    for application in applications:
        for mission in application.missions:
            if chosen.missions and mission.__name__ not in chosen.missions:
                continue
            place = folder / application.name / mission.__name__
            for number in range(1, chosen.recordings + 1):
                own = place if chosen.recordings == 1 else place / str(number)
                result = _measure_mission(application, mission, own, chosen)
                results.append(result)
                sys.stderr.write("  ".join(str(cell) for cell in result.row() if cell) + "\n")
                if chosen.json:
                    chosen.json.write_text(json.dumps([dataclasses.asdict(each) for each in results], indent=1))
    sys.stdout.write(table(HEADS, [each.row() for each in results]) + _totals(results))
    return exit_status(results)


def exit_status(results: list[Result]) -> int:
    """Return 0 if every mission passed, or if only some live replays differed, of at most a few missions; else 1."""
    if not results or not all(each.passes_sealed for each in results):
        return 1
    live = [each for each in results if not each.never_the_same]
    return int(sum(each.is_repeated_live for each in live) < REPEATED_LIVE * len(live))


def _measure_mission(application: Application, mission: Mission, folder: Path, chosen: argparse.Namespace) -> Result:
    result = Result(
        application=application.name,
        kind=application.kind,
        mission=mission.__name__,
        performance=Performance(),
        is_tried=not chosen.plain,
    )
    folder.mkdir(parents=True)
    bundle = None if chosen.plain else folder / "bundle"
    try:
        installed = install(application, chosen.cache.resolve())
        with serve(application, installed, folder / "home") as url:
            result.performance = _perform(application, mission, url, folder, bundle, chosen.limit)
        if bundle is not None and result.performance.is_certified:
            _replay(result, bundle, chosen)
            if chosen.live and (why := application.never_the_same.get(mission.__name__)):
                result.never_the_same = f"not replayed live: {why}"
            elif chosen.live:  # in the same folder, since applications show where their data is
                _replay_live(result, application, (installed, folder / "home"), int(url.rpartition(":")[2]), chosen)
    except (InstallError, ServeError) as error:
        result.performance.reasons.append(str(error))
    return result


def _perform(
    application: Application, mission: Mission, url: str, folder: Path, bundle: Path | None, limit: float
) -> Performance:
    """Perform the mission in a process of its own, which is ended when the time is over."""
    command = [sys.executable, "-m", "benchmarks.field.perform", application.name, mission.__name__, url]
    written = folder / "result.json"
    arguments = [str(written), *([] if bundle is None else [str(bundle)])]
    with (folder / "agent.log").open("wb") as log:
        agent = subprocess.Popen([*command, *arguments], stdout=log, stderr=log, start_new_session=True)
        try:
            status = agent.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            return Performance(reasons=[f"not recorded and certified within {limit:.0f} s"])
        finally:
            with suppress(ProcessLookupError):
                os.killpg(agent.pid, signal.SIGKILL)
            agent.wait()
    if status:
        lines = (folder / "agent.log").read_text(errors="replace").strip().splitlines()
        return Performance(reasons=[f"the agent ended with {status}: {(lines or [''])[-1]}"])
    return Performance(**json.loads(written.read_text()))


def _replay(result: Result, bundle: Path, chosen: argparse.Namespace) -> None:
    """Replay sealed, with the server stopped, and count the replays that are equal."""
    subject = Subject(name=result.mission, bundle=bundle)
    result.runs = chosen.runs

    async def replay() -> None:
        async with asyncio.timeout(chosen.limit * 2):
            tally = await replay_often(subject, runs=chosen.runs, parallel=min(chosen.parallel, chosen.runs))
        alike = min(max(digests.values()) for digests in (tally.observed, tally.network))
        result.faithful = min(tally.verdicts["faithful"], alike)
        if not tally.holds:
            result.performance.reasons.append(f"replays: {' '.join(tally.findings().split()) or 'not equal'}")

    try:
        asyncio.run(replay())
    except TimeoutError:
        result.performance.reasons.append(f"{chosen.runs} replays did not end within {2 * chosen.limit:.0f} s")
    except EikonError as error:
        result.performance.reasons.append(f"replays: {error.message}")


def _replay_live(
    result: Result, application: Application, place: tuple[Path, Path], port: int, chosen: argparse.Namespace
) -> None:
    """Learn what the application varies, if asked to, and replay on it; `place` is where it is installed and runs."""
    bundle = place[1].parent / "bundle"
    with open_site(application, *place, port) as site:
        if chosen.learn:
            result.learned, result.live_reasons = learn(site, bundle, chosen.limit * LEARNING_LIMITS)
        for _ in range(chosen.live):
            is_faithful, reasons = replay_live(site, bundle, chosen.limit)
            result.live_runs += 1
            result.live_faithful += is_faithful
            result.live_reasons += reasons


def _totals(results: list[Result]) -> str:
    mission = sum(each.performance.mission_s or 0.0 for each in results if each.performance.is_certified)
    certify = sum(each.performance.certify_s or 0.0 for each in results if each.performance.is_certified)
    recorded = sum(each.is_recorded for each in results)
    certified = sum(each.performance.is_certified for each in results)
    passed = sum(each.passes for each in results)
    applications = len({each.application for each in results})
    missions = len({(each.application, each.mission) for each in results})
    what = f"{missions} missions of {applications} applications"
    if missions != len(results):
        what += f", {len(results)} recordings"
    if not any(each.is_tried for each in results):
        return f"{what}: {passed} passed without being recorded\n"
    slow = [each for each in results if each.performance.is_certified and each.is_slow]
    names = "".join(f", {each.application} {each.mission}" for each in slow)
    live = [each for each in results if each.live_runs]
    repeated = f"{sum(each.is_repeated_live for each in live)} of {len(live)} repeated by each live replay\n"
    return (
        f"{what}: {recorded} recorded, {certified} certified at the first try, {passed} passed\n"
        f"{repeated if live else ''}"
        f"of those certified: {mission:.0f} s of missions, {certify:.0f} s of certifying; "
        f"{len(slow)} took more than ten times the mission and five seconds{names}\n"
    )


def _listed(applications: list[Application]) -> str:
    rows = [
        (each.name, each.kind, " ".join((*each.python, *each.npm)), " ".join(one.__name__ for one in each.missions))
        for each in applications
    ]
    return table(("application", "kind", "packages", "missions"), rows)


if __name__ == "__main__":
    sys.exit(main())
