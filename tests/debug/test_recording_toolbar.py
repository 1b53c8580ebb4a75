"""The toolbar of an interactive recording, and its notes at the end."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from playwright.async_api import Error

from eikon_engine.debug.branches.interactive import END_HINT
from eikon_engine.debug.commands import BranchRecord, RunTo
from tests.debug.conftest import PASSING
from tests.debug.in_process import in_process_session
from tests.record.interactive.person import READY

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.browser

LISTEN = """() => {
  const { recorder } = window.__eikon__, show = recorder.show;
  window.shown = [];
  recorder.show = (...values) => { window.shown.push(values); show(...values); };
}"""
"""Record what the toolbar shows: its shadow root is closed."""
IN_PLACE = "() => getComputedStyle(document.querySelector('eikon-recorder')).position"


@dataclass(frozen=True, kw_only=True)
class Acted:
    """What the toolbar showed, and what was recorded."""

    shown: list[list[object]]
    in_popup: str
    changes: list[str]
    notes: list[str]


async def act(parent: Path) -> Acted:
    """Open and close the help, begin a subgoal, and let the page send an unrecorded request."""
    async with in_process_session(parent, PASSING) as session:
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
            with suppress(Error):  # the click closes its page
                await popup.locator("#close-help").click()
        await page.keyboard.press("Control+Shift+F8")
        await page.keyboard.type("Pay")
        await page.keyboard.press("Enter")
        await page.evaluate("() => fetch('/nowhere').catch(() => {})")
        await page.wait_for_function("() => window.shown.some(values => values[0] === 2)")
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


def test_the_toolbar_counts_actions_and_names_the_ending_command(acted: Acted) -> None:
    """Its own finish button does nothing in a session."""
    assert acted.shown[-1] == [2, END_HINT]
    assert [change.split(" ")[2] for change in acted.changes[:3]] == ["click", "switch", "click"]


def test_the_toolbar_keeps_its_position_in_a_popup(acted: Acted) -> None:
    """The popup's first document is replaced by the one it shows."""
    assert acted.in_popup == "fixed"


def test_actions_that_cannot_be_recorded_are_reported(acted: Acted) -> None:
    """A branch cannot begin a subgoal, and a blocked request may leave a state that no step reaches."""
    subgoal, blocked = acted.notes[:2]

    assert subgoal == "branches cannot begin subgoals; 'Pay' was ignored"
    assert blocked.startswith("1 request had no recorded response while the user acted in the pages, and was blocked")
    assert blocked.endswith("/nowhere")
