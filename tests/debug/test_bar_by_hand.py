"""What a person sees in the window of a session, and is told in the end, beside what was taken."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from eikon_engine.debug.branches.interactive import END_HINT
from eikon_engine.debug.commands import BranchRecord, RunTo
from tests.debug.conftest import PASSING
from tests.debug.in_process import driven
from tests.record.interactive.person import READY

if TYPE_CHECKING:
    from pathlib import Path

LISTEN = """() => {
  const { hand } = window.__eikon__, show = hand.show;
  window.shown = [];
  hand.show = (...told) => { window.shown.push(told); show(...told); };
}"""
"""Keep what the bar is told: nobody can look into its closed shadow root."""
IN_PLACE = "() => getComputedStyle(document.querySelector('eikon-recorder')).position"


@dataclass(frozen=True, kw_only=True)
class Acted:
    """What there was to see, and what was told."""

    shown: list[list[object]]
    in_popup: str
    changes: list[str]
    notes: list[str]


async def act(parent: Path) -> Acted:
    """Open the help, close it, name a subgoal, and let the page ask for something that nobody recorded."""
    async with driven(parent, PASSING) as session:
        await session.do(RunTo(iteration=1))
        await session.do(BranchRecord(change="begin", name="by-hand"))
        page = session.page
        await page.wait_for_function(READY)
        await page.evaluate(LISTEN)
        async with page.expect_popup() as opening:
            await page.locator("#open-help").click()
        popup = await opening.value
        await popup.wait_for_function(READY)
        in_popup = str(await popup.evaluate(IN_PLACE))
        async with popup.expect_event("close"):
            await popup.locator("#close-help").click()
        await page.keyboard.press("Control+Shift+F8")
        await page.keyboard.type("Pay")
        await page.keyboard.press("Enter")
        await page.evaluate("() => fetch('/nowhere').catch(() => {})")
        await page.wait_for_function("() => window.shown.some(told => told[0] === 2)")
        shown = await page.evaluate("() => window.shown")
        await session.do(BranchRecord(change="end"))
        return Acted(
            shown=shown,
            in_popup=in_popup,
            changes=[each.change for each in session.events("branch_changed")],
            notes=[each.text for each in session.events("note")],
        )


@pytest.fixture(scope="module")
def acted(tmp_path_factory: pytest.TempPathFactory) -> Acted:
    """Act once."""
    return asyncio.run(act(tmp_path_factory.mktemp("sessions")))


def test_the_bar_counts_what_was_taken_and_says_how_it_is_taken(acted: Acted) -> None:
    """Its own button for the end does nothing in a session, so it names the command."""
    assert acted.shown[-1] == [2, END_HINT]
    assert [change.split(" ")[3] for change in acted.changes[:3]] == ["click", "switch", "click"]


def test_the_bar_keeps_its_place_in_a_popup(acted: Acted) -> None:
    """The document in which it was made gives way to the one that the popup shows."""
    assert acted.in_popup == "fixed"


def test_what_cannot_be_taken_is_told(acted: Acted) -> None:
    """A subgoal has no place on a branch, and a page that asks in vain may show what no step leads to."""
    subgoal, blocked = acted.notes[:2]

    assert subgoal == "branches cannot begin subgoals; 'Pay' was ignored"
    assert blocked.startswith("1 request had no recorded response while the user acted in the pages, and was blocked")
    assert blocked.endswith("/nowhere")
