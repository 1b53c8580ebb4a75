"""Failed replays with one divergence."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from eikon_engine.outcome.divergence import Divergence, Explanation
from tests.report.outcomes import NOW, make_outcome

if TYPE_CHECKING:
    from eikon_engine.outcome.divergence import Cause, Evidence
    from eikon_engine.outcome.outcomes import ReplayOutcome


def make_divergence(code: str, layer: str, expected: str, observed: str, message: str = "It differs.") -> Divergence:
    """Make a difference at the second step."""
    return Divergence.model_validate(
        {
            "code": code,
            "layer": layer,
            "subgoal": "order__attempt_1",
            "subgoal_id": "order",
            "sequence": 2,
            "expected": expected,
            "observed": observed,
            "message": message,
        }
    )


CHANGED = make_divergence(
    "dom-changed", "dom", "a", "b", "The DOM of page 0 differs in 1 place: text at html > body > p."
)


def make_failure(
    *evidence: Evidence,
    divergence: Divergence = CHANGED,
    mission: str = "order",
    cause: Cause = "test-data",
    minute: int = 0,
) -> ReplayOutcome:
    """Make a replay that diverged at its second step, some minutes after the first one."""
    made = make_outcome()
    subgoal = made.subgoals[0]
    step = subgoal.steps[1].model_copy(update={"divergences": (divergence,)})
    explanation = Explanation(
        subgoal=divergence.subgoal,
        subgoal_id=divergence.subgoal_id,
        sequence=divergence.sequence,
        code=divergence.code,
        cause=cause,
        sentence=f"It changed in {mission}.",
        why="It is another one.",
        evidence=evidence,
    )
    began = NOW + timedelta(minutes=minute)
    return made.model_copy(
        update={
            "mission_id": mission,
            "explanation": explanation,
            "subgoals": (subgoal.model_copy(update={"steps": (subgoal.steps[0], step)}),),
            "started_at": began,
            "ended_at": began + timedelta(seconds=2),
        }
    )
