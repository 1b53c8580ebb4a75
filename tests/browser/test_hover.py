"""Hovering under a pointer that does not move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.trace.actions import Click
from tests.browser.desk import at

if TYPE_CHECKING:
    from tests.browser.desk import Desk

pytestmark = pytest.mark.browser

PAGE = """<style>button, #menu { position: absolute; left: 10px; top: 10px; width: 200px; height: 80px }</style>
<button onclick="this.hidden = true; menu.hidden = false">open</button>
<div id=menu hidden onmouseover="menu.className = 'pointed'">menu</div>"""


def test_an_element_that_appears_under_the_pointer_is_hovered_when_observed(desk: Desk) -> None:
    """A menu that opens under the pointer gets `mouseover` with the next frame; the observation waits for it."""
    for _ in range(10):
        desk.show(PAGE)
        desk.ok(Click(target=at("button")))

        assert desk.js("menu.className") == "pointed"
