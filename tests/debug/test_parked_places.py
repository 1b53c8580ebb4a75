"""Pages that wait at checkpoints, as the timeline of a session shows them."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from eikon_engine.debug.commands import CheckpointCreate, Rewind, RunTo
from eikon_engine.debug.timeline_text import render_timeline_text
from tests.debug.conftest import PASSING
from tests.debug.in_process import Driven, driven

if TYPE_CHECKING:
    from pathlib import Path


def parked(session: Driven) -> list[str]:
    """Return the labels of the checkpoints at which a page waits, as the file has them."""
    timeline: Any = json.loads(session.journey.folder.timeline_path.read_bytes())
    return [each["label"] for branch in timeline["branches"] for each in branch["checkpoints"] if each["is_parked"]]


def test_the_timeline_shows_where_pages_wait(tmp_path: Path) -> None:
    """From when one has come there until it is taken, or the session is over; what it was verified by is told."""

    async def work() -> tuple[list[list[str]], str, Any]:
        seen = []
        async with driven(tmp_path, PASSING, parked=1) as session:
            await session.do(RunTo(iteration=2))
            await session.do(CheckpointCreate(label="early"))
            await session.do(RunTo(iteration=3))
            await session.do(CheckpointCreate(label="late"))
            seen.append(parked(session))
            await session.journey.pool.wait_until_parked()
            seen.append(parked(session))
            text = render_timeline_text(session.journey.timeline)
            await session.do(Rewind(checkpoint="late"))
            seen.append(parked(session))
            await session.journey.pool.wait_until_parked()
            seen.append(parked(session))
        seen.append(parked(session))
        return seen, text, session.events("rewind")[-1]

    seen, text, rewound = asyncio.run(work())

    assert seen == [[], ["late"], [], ["late"], []]
    assert text.count(", parked") == 1
    assert (rewound.way, rewound.reexecuted) == ("parked", 0)
    assert rewound.verified == 4 * 10 + 5


def test_nothing_waits_for_a_session_whose_process_was_killed(tmp_path: Path) -> None:
    """Its file says so still; whoever reads it is not told."""

    async def work() -> Driven:
        async with driven(tmp_path, PASSING, parked=1) as session:
            await session.do(CheckpointCreate(label="start"))
            await session.journey.pool.wait_until_parked()
            left = session.journey.folder.timeline_path.read_bytes()
        session.journey.folder.timeline_path.write_bytes(left)
        return session

    session = asyncio.run(work())

    assert parked(session) == ["start"]
    assert [entry.is_parked for _, entry in session.journey.folder.read_timeline().checkpoints()] == [False]
