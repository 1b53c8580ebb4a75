from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from eikon_engine.errors import TraceFieldError
from eikon_engine.trace.actions import Assert, AssertVisible, Click, Press, ResponseCondition, WaitFor
from eikon_engine.trace.edits import DeleteStep, InsertStep
from eikon_engine.trace.execution import (
    ActionTrace,
    ExecutionTrace,
)
from eikon_engine.trace.steps import iter_steps
from eikon_engine.trace.target import Target

if TYPE_CHECKING:
    from eikon_engine.trace.actions import Action
from tests.trace.edited import KNOWN, edited, observed


def put(step: str, what: Action, place: Literal["before", "after"] = "before", name: str = "new") -> InsertStep:
    """Insert an action next to a step."""
    return InsertStep(step=step, place=place, id=name, action=what, reason="why")


def placed(of: ExecutionTrace) -> dict[str, int | None]:
    """Return the recorded position of each action that has one."""
    actions = [step for _, step in iter_steps(of) if isinstance(step, ActionTrace)]
    return {step.id: None if step.timing is None else step.timing.actions_before for step in actions}


def test_an_inserted_action_invalidates_later_observations() -> None:
    """It gets a position; later observations and element identities are dropped."""
    changed = edited(put("type", Press(key="Tab")))

    assert [step.id for _, step in iter_steps(changed)] == ["open", "new", "type", "read", "look", "drag"]
    assert [step.sequence for step in changed.subgoal_traces[0].steps] == [1, 2, 3, 4, 5]
    assert observed(changed) == ["open"]
    assert '"identity":{' not in changed.model_dump_json()
    assert placed(changed) == {"open": None, "new": 1, "type": 1, "look": 2, "drag": 3}
    assert "insert new (press) before type (why); the observations of 3 actions were dropped" in changed.warnings[-1]


def test_an_inserted_read_only_step_invalidates_nothing() -> None:
    """A read-only step does not change the pages; the recorded network keeps its order."""
    changed = edited(put("type", Assert(expectation=AssertVisible(target=Target(selector="#go")))))

    assert observed(changed) == ["open", "type", "look", "drag"]
    assert placed(changed) == {"open": None, "new": 1, "type": 1, "look": 2, "drag": 3}


def test_an_action_can_be_inserted_after_the_last_step() -> None:
    """All recorded data is kept; a second insertion follows the first."""
    changed = edited(put("drag", Press(key="Tab"), "after"), put("new", Press(key="Tab"), "after", "newer"))

    assert [step.id for _, step in iter_steps(changed)][-3:] == ["drag", "new", "newer"]
    assert observed(changed) == ["open", "type", "look", "drag"]
    assert placed(changed)["new"] == 4


def steps_waited_over(of: ExecutionTrace) -> int:
    """Return how many earlier steps may have caused the response that the step `wait` waits for."""
    wait = next(step for _, step in iter_steps(of) if step.id == "wait")
    assert isinstance(wait, ActionTrace)
    assert isinstance(wait.action, WaitFor)
    assert isinstance(wait.action.condition, ResponseCondition)
    return wait.action.condition.steps


def test_a_wait_for_a_response_keeps_the_steps_that_may_have_caused_it() -> None:
    """A step inserted among them counts, too; one before them does not, and a deleted one no longer does."""
    condition = ResponseCondition(method="GET", url="http://shop.test/", status=200, steps=2)
    wait = put("drag", WaitFor(condition=condition), "after", "wait")
    among, before = put("drag", Press(key="Tab"), name="among"), put("look", Press(key="Tab"), name="before")

    assert steps_waited_over(edited(wait)) == 2
    assert steps_waited_over(edited(wait, among)) == 3
    assert steps_waited_over(edited(wait, before)) == 2
    assert steps_waited_over(edited(wait, among, DeleteStep(step="look", reason="why"))) == 2
    assert steps_waited_over(edited(wait, DeleteStep(step="open", reason="why"))) == 2


def test_an_action_next_to_a_skill_joins_its_attempt() -> None:
    """A skill is a step like any other, without a position in the recorded network."""
    changed = edited(put("read", Press(key="Tab"), "after"))

    assert [step.id for step in changed.subgoal_traces[0].steps] == ["open", "type", "read", "new", "look"]
    assert placed(changed)["new"] == 2


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (put("find__attempt_1", Press(key="Tab")), "got the attempt find__attempt_1"),
        (put("gone", Press(key="Tab")), "expected one step or attempt with the id 'gone'"),
        (put("type", Press(key="Tab"), name="look"), "which is taken"),
        (put("type", Press(key="Tab"), name="buy__attempt_1"), "which is taken"),
        (put("type", Click(target=KNOWN)), "only a run can determine"),
    ],
)
def test_an_action_that_cannot_be_inserted_is_refused(edit: InsertStep, message: str) -> None:
    """The error line has the expected value."""
    with pytest.raises(TraceFieldError, match=message):
        edited(edit)


def test_an_inserted_action_that_is_deleted_leaves_the_steps_as_they_were() -> None:
    """Recorded data stays dropped, and the steps are numbered without gaps."""
    changed = edited(put("type", Press(key="Tab")), DeleteStep(step="new", reason="why"))

    assert [step.id for _, step in iter_steps(changed)] == ["open", "type", "read", "look", "drag"]
    assert placed(changed) == {"open": None, "type": 1, "look": 2, "drag": 3}
