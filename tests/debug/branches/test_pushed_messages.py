"""Branches of missions whose pages receive pushed messages."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from eikon_engine.debug.branches.branch import insert_step, skip_step
from eikon_engine.debug.branches.branch_runner import BranchRunner
from eikon_engine.debug.context_pool import ContextOptions, open_context_pool
from eikon_engine.debug.history import History
from eikon_engine.outcome.events import ActionPerformed
from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.trace.actions import Press
from eikon_engine.trace.bundle import open_bundle
from tests.debug.branches.conftest import forked
from tests.missions.dispatch import ship_an_order
from tests.replay.shared_browsers import SHARED
from tests.sites.dispatch import serve_dispatch

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.debug.branches.branch import BranchBundle

pytestmark = pytest.mark.browser

LOGGED_IN = 7
"""Steps that log in and wait for the board."""
LOOKED = 10
"""Steps until an order was opened in its own page."""


async def gone(folder: Path) -> tuple[BranchBundle, set[str]]:
    """Record a mission with the natural clock, and ship an order on a branch that opens none."""
    with serve_dispatch() as url:
        options = RecordOptions(clock="natural")
        async with open_recorder(folder / "board", mission_text="Ship", mission_id="ship", options=options) as mission:
            await ship_an_order(mission, url)
    bundle = open_bundle(folder / "board")
    async with open_context_pool(bundle, ContextOptions(parked=0)) as pool:
        context = (await pool.restore(History(bundle=bundle), LOGGED_IN)).context
        branch = forked(bundle, folder / "branches", iteration=LOGGED_IN)
        for _ in range(LOOKED - LOGGED_IN):
            branch = skip_step(branch, LOGGED_IN + 1, "nothing to look at")
        runner = BranchRunner(context, insert_step(branch, LOGGED_IN + 1, Press(key="Tab"), "go on by keys"))
        runner.replan(runner.branch)
        ended: set[str] = set()
        while context.next_step is not None:
            async for event in runner.advance():
                if isinstance(event, ActionPerformed) and event.outcome.result is not None:
                    ended.add(event.outcome.result.kind)
        runner.finish()
        return runner.branch, ended


def test_pushed_messages_reach_a_branch_as_recorded(tmp_path: Path) -> None:
    """WebSocket messages and event streams are delivered on a branch, and again in its replay."""
    branch, ended = asyncio.run(gone(tmp_path))
    again = SHARED.replay(open_bundle(branch.bundle.root), ReplayOptions(artifacts_dir=tmp_path / "run", reports=()))

    assert ended == {"ok"}
    assert again.outcome.verdict == "faithful"
