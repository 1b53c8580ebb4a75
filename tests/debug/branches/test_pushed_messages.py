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
from eikon_engine.trace.actions import (
    AnswerDialog,
    Click,
    Fill,
    Navigate,
    Press,
    SelectorCondition,
    SwitchPage,
    WaitFor,
)
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.target import Target
from tests.debug.branches.conftest import forked
from tests.replay.shared_browsers import SHARED
from tests.sites.dispatch import serve_dispatch

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.debug.branches.branch import BranchBundle
    from eikon_engine.record import MissionRecorder

pytestmark = pytest.mark.browser

LOGGED_IN = 6
"""Steps that log in and wait for the board."""
LOOKED = 9
"""Steps until an order was opened in its own page, and closed."""


def css(selector: str) -> Target:
    """Return a target without identity."""
    return Target(selector=selector)


async def ship_an_order(mission: MissionRecorder, url: str) -> None:
    """Log in, look at an order, ship another one, and ask where it is: no longer than what this test needs."""
    async with mission.subgoal("Ship an order"):
        await mission.perform(Navigate(url=f"{url}/login"))
        await mission.perform(Fill(target=css("#name"), text="Ada"))
        await mission.perform(Fill(target=css("#code"), text="0815"))
        await mission.perform(Click(target=css("#enter")))
        await mission.perform(WaitFor(condition=SelectorCondition(target=css("tr[data-id='14']"))))
        await mission.perform(WaitFor(condition=SelectorCondition(target=css("#feed li:nth-child(2)"))))
        await mission.perform(Click(target=css("tr[data-id='13'] a")))
        await mission.perform(SwitchPage(page=1))
        await mission.perform(Click(page=1, target=css("#close")))
        await mission.perform(AnswerDialog(accept=True))
        await mission.perform(Click(target=css("tr[data-id='12'] .ship")))
        await mission.perform(Fill(target=css("#question"), text="Order 12"))
        await mission.perform(Click(target=css("#ask")))
        await mission.perform(WaitFor(condition=SelectorCondition(target=css("#answer:not(:empty)"))))


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
