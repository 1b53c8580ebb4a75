"""Cookies expire by page time: a replay next year has those of the recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.trace.actions import Navigate
from tests.browser.pages import Answer, redirect

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.desk import Desk, Room
    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

HOUR = "; expires=Fri, 31 Dec 2055 23:00:00 GMT"
DATED = "; expires=Wed, 31 Dec 2003 23:00:00 GMT"
"""The expiry date in a recording of 2003, whose responses are of that day."""
DATE = '["date","Wed, 31 Dec 2003 22:00:00 GMT"]'


def test_an_expiry_date_set_by_a_script_is_page_time(desk: Desk) -> None:
    """A page whose clock shows 2023 keeps a cookie for an hour, and removes one with a date in its past."""
    desk.show("<p>here</p>")

    kept = desk.js(
        "document.cookie = 'a=1; path=/; expires=' + new Date(Date.now() + 3600e3).toUTCString(), document.cookie"
    )
    gone = desk.js("document.cookie = 'a=; path=/; expires=' + new Date(Date.now() - 1).toUTCString(), document.cookie")

    assert (kept, gone) == ("a=1", "")


def test_the_cookie_store_uses_page_time(desk: Desk) -> None:
    """`cookieStore` keeps a cookie for an hour of page time."""
    desk.show("<p>here</p>")

    assert (
        desk.js("cookieStore.set({ name: 'b', value: '2', expires: Date.now() + 3600e3 }).then(() => document.cookie)")
        == "b=2"
    )


def test_cookies_of_an_old_recording_are_kept(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """A response and the redirect to it set cookies for an hour; a replay as if recorded in 2003 keeps both."""
    shown = "<p id=p></p><script>p.textContent = document.cookie</script>"
    site.answers["/start"] = redirect("/end", cookie=f"r=4{HOUR}")
    site.answers["/end"] = Answer(body=shown, headers=(("Set-Cookie", f"c=3{HOUR}"),))
    with live_browser.recording(tmp_path) as desk:
        recorded = desk.ok(Navigate(url=f"{site.url}/start"))
    index = tmp_path / "index.jsonl"
    text = index.read_text(encoding="utf-8")
    assert text.count(HOUR) == 2
    index.write_text(text.replace(HOUR, DATED).replace('"headers":[["', f'"headers":[{DATE},["'), encoding="utf-8")

    with sealed_browser.sealed(tmp_path) as desk:
        replayed = desk.ok(Navigate(url=f"{site.url}/start"))
        assert desk.js("p.textContent") == "r=4; c=3"

    assert replayed.pages == recorded.pages
