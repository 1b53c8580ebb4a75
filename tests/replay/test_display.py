"""What a replay prints while it runs."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from eikon_engine.cli.replay_display import ReplayDisplay
from eikon_engine.outcome.events import ActionPerformed, Event, EventLine, RunStart, SubgoalStart
from eikon_engine.outcome.outcomes import ActionOutcome, ResumePoint
from eikon_engine.trace.environment import Environment
from eikon_engine.trace.execution import Succeeded

if TYPE_CHECKING:
    from eikon_engine.outcome.outcomes import ResumeNetwork

ENVIRONMENT = Environment(browser_version="1", playwright_version="1", platform="here", clock_start_ms=0, random_seed=1)
EVENTS: tuple[Event, ...] = (
    RunStart(
        kind="bundle_replay",
        mission_id="m",
        mission_text="Do\nthis \x1b[31mnow [bold]",
        network_mode="sealed",
        headless=True,
        browser="chromium 1",
        environment=ENVIRONMENT,
        subgoals=1,
        steps=1,
    ),
    SubgoalStart(number=1, id="s__attempt_1", subgoal_id="s", description="Step", steps=1),
    ActionPerformed(
        subgoal="s__attempt_1",
        outcome=ActionOutcome(
            id="a",
            sequence=1,
            type="click",
            label="click #go",
            verdict="faithful",
            expected_result=Succeeded(),
            result=Succeeded(),
            duration_ms=12.4,
        ),
    ),
)


def show(*, terminal: bool) -> str:
    """Show the events on a terminal, or on a plain stream."""
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=terminal, width=100, highlight=False, markup=False, soft_wrap=True)
    with ReplayDisplay(console) as display:
        for number, event in enumerate(EVENTS, start=1):
            display.read(EventLine(sequence=number, at=datetime(2026, 1, 1, tzinfo=UTC), event=event))
    return shown.getvalue()


def test_every_step_is_one_plain_line() -> None:
    """Without a terminal, each step is one line without a bar, control characters or markup."""
    assert show(terminal=False).splitlines() == [
        "[REPLAY] mission m: Do this \\x1b[31mnow [bold]",
        "[REPLAY] chromium 1, network sealed, 1 steps",
        "[REPLAY] subgoal 1: Step [s__attempt_1]",
        "[REPLAY]   001 action click #go: faithful, 12 ms",
    ]


@pytest.mark.parametrize(
    ("step", "then", "said"),
    [
        (9, "live", "sealed until step 8, live from step 9"),
        (1, "live", "live from step 1"),
        (9, "sealed", "sealed"),
    ],
)
def test_the_heading_names_the_step_from_which_the_site_responds(step: int, then: ResumeNetwork, said: str) -> None:
    """A run that is live from some step on is not called sealed."""
    second = ResumePoint(step=step, subgoal="s__attempt_1", sequence=1, network=then)
    start = RunStart(
        kind="bundle_replay", mission_id="m", mission_text="", network_mode="sealed", browser="chromium 1", steps=29,
        resume_point=second,
    )  # fmt: skip
    shown = io.StringIO()

    ReplayDisplay(Console(file=shown, width=100, soft_wrap=True)).read(
        EventLine(sequence=1, at=datetime(2026, 1, 1, tzinfo=UTC), event=start)
    )

    assert f"[REPLAY] chromium 1, network {said}, 29 steps\n" in shown.getvalue()


def test_a_terminal_has_a_bar() -> None:
    """On a terminal, a bar counts the steps."""
    assert "1/1" in show(terminal=True)
