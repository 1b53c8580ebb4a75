"""Pictures of pages as evidence: what is shown, at once, whatever the page still loads."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import pytest
from PIL import Image, ImageChops

from eikon_engine.browser.picture import take_picture
from tests.browser.pages import Answer

if TYPE_CHECKING:
    from playwright.async_api import Page

    from tests.browser.desk import Desk

pytestmark = pytest.mark.browser

LOAD_FONT = """const late = new FontFace("late", "url(/late.woff2)"); document.fonts.add(late); void late.load()"""


async def _pictures(page: Page) -> tuple[bytes | None, bytes]:
    return await take_picture(page), await page.screenshot(animations="allow", caret="initial")


def test_a_picture_is_that_of_playwright(desk: Desk) -> None:
    """Of the visible part of a page, pixel by pixel."""
    desk.show("<p>Hello</p><div style='height: 3000px; background: linear-gradient(#fff, #00d)'></div>")
    page = desk.worker.session.page(0)
    assert page is not None

    taken, expected = desk.portal.call(_pictures, page)

    assert taken is not None
    ours, theirs = (Image.open(BytesIO(each)).convert("RGB") for each in (taken, expected))
    assert ours.size == theirs.size
    assert ImageChops.difference(ours, theirs).getbbox() is None


def test_a_font_that_has_not_arrived_holds_no_picture_up(desk: Desk) -> None:
    """Playwright waits for it, until the deadline."""
    desk.site.answers["/late.woff2"] = Answer(pieces=(b"w",), content_type="font/woff2", ending="open")
    desk.show("<p style='font-family: late, serif'>Shown in another font meanwhile</p>")
    desk.js(LOAD_FONT)

    assert desk.portal.call(desk.worker.screenshot, 0) is not None
