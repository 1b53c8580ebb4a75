"""Which of two timings repeats the mission of an agent."""

from __future__ import annotations

from typing import Any

import pytest

from eikon_engine.certify.agent_timing import FailedAction, IdleReplay
from eikon_engine.certify.learn import LearningRun
from eikon_engine.certify.runs import ReplayedRun
from eikon_engine.outcome.outcomes import NetworkOutcome, ReplayOutcome, UnsentRequest
from eikon_engine.trace.rules import TelemetryRule

SAVE = UnsentRequest(key="POST http://shop.test/save", subgoal="buy", sequence=2, step="click")
PIXEL = UnsentRequest(key="GET http://ads.test/pixel", subgoal="buy", sequence=2, step="click")
PIXEL_RULE = TelemetryRule(url="http://ads.test/pixel", reason="a pixel")


def run(*unsent: UnsentRequest) -> ReplayedRun:
    """Return a replay that did not send these requests."""
    network: dict[str, Any] = {"network": NetworkOutcome(unsent=unsent)}
    return ReplayedRun(outcome=ReplayOutcome.model_construct(**network))


def taught(replayed: ReplayedRun | None, *rules: TelemetryRule, has_diverged: bool = False) -> LearningRun:
    """Return what a replay with the timing of the agent taught."""
    return LearningRun(rules=rules, run=replayed, finding=None, has_diverged=has_diverged)


@pytest.mark.parametrize(
    ("agent", "is_idle_kept"),
    [
        pytest.param(taught(run()), False, id="sent everything"),
        pytest.param(taught(run(PIXEL), PIXEL_RULE), False, id="telemetry left out"),
        pytest.param(taught(run(SAVE)), True, id="the same left out"),
        pytest.param(taught(run(PIXEL)), True, id="something else left out"),
        pytest.param(taught(run(), has_diverged=True), True, id="an action differed"),
        pytest.param(taught(None), True, id="a request was not recorded"),
        pytest.param(None, True, id="not tried"),
    ],
)
def test_the_timing_of_the_agent_is_kept_only_if_it_repeats_the_mission(
    agent: LearningRun | None, *, is_idle_kept: bool
) -> None:
    """A replay that waited for idle pages did everything, except for a save that came too late."""
    idle = IdleReplay(run=run(SAVE), unsent=(SAVE,))

    assert idle.problem == "a recorded request was not sent"
    assert idle.is_better_than(agent) is is_idle_kept


def test_a_failed_replay_of_idle_pages_is_never_kept() -> None:
    """An action that differs, and a request that is not recorded, are no repetition of the mission."""
    failed = IdleReplay(failed_action=FailedAction(subgoal="buy", sequence=2, codes=frozenset({"target-missing"})))

    assert (failed.problem, IdleReplay().problem) == ("an action differed", "a request is not in the recording")
    assert not failed.is_better_than(None)
    assert not IdleReplay().is_better_than(None)
