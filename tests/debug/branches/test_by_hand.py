"""What a person does in the window of a session becomes steps of a branch."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from eikon_engine.debug.branches.by_hand import ByHand, HandTaking, insert_all
from eikon_engine.debug.branches.walk import Walk
from eikon_engine.debug.lines import LineOptions, open_lines
from eikon_engine.debug.way import Way
from eikon_engine.outcome.events import ActionTaken
from eikon_engine.outcome.outcomes import ActionOutcome
from eikon_engine.trace.bundle import open_bundle
from tests.by_hand.person import READY
from tests.debug.branches.conftest import FORK, TRACES, forked

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.async_api import Page

    from eikon_engine.debug.branches.branch import Branch


async def act(page: Page) -> None:
    """Choose another paper, and write a note, as a person does: with a pointer and keys."""
    await page.wait_for_function(READY)
    await page.locator("#wrap-red").click()
    await page.locator("#quantity").click()
    await page.keyboard.press("Control+a")
    await page.keyboard.type("4")
    await page.locator("#gift").click()
    await asyncio.sleep(0.2)  # what was told last is on its way


async def taken(folder: Path) -> tuple[ByHand, Branch, list[ActionOutcome]]:
    """Act in a page that stands still, go back, and do what was done as steps."""
    bundle = open_bundle(TRACES / "shop_passing")
    async with open_lines(bundle, LineOptions(parked=0)) as lines:
        way = Way(bundle=bundle)
        arrived = await lines.at(way, FORK)
        taking = HandTaking(arrived.line)
        await taking.begin()
        page = arrived.line.session.page(0)
        assert page is not None
        await act(page)
        branch = forked(bundle, folder)
        done = await taking.end(branch.bundle.files)
        await arrived.line.close()
        branch = insert_all(branch, FORK + 1, done.actions, "done by hand")
        walk = Walk((await lines.at(way, FORK)).line, branch)
        walk.change(branch)
        seen = []
        for _ in done.actions:
            seen += [event async for event in walk.advance() if isinstance(event, ActionTaken)]
        walk.settle()
        return done, walk.branch, [each.outcome for each in seen if isinstance(each.outcome, ActionOutcome)]


def test_what_a_person_does_becomes_steps(tmp_path: Path) -> None:
    """Each as one action, with a selector that finds its element, done again from where the person began."""
    done, branch, seen = asyncio.run(taken(tmp_path))

    assert done.warnings == ()
    assert [each.type for each in done.actions] == ["check", "fill", "uncheck"]
    assert [each.result.kind for each in seen if each.result is not None] == ["ok"] * 3
    assert branch.known == FORK + 3
    assert [step.id for step in branch.steps[FORK : FORK + 3]] == [
        f"add_to_cart__attempt_1_inserted_{number:03d}" for number in (1, 2, 3)
    ]
