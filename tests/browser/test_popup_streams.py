"""Streams that a popup receives while it loads, and the limits of capturing them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.browser.traffic.capture import NetworkCapture
from eikon_engine.network.store import NetworkWriter, read_network
from eikon_engine.trace.actions import Click, ClosePage, FunctionCondition, Navigate, WaitFor
from tests.browser.desk import at
from tests.browser.pages import Answer
from tests.browser.test_sealed import replay

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.observation import Observation
    from tests.browser.desk import Room
    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

EVENTS = Answer(content_type="text/event-stream", pieces=(b"data: 1\n\n", b"data: 2\n\n"), ending="open")
LISTENING_PAGE = "<p id=p></p><script>new EventSource('/sse').onmessage = e => { p.textContent += e.data; };</script>"


TRIES = 5
"""Recordings of which one must capture everything; a busy browser may report a page too late."""


def shows(text: str, page: int = 0) -> WaitFor:
    """Wait until a page shows a text."""
    return WaitFor(page=page, condition=FunctionCondition(expression=f"p.textContent === '{text}'"))


def record(room: Room, folder: Path, actions: list[Action]) -> tuple[list[Observation], bool]:
    """Perform actions live; return whether the events of `/sse` were captured, and require a warning otherwise."""
    with room.desk() as desk, NetworkWriter(folder) as writer:
        capture = room.portal.call(NetworkCapture, desk.worker.session, writer)
        room.portal.call(capture.start)
        recorded = [desk.ok(action) for action in actions]
        room.portal.call(capture.close)
    (events,) = [each for each in read_network(folder).exchanges if each.key.endswith("/sse")]
    named = [warning for warning in capture.warnings if "/sse: its events were not captured" in warning]
    assert len(named) == (events.response is None)
    if events.response is not None:
        assert sum(piece.length for piece in events.pieces) == sum(map(len, EVENTS.pieces))
    return recorded, events.response is not None


@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("opening", ["target=_blank", "target=_blank rel=opener"])
def test_a_stream_of_a_loading_popup_is_recorded_or_reported(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path, opening: str, *, elsewhere: bool
) -> None:
    """Events that arrive before we attach to the page are replayed; a busy browser gives a warning instead.

    At least one of a few recordings has all events.
    """
    site.answers["/sse"] = EVENTS
    popup = site.put(LISTENING_PAGE)
    if elsewhere:
        popup = popup.replace(site.url, site.elsewhere)
    page = site.put(f"<a id=go {opening} href={popup}>Go</a>")
    actions: list[Action] = [Navigate(url=page), Click(target=at("#go")), shows("12", page=1)]
    for number in range(TRIES):
        recorded, heard = record(live_browser, tmp_path / str(number), actions)
        if heard:
            assert replay(sealed_browser, tmp_path / str(number), actions, recorded)[0] == recorded
            return
    pytest.fail(f"none of {TRIES} recordings captured the events of the popup")


def test_a_stream_of_a_popup_that_closes_is_kept(live_browser: Room, site: PageSite, tmp_path: Path) -> None:
    """Events before its end are recorded, though the page can no longer be queried."""
    site.answers["/sse"] = EVENTS
    page = site.put(f"<a id=go target=_blank href={site.put(LISTENING_PAGE)}>Go</a>")
    actions: list[Action] = [Navigate(url=page), Click(target=at("#go")), shows("12", page=1), ClosePage(page=1)]

    assert any(record(live_browser, tmp_path / str(number), actions)[1] for number in range(TRIES))


def test_popups_that_close_at_once_block_nothing(live_browser: Room, site: PageSite, tmp_path: Path) -> None:
    """Pages that close before we attach, and pages without a document, do not delay others."""
    site.answers["/sse"] = EVENTS
    popup = site.put(LISTENING_PAGE)
    script = f"for (const url of ['{popup}', '', '{popup}', 'about:blank']) window.open(url).close(); p.textContent = 1"
    page = site.put(f'<p id=p></p><button id=b onclick="{script}">Go</button>')
    with live_browser.recording(tmp_path) as desk:
        desk.ok(Navigate(url=page))
        desk.ok(Click(target=at("#b")))
        desk.ok(shows("1"))
        seen = desk.ok(Navigate(url=page))

    assert [each.page for each in seen.pages] == [0]


def test_uncaptured_events_are_reported(live_browser: Room, site: PageSite, tmp_path: Path) -> None:
    """Events of a stream in a worker are not captured: the recording warns that replays omit them."""
    site.answers["/sse"] = EVENTS
    worker = f"fetch('{site.url}/sse').then(() => postMessage(1))"
    page = site.put(
        f"<p id=p></p><script>new Worker(URL.createObjectURL(new Blob([`{worker}`]))).onmessage = "
        "() => { p.textContent = 'begun' }</script>"
    )
    with live_browser.desk() as desk, NetworkWriter(tmp_path) as writer:
        capture = live_browser.portal.call(NetworkCapture, desk.worker.session, writer)
        live_browser.portal.call(capture.start)
        desk.ok(Navigate(url=page))
        desk.ok(shows("begun"))
        live_browser.portal.call(capture.close)

    assert [warning for warning in capture.warnings if "/sse: its events were not captured" in warning]


def test_a_written_body_is_released(live_browser: Room, site: PageSite, tmp_path: Path) -> None:
    """The memory of a recording does not grow with every body."""
    site.answers["/body"] = Answer(body="x" * 100_000)
    page = site.put(
        "<p id=p></p><script>fetch('/body').then(r => r.text()).then(t => p.textContent = t.length)</script>"
    )
    with live_browser.desk() as desk, NetworkWriter(tmp_path) as writer:
        capture = live_browser.portal.call(NetworkCapture, desk.worker.session, writer)
        live_browser.portal.call(capture.start)
        desk.ok(Navigate(url=page))
        desk.ok(shows("100000"))
        held = dict(capture._streams._streams)  # noqa: SLF001 - what is kept is nobody's business but memory's
        live_browser.portal.call(capture.close)

    (body,) = [each for each in read_network(tmp_path).exchanges if each.key.endswith("/body")]
    assert body.response is not None
    assert held == {}


def test_an_error_of_a_listener_fails_the_session(live_browser: Room, tmp_path: Path) -> None:
    """An error in the background is raised from the next action, unless its page has closed."""

    async def breaks() -> None:
        message = "no such field"
        raise KeyError(message)

    async def listen(capture: NetworkCapture) -> None:
        capture._streams._spawn(breaks())  # noqa: SLF001 - the protocol itself never breaks

    with live_browser.desk() as desk, NetworkWriter(tmp_path) as writer:
        capture = live_browser.portal.call(NetworkCapture, desk.worker.session, writer)
        live_browser.portal.call(listen, capture)
        live_browser.portal.call(capture.close)
        fault = desk.worker.session.tracker.error

    assert fault is not None
    assert "no such field" in fault.message
