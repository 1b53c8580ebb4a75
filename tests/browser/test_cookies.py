"""Cookies expire by page time, and each observation has the present ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.async_api import BrowserContext

from eikon_engine.trace.actions import Click, Navigate
from tests.browser.desk import at
from tests.browser.pages import Answer, redirect

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.trace.observation import Observation
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


IN_FRAME = "frames[0].eval(\"document.cookie = 'c=1'\")"
CHANGES = {
    "script": "document.cookie = 'c=1'",
    "cookie store": "cookieStore.set('c', '1')",
    "deletion": "cookieStore.delete('old')",
    "response": "fetch('/set')",
    "frame": IN_FRAME,
    "frame that is removed": f"{IN_FRAME}; document.querySelector('iframe').remove()",
    "frame of another site": "frames[1].postMessage('', '*')",
    "frame in a shadow tree": "shadowed.contentWindow.eval(\"document.cookie = 'c=1'\")",
    "popup that closes": "window.open('/popup')",
    "document that is left": "document.cookie = 'c=1'; location = '/then'",
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_sealed_replay_observes_each_change_of_cookies(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path, change: str
) -> None:
    """Whatever changes a cookie, the next observation has it, as in the recording."""
    cookie = (("Set-Cookie", "c=1; path=/; samesite=none; secure"),)
    site.answers["/set"] = Answer(headers=cookie)
    site.answers["/popup"] = Answer(body="<script>document.cookie = 'c=1'; window.close()</script>")
    site.answers["/then"] = Answer(body="<p>then</p>")
    site.answers["/inner"] = Answer(body="<script>onmessage = () => fetch('/set')</script>")
    frames = (
        f"<iframe></iframe><iframe src={site.elsewhere}/inner></iframe><x-i id=host></x-i>"
        "<script>const shadowed = document.createElement('iframe');"
        "host.attachShadow({mode: 'closed'}).append(shadowed)</script>"
    )
    site.answers["/here"] = Answer(
        body=f'{frames}<button onclick="{CHANGES[change].replace(chr(34), "&quot;")}">Do</button><i>Else</i>',
        headers=(("Set-Cookie", "old=1"),),
    )

    def mission(desk: Desk) -> list[Observation]:
        return [
            desk.ok(Navigate(url=f"{site.url}/here")),
            desk.ok(Click(target=at("button"))),
            desk.ok(Click(target=at("i, p"))),
        ]

    with live_browser.recording(tmp_path) as desk:
        recorded = mission(desk)
    with sealed_browser.sealed(tmp_path) as desk:
        replayed = mission(desk)

    assert recorded[1].storage != recorded[0].storage
    assert [each.storage for each in replayed] == [each.storage for each in recorded]
    assert [each.pages for each in replayed] == [each.pages for each in recorded]


def test_a_sealed_replay_reads_cookies_only_after_a_change(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps after which none can have changed have those that were read before."""
    site.answers["/here"] = Answer(
        body="<button onclick=\"document.cookie = 'c=1'\">Do</button><i>Else</i>", headers=(("Set-Cookie", "old=1"),)
    )
    targets = ("i", "i", "button", "i")

    def mission(desk: Desk) -> list[Observation]:
        return [desk.ok(Navigate(url=f"{site.url}/here")), *(desk.ok(Click(target=at(each))) for each in targets)]

    with live_browser.recording(tmp_path) as desk:
        recorded = mission(desk)
    reads = []
    cookies = BrowserContext.cookies

    async def noting(context: BrowserContext) -> object:
        reads.append(context)
        return await cookies(context)

    monkeypatch.setattr(BrowserContext, "cookies", noting)
    with sealed_browser.sealed(tmp_path) as desk:
        replayed = mission(desk)

    assert [each.storage for each in replayed] == [each.storage for each in recorded]
    assert len(reads) == 2
