"""Parked checkpoints in the timeline of a session."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from eikon_engine.debug.commands import CheckpointCreate, Rewind, RunTo
from eikon_engine.debug.timeline_text import render_timeline_text
from tests.debug.conftest import PASSING
from tests.debug.in_process import InProcessSession, in_process_session

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.browser


def parked(session: InProcessSession) -> list[str]:
    """Return the labels of the parked checkpoints, as stored in the file."""
    timeline: Any = json.loads(session.debug_session.folder.timeline_path.read_bytes())
    return [each["label"] for branch in timeline["branches"] for each in branch["checkpoints"] if each["is_parked"]]


def test_the_timeline_marks_parked_checkpoints(tmp_path: Path) -> None:
    """A mark lasts until the context is used or the session ends; the rewind counts its comparisons."""

    async def work() -> tuple[list[list[str]], str, Any]:
        seen = []
        async with in_process_session(tmp_path, PASSING, parked=1) as session:
            await session.do(RunTo(iteration=2))
            await session.do(CheckpointCreate(label="early"))
            await session.do(RunTo(iteration=3))
            await session.do(CheckpointCreate(label="late"))
            seen.append(parked(session))
            await session.debug_session.pool.parking.wait()
            seen.append(parked(session))
            text = render_timeline_text(session.debug_session.timeline)
            await session.do(Rewind(checkpoint="late"))
            seen.append(parked(session))
            await session.debug_session.pool.parking.wait()
            seen.append(parked(session))
        seen.append(parked(session))
        return seen, text, session.events("rewind")[-1]

    seen, text, rewound = asyncio.run(work())

    assert seen == [[], ["late"], [], ["late"], []]
    assert text.count(", parked") == 1
    assert (rewound.way, rewound.reexecuted) == ("parked", 0)
    assert rewound.verified == 4 * 10 + 5


def test_a_killed_session_has_no_parked_checkpoints(tmp_path: Path) -> None:
    """Its file still marks them, but readers ignore the marks."""

    async def work() -> InProcessSession:
        async with in_process_session(tmp_path, PASSING, parked=1) as session:
            await session.do(CheckpointCreate(label="start"))
            await session.debug_session.pool.parking.wait()
            left = session.debug_session.folder.timeline_path.read_bytes()
        session.debug_session.folder.timeline_path.write_bytes(left)
        return session

    session = asyncio.run(work())

    assert parked(session) == ["start"]
    assert [entry.is_parked for _, entry in session.debug_session.folder.read_timeline().checkpoints()] == [False]
