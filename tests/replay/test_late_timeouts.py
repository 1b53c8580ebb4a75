"""How long a live page may take to reach its recorded state depends on the next action."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from eikon_engine.replay import ReplayOptions
from eikon_engine.replay.plan import plan_replay
from eikon_engine.replay.step import find_late_timeout_ms
from eikon_engine.trace.actions import Click, Note
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.target import Target
from tests.exporters.traces import step, trace_of

BUNDLE = Path(__file__).resolve().parents[1] / "data" / "traces" / "shop_passing"


def late_timeouts(*timeouts_ms: float, option_ms: float | None = None) -> list[float]:
    """Return how long the page may take after each of a note and clicks with these timeouts."""
    clicks = [
        step(number, Click(target=Target(selector="#go"), timeout_ms=each))
        for number, each in enumerate(timeouts_ms, start=2)
    ]
    steps = (step(1, Note(text="x")), *clicks)
    plan = plan_replay(replace(open_bundle(BUNDLE), trace=trace_of(*steps)), ReplayOptions(network="live"))
    return [find_late_timeout_ms(plan, each, option_ms) for subgoal in plan.subgoals for each in subgoal.steps]


@pytest.mark.parametrize(
    ("timeout_ms", "late_ms"), [(20_000, 20_000), (200, 5_000), (300_000, 60_000)], ids=["usual", "short", "long"]
)
def test_a_page_has_the_timeout_of_the_next_action_within_limits(timeout_ms: float, late_ms: float) -> None:
    """An agent that waits for little makes no page late; after the last action, there is a default."""
    assert late_timeouts(timeout_ms) == [late_ms, 30_000]
    assert late_timeouts(10_000, option_ms=timeout_ms) == [late_ms, 30_000]
