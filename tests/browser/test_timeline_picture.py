from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

import pytest

from eikon_engine.debug.timeline_svg import WIDTH, render_timeline_svg
from tests.debug.timelines import shop_timeline, step

if TYPE_CHECKING:
    from tests.browser.desk import Desk

pytestmark = pytest.mark.browser

EDGES = (
    "Array.from(document.querySelectorAll('text'), each => { const box = each.getBBox(); return box.x + box.width })"
)
COLOURS = """['.paper', 'text.bold', 'text.dim', 'circle.diverged', 'text.active']
  .map(each => getComputedStyle(document.querySelector(each)).fill)"""


def brightness(colour: str) -> float:
    """Return the relative luminance of `rgb(…)`: https://www.w3.org/TR/WCAG22/#dfn-relative-luminance."""
    parts = [int(each) / 255 for each in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_picture_of_a_timeline_is_readable_in_light_and_dark(desk: Desk) -> None:
    """Texts stay inside the picture and have the contrast that WCAG requires (4.5 to 1)."""
    timeline = shop_timeline()
    long = step(6, "fill #note with '" + "a long text of 中文 and more " * 8, "diverged")
    main = timeline.branches[0].model_copy(update={"steps": (*timeline.branches[0].steps, long)})
    desk.show(render_timeline_svg(timeline.with_branch(main)))
    page = desk.worker.session.page(0)
    assert page is not None

    assert max(desk.js(EDGES)) <= WIDTH - 8
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        desk.portal.call(partial(page.emulate_media, color_scheme=scheme))
        paper, *inks = map(brightness, desk.js(COLOURS))
        assert (paper > 0.5) is (scheme == "light")
        for ink in inks:
            assert (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05) >= 4.5
