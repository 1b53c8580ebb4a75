"""One mutant of each operator: what changes is found where it is, and what changes nothing is not."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from benchmarks.mutations.mutants import mutants
from benchmarks.mutations.report import report
from benchmarks.mutations.results import run
from benchmarks.mutations.source import Source
from benchmarks.subjects import subject

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from benchmarks.mutations.results import Result
    from benchmarks.mutations.truth import Mutant

PARALLEL = 2
ELSEWHERE = {
    "another skill output recorded",
    "link led elsewhere",
    "link opens another window",
    "link opens no window",
    "options reordered",
    "type changed",
}
"""Operators that find nothing to change in the first mission; the benchmark tries all of them on all."""


def one_of_each(found: Iterable[Mutant]) -> list[Mutant]:
    """Take the first mutant of each operator."""
    return list({mutant.operator: mutant for mutant in reversed(list(found))}.values())


@pytest.mark.parametrize(("mission", "least"), [("dispatch", 75), ("shop-order", len(ELSEWHERE))])
def test_each_operator_comes_to_what_is_right(mission: str, least: int, tmp_path: Path) -> None:
    """Replay a mutant of each operator, several at a time, and compare with what its operator knows to be right."""
    recorded = asyncio.run(subject(mission, tmp_path / "missions"))
    source = Source(name=mission, root=recorded.bundle, secrets=recorded.secrets)

    chosen = one_of_each(mutants(source, per_document=1))
    if mission == "shop-order":
        chosen = [each for each in chosen if each.operator in ELSEWHERE]
    results: list[Result] = asyncio.run(run(source, chosen, PARALLEL))

    assert len(results) >= least
    wrong = [each for each in results if not (each.is_right and each.has_place and each.has_layer and each.has_cause)]
    assert wrong == [], report(wrong)
