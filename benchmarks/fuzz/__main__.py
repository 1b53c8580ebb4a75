"""Feeds every reader of untrusted input with broken inputs, and looks for what no error of ours explains.

Run: `python -m benchmarks.fuzz [TARGET ...] [--engine random|atheris] [--inputs N] [--seconds S] [--seed N] [--jobs N]
[--corpus DIR] [--keep DIR]` in the environment of scripts/test. A target is a reader as the command line calls it
(`--list`); its inputs are the files of its corpus, then broken copies of them: values of JSON, lines, texts, members of
archives, bytes. An input may be accepted or refused with an error of ours. Anything else is a finding: another
exception, more than 10 s, more memory than four times the largest document. Prints a row for each target, and each
finding with a shortened input, which `--keep` stores. Ends with 1 if there is one. `--inputs` and `--seconds` are those
of each target; the same seed feeds the same inputs.

The engine `atheris` is guided by coverage, and in the extra `fuzz`. Its processes have no limit of memory.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.fuzz.processes import fuzz_all
from benchmarks.fuzz.run import Choice
from benchmarks.fuzz.target import CORPUS
from benchmarks.fuzz.targets import TARGETS
from benchmarks.table import table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.fuzz.run import Result


def report(results: Iterable[Result]) -> str:
    """Return a row for each target, then the findings."""
    results = list(results)
    rows = [
        (
            each.target,
            each.inputs,
            round(each.inputs / max(each.seconds, 0.001)),
            each.accepted,
            each.refused,
            each.foreign,
            round(each.slowest_ms),
        )
        for each in results
    ]
    lines = [table(("target", "inputs", "per s", "accepted", "refused", "findings", "slowest ms"), rows)]
    for each in results:
        lines += (f"{each.target}: {site}\n  {found.data[:200]!r}\n" for site, found in each.findings.items())
    foreign = sum(each.foreign for each in results)
    lines.append(f"{sum(each.inputs for each in results):,} inputs, {foreign:,} findings\n")
    return "".join(lines)


def require_atheris(parser: argparse.ArgumentParser) -> None:
    """Exit with a usage error if atheris is not installed."""
    if importlib.util.find_spec("atheris") is None:
        parser.error("--engine atheris needs the extra fuzz: pip install -e '.[fuzz]'")


def keep(results: Iterable[Result], folder: Path) -> None:
    """Store the inputs of findings in the corpora below a folder."""
    for each in results:
        for found in each.findings.values():
            place = folder / each.target / found.name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(found.data)


def main(argv: Sequence[str] | None = None) -> int:
    """Fuzz, print, store."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="by default, all")
    parser.add_argument("--engine", choices=("random", "atheris"), default="random")
    parser.add_argument("--inputs", type=int, default=20_000, help="of each target")
    parser.add_argument("--seconds", type=float, default=math.inf, help="of each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="folder of a corpus for each target")
    parser.add_argument("--keep", type=Path, default=None, help="folder for the inputs of findings")
    parser.add_argument("--list", action="store_true", help="print the names of the targets")
    arguments = parser.parse_args(argv)
    if arguments.list:
        sys.stdout.write("".join(f"{name}\n" for name in TARGETS))
        return 0
    unknown = [name for name in arguments.targets if name not in TARGETS]
    if unknown:
        parser.error(f"expected targets of --list, got {', '.join(unknown)}")
    choice = Choice(inputs=arguments.inputs, seconds=arguments.seconds, seed=arguments.seed, corpus=arguments.corpus)
    by_coverage = arguments.engine == "atheris"
    if by_coverage:
        require_atheris(parser)
    results = []
    names = arguments.targets or tuple(TARGETS)
    for each in fuzz_all(names, choice, jobs=arguments.jobs, by_coverage=by_coverage):
        sys.stderr.write(f"{each.target}: {each.inputs} inputs, {each.foreign} findings, {each.seconds:.0f} s\n")
        results.append(each)
    sys.stdout.write(report(results))
    if any(each.findings for each in results):
        folder = arguments.keep or Path(tempfile.mkdtemp(prefix="eikon-findings-"))
        keep(results, folder)
        sys.stdout.write(f"inputs of the findings: {folder}\n")
    return 1 if any(each.foreign for each in results) else 0


if __name__ == "__main__":
    sys.exit(main())
