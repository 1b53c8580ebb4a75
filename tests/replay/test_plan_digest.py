"""The digest of a plan changes with its actions, and with nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.replay.options import ReplayOptions
from eikon_engine.replay.plan import Plan, plan_digest, plan_replay
from eikon_engine.trace.actions import Note
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.execution import Blocked, Succeeded

if TYPE_CHECKING:
    from eikon_engine.trace.execution import ExecutionTrace

BUNDLE = open_bundle(Path(__file__).resolve().parents[1] / "data" / "traces" / "shop_passing")
TRACE = BUNDLE.trace
PLACES = [
    (subgoal, place) for subgoal, each in enumerate(TRACE.subgoal_traces) for place in range(len(each.actions_taken))
]


def plan_of(trace: ExecutionTrace, **options: object) -> Plan:
    """Plan a replay of another trace in place of the bundle's."""
    return plan_replay(replace(BUNDLE, trace=trace), ReplayOptions(**options))  # type: ignore[arg-type] # of the test


def with_action(place: tuple[int, int], **update: object) -> ExecutionTrace:
    """Change one recorded action."""
    number, which = place
    subgoal = TRACE.subgoal_traces[number]
    actions = list(subgoal.actions_taken)
    actions[which] = actions[which].model_copy(update=update)
    changed = subgoal.model_copy(update={"actions_taken": tuple(actions)})
    subgoals = (*TRACE.subgoal_traces[:number], changed, *TRACE.subgoal_traces[number + 1 :])
    return TRACE.model_copy(update={"subgoal_traces": subgoals})


DIGEST = plan_digest(plan_of(TRACE))


@given(place=st.sampled_from(PLACES))
def test_the_digest_covers_actions_but_not_their_observations(place: tuple[int, int]) -> None:
    """A changed or removed action changes the digest; a changed observation does not."""
    for update in ({"action": Note(text="else")}, {"result": Blocked(reason="no")}, {"sequence": 99}):
        assert plan_digest(plan_of(with_action(place, **update))) != DIGEST
    for same in ({"observation": None}, {"result": Succeeded()}):
        assert plan_digest(plan_of(with_action(place, **same))) == DIGEST


def test_the_digest_covers_start_environment_and_order() -> None:
    """The start state, the environment and the order of the steps change the digest."""
    assert TRACE.environment is not None
    for update in (
        {"start": TRACE.start.model_copy(update={"url": "http://elsewhere/"})},
        {"environment": TRACE.environment.model_copy(update={"locale": "xx-XX"})},
        {"subgoal_traces": TRACE.subgoal_traces[::-1]},
        {"subgoal_traces": TRACE.subgoal_traces[:-1]},
    ):
        assert plan_digest(plan_of(TRACE.model_copy(update=update))) != DIGEST


def test_options_of_a_replay_do_not_change_the_digest() -> None:
    """Values of secrets, masks, descriptions and options are not part of the digest."""
    changed = TRACE.model_copy(update={"warnings": ("any",), "mission_text": "another text"})

    assert plan_digest(plan_of(changed, secrets={"PASSWORD": "any"}, from_step=3, then_network="live")) == DIGEST
