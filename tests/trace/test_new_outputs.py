"""New skill outputs as patches."""

from __future__ import annotations

import pytest

from eikon_engine.errors import TraceFieldError
from eikon_engine.trace.execution import Failed, PageIntent, SkillUsage, Succeeded
from eikon_engine.trace.patch import (
    SetPageIntent,
    SetSkillOutput,
    TracePatch,
    apply_patch,
    describe_operation,
    operation_reason,
)
from tests.trace.trace_values import action, subgoal, trace

USAGE = SkillUsage(id="s2", sequence=2, skill="extract_table", version=1, result=Succeeded(), output=[1])
BASE = trace(
    subgoal_traces=(subgoal(actions_taken=(action(1),), skills_used=(USAGE,)),),
    page_intents=(PageIntent(id="i1", intent="login_form", strategy="heuristic"),),
)


def test_an_output_and_an_intent_are_set_and_nothing_else() -> None:
    """Version, result, output and intent are replaced, and nothing else changes."""
    output = SetSkillOutput(skill="s2", version=2, result=Succeeded(), output=[2], reason="better")
    intent = SetPageIntent(page_intent="i1", intent="dashboard", confidence=0.5, signals=("x",), reason="better")

    changed = apply_patch(BASE, TracePatch(operations=(output, intent)))

    (usage,) = changed.subgoal_traces[0].skills_used
    assert usage == USAGE.model_copy(update={"version": 2, "output": [2]})
    assert changed.page_intents[0] == PageIntent(id="i1", intent="dashboard", confidence=0.5, signals=("x",))
    assert changed.subgoal_traces[0].actions_taken == BASE.subgoal_traces[0].actions_taken
    assert [describe_operation(each) for each in (output, intent)] == [
        "set a new output of s2",
        "classify the page of i1 as dashboard",
    ]
    assert {operation_reason(output), operation_reason(intent)} == {"better"}


def test_a_skill_that_fails_now_has_no_output() -> None:
    """A failed skill has no output, which differs from null."""
    failed = Failed(code="skill-failed", message="no table")
    operation = SetSkillOutput(skill="s2", version=2, result=failed, reason="the page has none")

    (usage,) = apply_patch(BASE, TracePatch(operations=(operation,))).subgoal_traces[0].skills_used

    assert (usage.result, usage.output, usage.output_recorded) == (failed, None, False)


@pytest.mark.parametrize(
    "operation",
    [
        SetSkillOutput(skill="zzz", version=1, result=Succeeded(), reason="r"),
        SetSkillOutput(skill="a1", version=1, result=Succeeded(), reason="r"),
        SetPageIntent(page_intent="zzz", intent="dashboard", confidence=1.0, reason="r"),
    ],
)
def test_an_output_of_a_missing_step_cannot_be_set(operation: SetSkillOutput | SetPageIntent) -> None:
    """An unknown id, or that of an action, is an error."""
    with pytest.raises(TraceFieldError, match="patch: expected"):
        apply_patch(BASE, TracePatch(operations=(operation,)))
