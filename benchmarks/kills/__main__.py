"""Proves that a command may be killed at any moment: nothing hangs, nothing is left running, nothing recorded is lost.

Run: `python -m benchmarks.kills [COMMAND ...] [--kills 300] [--seed 1] [--signals TERM INT KILL]` in the environment of
scripts/test, on Linux. Each command is run whole once. Then it is started again and again, and killed at a random
moment of its usual time, by a random signal. It must end within 5 s with its own status or that of the signal, and
without a traceback; so must everything that it started, also after SIGKILL. Every file that it wrote must read back,
and its input be unchanged. After each third kill it is run whole in the same folder: it must work, and nothing of the
killed runs may be left, in the folder for temporary files or beside the output. The same seed kills at the same
moments. Servers are on loopback. Prints a row for each command and signal, and what was found; exits with 1 if that is
anything.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random  # noqa: TID251 - seeded
from typing import TYPE_CHECKING, Final

from benchmarks.kills.commands import CASES, served
from benchmarks.kills.runs import ROOT, check_next_start, kill_once, new_place, run_whole
from benchmarks.table import table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.kills.commands import Case
    from benchmarks.kills.runs import Kill, Usual

SIGNALS: Final = ("TERM", "INT", "KILL")
IN_A_ROW: Final = 3
"""Kills in one folder, before the command is run whole there."""
KINDS: Final = ("hang", "orphans", "lost", "leftovers", "again", "status", "fault")


def measure(case: Case, template: Path, addresses: dict[str, str]) -> Usual:
    """Run a command whole."""
    usual = run_whole(new_place(case, _folder(case, template) / "usual", template, addresses))
    sys.stderr.write(f"{case.name}: {usual.seconds:.1f} s, status {usual.status}\n")
    return usual


def shares(kills: int, seconds: Sequence[float]) -> tuple[int, ...]:
    """Divide kills among commands: more of those that take less time, some of each."""
    weights = [each**-0.5 for each in seconds]
    done = [round(kills * sum(weights[:number]) / sum(weights)) for number in range(len(weights) + 1)]
    return tuple(after - before for before, after in pairwise(done))


def _folder(case: Case, template: Path) -> Path:
    return template.parent / "-".join(case.name.replace("-", "").replace(",", "").split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """How commands are killed, and what they work on."""

    seed: int
    signals: tuple[signal.Signals, ...]
    template: Path
    addresses: dict[str, str]


def kill_often(case: Case, usual: Usual, kills: int, choice: Choice) -> Iterator[Kill]:
    """Kill a command again and again."""
    chance = Random(f"{choice.seed} {case.name}")  # noqa: S311 - repeatable
    for begun in range(0, kills, IN_A_ROW):
        folder = _folder(case, choice.template) / str(begun)
        place = new_place(case, folder, choice.template, choice.addresses)
        killed = [kill_once(place, usual, choice.signals, chance) for _ in range(min(IN_A_ROW, kills - begun))]
        yield from killed[:-1]
        yield killed[-1].with_findings(check_next_start(place, usual))
        shutil.rmtree(place.folder)


def rows(kills: Sequence[Kill]) -> Iterator[tuple[object, ...]]:
    """Yield a row for each command and signal, and one for all."""
    for name in dict.fromkeys(each.case for each in kills):
        for number in SIGNALS:
            chosen = [each for each in kills if each.case == name and each.signal.name == f"SIG{number}"]
            if chosen:
                yield _row(name, number, chosen)
    yield _row("all", "", kills)


def _row(name: str, number: str, kills: Sequence[Kill]) -> tuple[object, ...]:
    counts = Counter(kind for each in kills for kind in {kind for kind, _ in each.findings})
    clean = sum(not each.findings for each in kills)
    return (name, number, len(kills), clean, *(counts[kind] for kind in KINDS))


def main() -> int:
    """Kill and print."""
    parser = argparse.ArgumentParser(description="Kill commands at random moments, and check what is left.")
    parser.add_argument("commands", nargs="*", metavar="COMMAND", help="commands; by default all")
    parser.add_argument("--kills", type=int, default=300, help="kills of all commands together")
    parser.add_argument("--seed", type=int, default=1, help="another one kills at other moments")
    parser.add_argument("--signals", nargs="+", choices=SIGNALS, default=SIGNALS)
    chosen = parser.parse_args()
    cases = [each for each in CASES if not chosen.commands or each.name in chosen.commands]
    if unknown := set(chosen.commands) - {each.name for each in cases}:
        parser.error(f"no such command: {', '.join(sorted(unknown))}; known: {', '.join(each.name for each in CASES)}")
    signals = tuple(signal.Signals[f"SIG{each}"] for each in chosen.signals)
    os.chdir(ROOT)
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # commands inherit that it is ignored, as in a background job
    kills: list[Kill] = []
    with tempfile.TemporaryDirectory(prefix="kills-") as scratch, served(Path(scratch) / "template") as addresses:
        template = Path(scratch) / "template"
        choice = Choice(seed=chosen.seed, signals=signals, template=template, addresses=addresses)
        usual = [measure(case, template, addresses) for case in cases]
        for case, one, share in zip(cases, usual, shares(chosen.kills, [each.seconds for each in usual]), strict=True):
            sys.stderr.write(f"{case.name}: {share} kills\n")
            for each in kill_often(case, one, share, choice):
                kills.append(each)
                for kind, text in each.findings:
                    sys.stderr.write(f"{case.name} {each.signal.name} after {each.after:.2f} s: {kind}: {text}\n")
    sys.stdout.write(table(("command", "signal", "kills", "clean", *KINDS), list(rows(kills))))
    return int(any(each.findings for each in kills))


if __name__ == "__main__":
    sys.exit(main())
