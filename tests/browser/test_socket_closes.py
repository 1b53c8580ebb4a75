"""How the end of a socket is recorded."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from eikon_engine.browser.traffic import sockets
from eikon_engine.network.store import read_network
from eikon_engine.network.websocket import SocketClosed
from eikon_engine.trace.actions import FunctionCondition, Navigate, WaitFor
from tests.sites.torture import serve_torture

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.async_api import WebSocketRoute

    from tests.browser.desk import Room
    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser


def test_each_side_closes_a_socket_once(live_browser: Room, site: PageSite, tmp_path: Path) -> None:
    """A socket that either side has closed is not closed again when its page navigates."""
    with serve_torture() as torture, live_browser.recording(tmp_path) as desk:
        here = torture.url.replace("http", "ws")
        page = site.put(
            f"<script>window.over = 0; const open = path => {{ const s = new WebSocket('{here}' + path);"
            "s.onclose = () => { over += 1 }; return s };"
            "const ours = open('/ws/echo'); ours.onopen = () => ours.close(1000, 'bye'); open('/ws/close');"
            f"window.left = new WebSocket('{here}/ws/echo')</script>"
        )
        desk.ok(Navigate(url=page))
        desk.ok(WaitFor(condition=FunctionCondition(expression="() => over === 2 && left.readyState === 1")))
        desk.ok(Navigate(url=site.put("left")))
        desk.ok(Navigate(url=site.put("left again")))

    closes = [event for event in read_network(tmp_path).sockets if isinstance(event, SocketClosed)]
    assert [(each.socket, each.closer) for each in sorted(closes, key=lambda each: each.socket)] == [
        (0, "page"),
        (0, "server"),
        (1, "server"),
        (2, "page"),
        (2, "server"),
    ]


@pytest.mark.parametrize("delay_s", [0, 0.4])
def test_a_socket_closed_before_it_opens_ends(
    live_browser: Room,
    sealed_browser: Room,
    site: PageSite,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    delay_s: float,
) -> None:
    """The page gets the events of a failed connection, as from the browser, also if the server accepted meanwhile."""
    close_side = sockets.close_side

    async def close_late(side: WebSocketRoute, code: int | None, reason: str | None) -> None:
        await asyncio.sleep(delay_s)
        await close_side(side, code, reason)

    monkeypatch.setattr(sockets, "close_side", close_late)
    with serve_torture() as torture:
        here = torture.url.replace("http", "ws")
        url = site.put(
            f"<p id=p></p><script>const s = new WebSocket('{here}/ws/echo'); s.close();"
            "s.onerror = () => { p.textContent += 'error '; };"
            "s.onclose = ({ code }) => { p.textContent += code; };</script>"
        )
        with live_browser.recording(tmp_path) as desk:
            recorded = desk.ok(Navigate(url=url))
            desk.ok(
                shows_end := WaitFor(condition=FunctionCondition(expression="() => p.textContent === 'error 1006'"))
            )

    with sealed_browser.sealed(tmp_path) as desk:
        performed = desk.do(Navigate(url=url), recorded)
        desk.ok(shows_end)
        notes = desk.network().notes

    assert performed.observation is not None
    assert (performed.error, notes) == (None, ())
