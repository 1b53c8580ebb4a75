"""Timers of a sealed replay are postponed during the long tasks of the recorded pages."""

from __future__ import annotations

import math

import pytest
from playwright.sync_api import Browser

from eikon_engine.browser.page_scripts.loader import call_script

pytestmark = pytest.mark.browser

START = 1_000
"""Unix time at which page time begins, in ms."""
TASKS = [(50, 2000), (3000, 4000)]
LONGEST = 2**31 - 1


@pytest.mark.parametrize(
    ("at", "delays", "expected"),
    [
        pytest.param(10, [30, 1, -1], [30, 1, 0], id="short ones may fire in a task"),
        pytest.param(100, [30, 0], [1930, 1900], id="short ones set in a task: begin after it"),
        pytest.param(2500, [100, 400], [100, 400], id="no task"),
        pytest.param(10, [300, 100], [1992, 1990], id="due in a task: after it, in their order"),
        pytest.param(40, [300], [2260], id="set right before a task: begins after it"),
        pytest.param(100, [300, 2900], [2200, 4800], id="set in a task: begins after it"),
        pytest.param(100, [1200], [3904], id="set in one task and due in another"),
        pytest.param(100, [LONGEST, LONGEST + 1], [LONGEST, LONGEST + 1], id="never longer than a browser can wait"),
        pytest.param(100, ["300", "x"], [2200, math.nan], id="delays as texts"),
    ],
)
def test_postponed_delays(chromium: Browser, at: int, delays: list[object], expected: list[float]) -> None:
    """A delay that begins or ends in a long task ends after it."""
    with chromium.new_page() as page:
        page.evaluate(f"window.__eikon__ = {{}}; Date.now = () => {START + at};")
        page.evaluate(call_script("init_long_tasks.js", TASKS, START))
        postponed = page.evaluate("delays => delays.map(each => window.__eikon__.postpone(each))", delays)

    assert postponed == pytest.approx(expected, nan_ok=True)
