"""Proves that nothing that changes passes, that nothing harmless alarms, and that the explanation is right.

Run: `python -m benchmarks.mutations [--per-document 3] [--parallel 4] [--only NAME,NAME] [--limit N]` in the
environment of scripts/test. The bundled missions, and missions recorded from MiniWoB++ and Django's admin, are mutated:
operators change one element of a document, an answer, a script, a download, or the trace itself, each in many places.
Every mutant is replayed sealed, its changed network answering for the recorded one (`--answers`), and must come to the
verdict, the first action, the layer and the cause that its operator knows to be right. Printed are a row for each
operator, the matrix of verdicts, and every mutant that came out otherwise. Ends with 1 if a change passed or a harmless
one did not, and where fewer than 98 % of the actions or 95 % of the causes are right.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.mutations.mutants import mutants
from benchmarks.mutations.source import Source
from benchmarks.mutations.truth import spread
from benchmarks.subjects import subject
from benchmarks.table import table
from eikon_engine.replay.many import replay_many
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.trace.bundle import open_bundle

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.mutations.truth import Mutant
    from eikon_engine.outcome.outcomes import ReplayOutcome

NAMES = ("shop_passing", "shop_failing", "shop-order", "dispatch", "miniwob-1", "miniwob-2", "django-admin")
HEADS = ("operator", "mutants", "verdict", "action", "layer", "cause")
EXACT_ACTIONS, RIGHT_CAUSES = 0.98, 0.95
A_BROWSER = 60
"""Mutants in one browser."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a mutant came to."""

    mission: str
    mutant: Mutant
    verdict: str
    place: tuple[str, int] | None
    layer: str
    cause: str
    sentence: str

    @property
    def is_right(self) -> bool:
        """Say whether the verdict is the right one."""
        return self.verdict == self.mutant.truth.verdict

    @property
    def has_place(self) -> bool:
        """Say whether the first action that diverged is the right one."""
        return self.place == self.mutant.truth.place

    @property
    def has_layer(self) -> bool:
        """Say whether it was found where it is."""
        return not self.mutant.truth.layers or self.layer in self.mutant.truth.layers

    @property
    def has_cause(self) -> bool:
        """Say whether its cause is told."""
        return not self.mutant.truth.causes or self.cause in self.mutant.truth.causes


def result(mission: str, mutant: Mutant, outcome: ReplayOutcome, error: str) -> Result:
    """Read an outcome."""
    first = outcome.divergences[0] if outcome.divergences else None
    told = outcome.explanation
    return Result(
        mission=mission,
        mutant=mutant,
        verdict=f"error: {error}" if error else outcome.verdict,
        place=(first.subgoal, first.sequence) if first else None,
        layer=first.layer if first else "",
        cause=told.cause if told else "",
        sentence=told.sentence if told else "; ".join(outcome.reasons),
    )


async def run(source: Source, chosen: Sequence[Mutant], parallel: int) -> list[Result]:
    """Replay mutants, several at a time in one browser."""
    results: list[Result] = []
    for start in range(0, len(chosen), A_BROWSER):
        some = chosen[start : start + A_BROWSER]
        with tempfile.TemporaryDirectory(prefix="eikon-mutants-") as scratch:
            answering = [each for each in some if each.trace is None]
            options = []
            for number, mutant in enumerate(answering):
                folder = Path(scratch) / f"mutant{number}"
                source.with_answers(folder, mutant.answers or {}, mutant.messages)
                options.append(_options(source, Path(scratch) / f"run{number}", folder))
            done = await replay_many(source.bundle, options, parallel=parallel)
            for mutant, each in zip(answering, done, strict=True):
                results.append(result(source.name, mutant, each.outcome, each.error.message if each.error else ""))
            for number, mutant in enumerate(each for each in some if each.trace is not None):
                results.append(await _of_trace(source, mutant, Path(scratch) / f"trace{number}"))
        if sys.stderr.isatty():
            sys.stderr.write(f"{source.name}: {len(results)} of {len(chosen)}\n")
    return results


async def _of_trace(source: Source, mutant: Mutant, folder: Path) -> Result:
    """Replay a changed trace with its own network."""
    shutil.copytree(source.root, folder)
    (folder / "trace.json").write_text(mutant.trace or "", encoding="utf-8")
    done = (await replay_many(open_bundle(folder), [_options(source, folder / "run", None)]))[0]
    return result(source.name, mutant, done.outcome, done.error.message if done.error else "")


def _options(source: Source, folder: Path, answers: Path | None) -> ReplayOptions:
    return ReplayOptions(
        artifacts_dir=folder, network="sealed", answers=answers, secrets=dict(source.secrets), reports=()
    )


def report(results: Sequence[Result]) -> str:
    """Write the tables."""
    by_operator: defaultdict[str, list[Result]] = defaultdict(list)
    for each in results:
        by_operator[each.mutant.operator].append(each)
    rows = [_row(operator, some) for operator, some in by_operator.items()]
    matrix = Counter((each.mutant.truth.verdict, each.verdict.partition(":")[0]) for each in results)
    lines = [table(HEADS, [*rows, _row("all", results)])]
    lines += [f"must be {wanted}, is {found}: {count}\n" for (wanted, found), count in sorted(matrix.items())]
    lines += [
        f"{each.mission}: {each.mutant.operator}: {each.mutant.what}\n"
        f"    wanted {each.mutant.truth.verdict} {each.mutant.truth.place or ''} "
        f"{'/'.join(sorted(each.mutant.truth.layers))} {'/'.join(sorted(each.mutant.truth.causes))}\n"
        f"    found  {each.verdict} {each.place or ''} {each.layer} {each.cause}: {each.sentence}\n"
        for each in results
        if not (each.is_right and each.has_place and each.has_layer and each.has_cause)
    ]
    return "".join(lines)


def _row(operator: str, results: Sequence[Result]) -> tuple[str, ...]:
    return (operator, str(len(results)), *(f"{sum(part):4}" for part in _parts(results)))


def _parts(results: Sequence[Result]) -> tuple[list[bool], ...]:
    right = [each for each in results if each.is_right]
    return (
        [each.is_right for each in results],
        [each.has_place for each in right],
        [each.has_layer for each in right],
        [each.has_cause for each in right],
    )


def holds(results: Sequence[Result]) -> bool:
    """Say whether the figures are those that are asked for."""
    verdicts, places, _, causes = _parts(results)
    enough = sum(places) >= EXACT_ACTIONS * len(places) and sum(causes) >= RIGHT_CAUSES * len(causes)
    return all(verdicts) and enough


async def main(names: Iterable[str], arguments: argparse.Namespace) -> int:
    """Mutate, replay, print."""
    results: list[Result] = []
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="eikon-missions-") as folder:
        for name in names:
            recorded = await subject(name, Path(folder))
            source = Source(name=name, root=recorded.bundle, secrets=recorded.secrets)
            chosen = list(mutants(source, arguments.per_document))
            if arguments.limit:
                chosen = spread(chosen, arguments.limit)
            results += await run(source, chosen, arguments.parallel)
    sys.stdout.write(report(results))
    sys.stdout.write(f"{len(results)} mutants, {time.perf_counter() - begin:.0f} s\n")
    return 0 if holds(results) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--per-document", type=int, default=3)
    parser.add_argument("--parallel", type=int, default=4)
    parser.add_argument("--only", default=",".join(NAMES))
    parser.add_argument("--limit", type=int, default=0)
    given = parser.parse_args()
    sys.exit(asyncio.run(main(given.only.split(","), given)))
