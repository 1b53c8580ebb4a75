"""A server that pushes gets the wall time it needs, though page time passes faster."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest
from aiohttp import web

from eikon_engine.browser import observation as observe
from eikon_engine.browser.page_tracker import read_download
from eikon_engine.dom import render_plain_html
from eikon_engine.trace.actions import Click, FunctionCondition, Navigate, WaitFor
from tests.browser.desk import at
from tests.sites.async_loopback import running_application

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.async_api import Download

    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.observation import ObservedDownload
    from tests.browser.desk import Room
    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

TAKES_S = 3.0
BUSY_S = 0.5
WAITS = WaitFor(condition=FunctionCondition(expression="window.said === 'done'"), timeout_ms=4_000.0)
LISTENERS = {
    "socket": "new WebSocket('ws://{}/socket').onmessage = event => {{ window.said = event.data }}",
    "events": "new EventSource('http://{}/events').onmessage = event => {{ window.said = event.data }}",
    "nothing": "window.said = '{}'",
}


async def by_socket(request: web.Request) -> web.WebSocketResponse:
    """Send a message after a delay."""
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    await asyncio.sleep(TAKES_S)
    await socket.send_str("done")
    await socket.receive()
    return socket


async def by_event(request: web.Request) -> web.StreamResponse:
    """Send an event after a delay."""
    headers = {"Content-Type": "text/event-stream", "Access-Control-Allow-Origin": "*"}
    stream = web.StreamResponse(headers=headers)
    await stream.prepare(request)
    await stream.write(b": here\n\n")
    await asyncio.sleep(TAKES_S)
    await stream.write(b"data: done\n\n")
    await asyncio.sleep(TAKES_S)
    return stream


@pytest.mark.parametrize("listener", LISTENERS)
def test_waiting_for_a_push_takes_wall_time(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path, listener: str
) -> None:
    """The awaited push arrives in time in the recording, and again in a replay."""
    application = web.Application()
    application.router.add_get("/socket", by_socket)
    application.router.add_get("/events", by_event)
    with running_application(application, (0,)) as (port,):
        script = LISTENERS[listener].format(f"127.0.0.1:{port}")
        actions: list[Action] = [Navigate(url=site.put(f"<script>{script}</script>")), WAITS]
        with live_browser.recording(tmp_path) as desk:
            recorded = [desk.do(action) for action in actions]
    with sealed_browser.sealed(tmp_path) as desk:
        seen = [desk.do(action, each.observation) for action, each in zip(actions, recorded, strict=True)]

    assert (recorded[-1].error is None) == (listener != "nothing")
    assert [each.observation for each in seen] == [each.observation for each in recorded]
    assert [each.result for each in seen] == [each.result for each in recorded]


def test_a_message_after_the_observation_belongs_to_the_next_action(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writing a download may take time; a message that arrives meanwhile was not observed."""
    read = threading.Event()

    async def slowly(number: int, download: Download) -> tuple[ObservedDownload, bytes | None]:
        read.set()
        await asyncio.sleep(BUSY_S)
        return await read_download(number, download)

    async def speak(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await asyncio.to_thread(read.wait)
        await socket.send_str("done")
        await socket.receive()
        return socket

    application = web.Application()
    application.router.add_get("/socket", speak)
    with running_application(application, (0,)) as (port,):
        page = (
            "<a href='data:application/zip,x' download=x.zip>get</a><p>nothing</p>"
            f"<script>new WebSocket('ws://127.0.0.1:{port}/socket').onmessage ="
            " event => { document.querySelector('p').textContent = window.said = event.data }</script>"
        )
        actions: list[Action] = [Navigate(url=site.put(page)), Click(target=at("a")), WAITS]
        with live_browser.recording(tmp_path) as desk, monkeypatch.context() as patched:
            patched.setattr(observe, "read_download", slowly)
            recorded = [desk.do(action) for action in actions]
    with sealed_browser.sealed(tmp_path) as desk:
        seen = [desk.do(action, each.observation) for action, each in zip(actions, recorded, strict=True)]

    assert [each.error for each in recorded] == [None] * 3
    shown = [render_plain_html(each.captured.snapshots[0].main) for each in recorded if each.captured is not None]
    assert [("nothing" in html, "done" in html) for html in shown] == [(True, False), (True, False), (False, True)]
    assert [each.observation for each in seen] == [each.observation for each in recorded]
