"""Progress of a certification says what a run waits for."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from eikon_engine.certify import runs
from eikon_engine.outcome.events import ActionStart, EventLine, SubgoalStart

if TYPE_CHECKING:
    import pytest


def line(event: ActionStart | SubgoalStart) -> EventLine:
    """Return the line of an event."""
    return EventLine(sequence=1, at=datetime(2026, 3, 14, tzinfo=UTC), event=event)


def begin(sequence: int, label: str) -> EventLine:
    """Return the line of an action that begins."""
    return line(ActionStart(subgoal="s__attempt_1", sequence=sequence, action="a", label=label))


def test_a_long_action_is_reported_and_a_short_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each action has its own time."""
    monkeypatch.setattr(runs, "LONG_WAIT_S", 0.01)
    shown: list[str] = []

    async def run() -> None:
        waited = asyncio.Event()

        def note(text: str) -> None:
            shown.append(text)
            waited.set()

        waits = runs.LongWaits("run 2 of 5", note)
        waits.read(begin(1, "click Save"))
        waits.read(begin(2, "expect #state to have text 'closed'"))
        waits.read(line(SubgoalStart(id="s__attempt_1", subgoal_id="s", number=1, description="Close", steps=1)))
        await asyncio.wait_for(waited.wait(), 10)

    asyncio.run(run())

    assert shown == [
        "run 2 of 5: still waiting after 0 s for step 2 to be as recorded: expect #state to have text 'closed'"
    ]
