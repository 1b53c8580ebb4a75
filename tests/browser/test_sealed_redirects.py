"""Redirected documents end at their recorded URL, each in its own frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.trace.actions import Click, GoBack, Navigate
from tests.browser.desk import at
from tests.browser.pages import Answer, redirect
from tests.browser.test_sealed import both

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.trace.actions import Action
    from tests.browser.desk import Room
    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

SHOWS = """<p id=p></p><button id=b onclick="location.href = '/moved'">Go</button>
<script>p.textContent = location.hash + history.length</script>"""
WAYS = [("/end#there",), ("/middle#there", "/end"), ("/middle#here", "/end#there")]


@pytest.mark.parametrize("ways", WAYS)
def test_a_redirect_to_a_fragment_is_replayed(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path, ways: tuple[str, ...]
) -> None:
    """The page has the fragment of the last redirect with one from its start."""
    site.answers |= dict(zip(("/moved", "/middle"), map(redirect, ways), strict=False))
    site.answers["/end"] = Answer(body=SHOWS)
    actions: list[Action] = [Navigate(url=site.put(SHOWS)), Click(target=at("#b")), GoBack()]

    seen, _ = both(live_browser, sealed_browser, tmp_path, actions)

    assert seen[1].pages[0].url == f"{site.url}/end#there"


FORM = "<form method=post action=/moved#there><button id=b>Add</button></form>"
FRAMED = "<iframe id=f src=/framed></iframe>"


@pytest.mark.parametrize("content", ["<a id=b href=/moved#there>Go</a>", FORM, FRAMED, ""])
def test_a_redirect_keeps_the_requested_fragment(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path, content: str
) -> None:
    """As after the sign-in that a link to a part of a page leads through."""
    site.answers |= {"/moved": redirect("/end"), "/framed": Answer(body="<a id=b href=/moved#there>Go</a>")}
    site.answers["/end"] = Answer(body=SHOWS)
    target = at("#b", "#f") if content == FRAMED else at("#b")
    action: Action = Click(target=target) if content else Navigate(url=f"{site.url}/moved#there")

    seen, _ = both(live_browser, sealed_browser, tmp_path, [Navigate(url=site.put(content)), action])

    assert seen[1].pages[0].frames[-1].url == f"{site.url}/end#there"


@pytest.mark.parametrize("place", ["page", "frame", "popup", "address bar"])
def test_a_redirect_to_a_fragment_of_the_same_url_reloads_it(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path, place: str
) -> None:
    """As after a form that leads back to its own page."""
    site.answers["/moved"] = redirect("/end#there")
    site.answers["/end"] = lambda _: Answer(body=f"<p>{len(site.asked)}</p>{SHOWS}")
    framed = site.put("<iframe id=f src=/end></iframe>")
    popup = site.put("<a id=b target=_blank href=/moved>Go</a>")
    url = {"frame": framed, "popup": popup}.get(place, f"{site.url}/end")
    target = at("#b", "#f") if place == "frame" else at("#b")
    action: Action = Navigate(url=f"{site.url}/moved") if place == "address bar" else Click(target=target)

    seen, _ = both(live_browser, sealed_browser, tmp_path, [Navigate(url=url), action])

    last = seen[1].pages[-1]
    assert (last.frames[-1].url if place == "frame" else last.url) == f"{site.url}/end#there"


@pytest.mark.parametrize("place", ["page", "popup"])
def test_a_form_may_be_redirected_to_a_fragment_of_its_own_url(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path, place: str
) -> None:
    """As a comment does that is added to a ticket: the page loads again and shows it."""
    target = "_blank" if place == "popup" else "_self"
    form = f"<form method=post action=/end target={target}><input name=a value=1><button id=b>Add</button></form>"
    site.answers["/end"] = lambda sent: (
        redirect("/end#there") if sent.method == "POST" else Answer(body=f"<p>{len(site.asked)}</p>{form}{SHOWS}")
    )

    seen, _ = both(
        live_browser, sealed_browser, tmp_path, [Navigate(url=f"{site.url}/end"), Click(target=at("form #b"))]
    )

    assert seen[1].pages[-1].url == f"{site.url}/end#there"


def test_two_frames_may_be_redirected_to_one_url(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """Each gets its own response."""
    site.answers |= {"/a": redirect("/end"), "/b": redirect("/end")}
    ends = iter(("first", "second", "third", "fourth"))
    site.answers["/end"] = lambda _: Answer(body=f"<p>{next(ends)}")

    both(
        live_browser,
        sealed_browser,
        tmp_path,
        [Navigate(url=site.put("<iframe src=/a></iframe><iframe src=/b></iframe>"))],
    )
