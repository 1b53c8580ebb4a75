"""Verdicts of steps and runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.outcome.divergence import Divergence
from eikon_engine.outcome.verdict import combine_verdicts, run_verdict, step_verdict

if TYPE_CHECKING:
    from eikon_engine.outcome.outcomes import Verdict

CHANGED = Divergence(
    layer="dom",
    code="dom-changed",
    subgoal="buy__attempt_1",
    subgoal_id="buy",
    sequence=1,
    expected="a",
    observed="b",
    message="The DOM changed.",
)


def test_a_divergence_outweighs_what_could_not_be_compared() -> None:
    """A step is faithful only if it has neither divergences nor notes."""
    assert step_verdict((CHANGED,), ("no snapshot",)) == "diverged"
    assert step_verdict((), ("no snapshot",)) == "unverifiable"
    assert step_verdict((), ()) == "faithful"


@pytest.mark.parametrize(
    ("steps", "expected"),
    [((), "unverifiable"), (("faithful",), "faithful"), (("faithful", "unverifiable"), "unverifiable")],
)
def test_a_whole_run_has_the_verdict_of_its_steps(steps: tuple[Verdict, ...], expected: Verdict) -> None:
    """Without steps, nothing is verified."""
    assert combine_verdicts(steps) == run_verdict(steps, is_whole=True) == expected


def test_a_partial_run_is_never_faithful() -> None:
    """A run that ended early still shows its divergences, and never passes."""
    assert run_verdict(("faithful", "diverged"), is_whole=False) == "diverged"
    assert run_verdict(("faithful",), is_whole=False) == "unverifiable"
