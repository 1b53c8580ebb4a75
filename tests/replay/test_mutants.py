"""One mutant of each kind: every change is found in the right place, and harmless ones are not reported."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import pytest

from benchmarks.mutations.mutants import mutants
from benchmarks.mutations.report import report
from benchmarks.mutations.results import run
from benchmarks.mutations.source import Answer, Source
from benchmarks.mutations.truth import FAITHFUL
from benchmarks.subjects import subject
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.mutations.truth import Mutant

pytestmark = pytest.mark.browser

PARALLEL = 2
MISSION = "dispatch"
KINDS = 31
UNCHANGED = Answer()


def kind(mutant: Mutant) -> tuple[object, ...]:
    """Return the expected result of a mutant and the fields it changes; mutants with equal values are one kind."""
    truth = mutant.truth
    changed = [
        tuple(field.name for field in fields(each) if getattr(each, field.name) != getattr(UNCHANGED, field.name))
        for each in (mutant.answers or {}).values()
        if truth == FAITHFUL
    ]
    where = (mutant.trace is not None, mutant.messages is not None)
    return truth.verdict, truth.layers, truth.causes, *where, *changed


def test_each_kind_of_change_has_the_right_verdict(tmp_path: Path) -> None:
    """The first mutant of each kind has the verdict that is known to be right for it."""
    recorded = SHARED.run(subject(MISSION, tmp_path / "missions"))
    source = Source(name=MISSION, root=recorded.bundle, secrets=recorded.secrets)
    chosen: dict[tuple[object, ...], Mutant] = {}
    for mutant in mutants(source, per_document=1):
        chosen.setdefault(kind(mutant), mutant)

    results = SHARED.run(run(source, list(chosen.values()), PARALLEL))

    assert len(results) >= KINDS
    wrong = [each for each in results if not (each.is_right and each.has_place and each.has_layer and each.has_cause)]
    assert wrong == [], report(wrong)
