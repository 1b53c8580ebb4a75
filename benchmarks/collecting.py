"""How long pytest takes to collect many bundles, with and without a configuration.

Run: `python -m benchmarks.collecting [--bundles 10000] [--rounds 3] [--limit 5] [--profile FILE]` in the environment of
scripts/test. A bundled mission is copied under that many mission ids; copies share their other files by hard links.
Prints medians of `pytest traces/ --eikon --collect-only -q` in processes of their own: all bundles in one folder; a
hundred in each folder; the same with a configuration that gives tags, and with `-m` on one of these; and, for
comparison, as many parametrized tests of one function, without us. Exits with 1 if pytest collects other tests than
there are, or a median of the processor time is above the limit, in seconds: an idle machine takes as long.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.table import table
from eikon_engine.trace.trace_file import TRACE_FILE

FAILING = Path(__file__).resolve().parent.parent / "tests" / "data" / "traces" / "shop_failing"
"""The smallest bundle; what a trace contains does not matter here."""
PER_FOLDER = 100
"""Bundles in a folder, unless all are in one."""
CONFIGURATION = """\
[replay]
policy = "effects"

[[bundles]]
match = "traces/**"
tags = ["shop"]

[[bundles]]
match = "traces/area_000*"
tags = ["slow"]
"""
COLLECTED = re.compile(r"^(\d+)(?:/\d+)? tests? collected", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A run of pytest, and how many tests it should collect."""

    name: str
    project: Path
    items: int
    arguments: tuple[str, ...] = ("traces", "--eikon")


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """What one run of pytest collected."""

    items: int
    seconds: float
    processor_s: float


def link_bundle(source: Path, target: Path) -> None:
    """Copy a bundle as that of a mission of its new name; its files are hard links, except the trace."""
    for path in source.rglob("*"):
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file() and path.name != TRACE_FILE:
            copy.hardlink_to(path)
    text = (source / TRACE_FILE).read_text(encoding="utf-8")
    renamed = re.sub(r'"mission_id": "[^"]*"', f'"mission_id": "{target.name}"', text, count=1)
    (target / TRACE_FILE).write_text(renamed, encoding="utf-8")


def write_projects(scratch: Path, count: int) -> tuple[Case, ...]:
    """Write the projects, and return the cases."""
    flat, nested, configured, plain = (scratch / name for name in ("flat", "nested", "configured", "plain"))
    sample = shutil.copytree(FAILING, scratch / "sample")  # on the file system of its links
    for number in range(count):
        link_bundle(sample, flat / "traces" / f"mission_{number:05d}")
        for project in (nested, configured):
            link_bundle(sample, project / "traces" / f"area_{number // PER_FOLDER:04d}" / f"mission_{number:05d}")
    (configured / "eikon.toml").write_text(CONFIGURATION, encoding="utf-8")
    plain.mkdir()
    test = f"import pytest\n\n@pytest.mark.parametrize('number', range({count}))\ndef test_one(number): pass\n"
    (plain / "test_plain.py").write_text(test, encoding="utf-8")
    return (
        Case(name="all in one folder", project=flat, items=count),
        Case(name="in folders of a hundred", project=nested, items=count),
        Case(name="... with tags", project=configured, items=count),
        Case(
            name="... -m slow",
            project=configured,
            items=min(count, 10 * PER_FOLDER),
            arguments=("traces", "--eikon", "-m", "slow"),
        ),
        Case(name="parametrized tests", project=plain, items=count, arguments=()),
    )


def collect(case: Case, compiled: Path, *options: str) -> Collection:
    """Collect the tests of a project in a process of its own, with further options of Python.

    Compiled modules are in a folder, as they are in an ordinary environment after the first run.
    """
    command = [sys.executable, *options, "-m", "pytest", *case.arguments, "--collect-only", "-q"]
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        command, cwd=case.project, env=environment(compiled), capture_output=True, text=True, check=False
    )
    seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    found = COLLECTED.search(done.stdout)
    return Collection(
        items=int(found[1]) if found else 0,
        seconds=seconds,
        processor_s=after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
    )


def environment(compiled: Path) -> dict[str, str]:
    """Return the environment of pytest, which keeps compiled modules."""
    others = {"PYTEST_ADDOPTS", "PYTHONDONTWRITEBYTECODE"}
    return {
        **{name: value for name, value in os.environ.items() if name not in others},
        "PYTHONPYCACHEPREFIX": str(compiled),
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundles", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=5.0)
    parser.add_argument("--profile", type=Path, help="write profiles of one more run of each case: FILE.0, FILE.1 ...")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="eikon-collecting-") as made:
        cases = write_projects(Path(made), chosen.bundles)
        compiled = Path(made) / "compiled"
        for case in cases[-2:]:
            collect(case, compiled)
        rounds = [[collect(case, compiled) for case in cases] for _ in range(chosen.rounds)]
        for number, case in enumerate(cases if chosen.profile else ()):
            collect(case, compiled, "-m", "cProfile", "-o", f"{chosen.profile.absolute()}.{number}")
    of_case = list(zip(cases, zip(*rounds, strict=True), strict=True))
    rows = [
        (case.name, runs[0].items, median(each.seconds for each in runs), median(each.processor_s for each in runs))
        for case, runs in of_case
    ]
    sys.stdout.write(table(("bundles", "collected", "seconds", "processor s"), rows))
    is_complete = all(each.items == case.items for case, runs in of_case for each in runs)
    is_fast = all(processor_s <= chosen.limit for *_, processor_s in rows[:-1])
    return 0 if is_complete and is_fast else 1


if __name__ == "__main__":
    sys.exit(main())
