"""A server that speaks by itself is given the time for it, though page time passes faster."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import pytest
from aiohttp import web

from eikon_engine.browser.rest import Rest
from eikon_engine.trace.actions import FunctionCondition, Navigate, WaitFor
from tests.sites.async_loopback import running_application

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.trace.actions import Action
    from tests.browser.desk import Room
    from tests.browser.pages import PageSite

TAKES_S = 3.0
WAITS_MS = 4_000.0


async def speak_late(request: web.Request) -> web.WebSocketResponse:
    """Say something when it has taken its time."""
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    await asyncio.sleep(TAKES_S)
    await socket.send_str("done")
    await socket.receive()
    return socket


@pytest.fixture
def drawn_out(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Note by how much ticks of page time are drawn out; a wall clock would tell of the machine, too."""
    sleep, noted = asyncio.sleep, []

    async def noting(delay: float) -> None:
        if sys._getframe(1).f_code is Rest.tick.__code__:  # noqa: SLF001 - there is no other way to know who asks
            noted.append(delay)
        await sleep(delay)

    monkeypatch.setattr(asyncio, "sleep", noting)
    return noted


@pytest.mark.parametrize("speaks", [True, False])
def test_waiting_on_a_page_with_a_socket_takes_its_time(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path, drawn_out: list[float], *, speaks: bool
) -> None:
    """What is waited for comes in time when recording; neither a replay nor a page without a socket waits so."""
    application = web.Application()
    application.router.add_get("/late", speak_late)
    condition = FunctionCondition(expression="() => window.said === 'done'")
    waits = WaitFor(condition=condition, timeout_ms=WAITS_MS)
    with running_application(application, (0,)) as (port,):
        address = f"ws://127.0.0.1:{port}/late" if speaks else ""
        opens = f"new WebSocket('{address}').onmessage = event => {{ window.said = event.data }}"
        actions: list[Action] = [Navigate(url=site.put(f"<script>{opens if speaks else ''}</script>")), waits]
        with live_browser.recording(tmp_path) as desk:
            recorded = [desk.do(action) for action in actions]
    waited = len(drawn_out)
    with sealed_browser.sealed(tmp_path) as desk:
        seen = [desk.do(action, each.observation) for action, each in zip(actions, recorded, strict=True)]

    assert (recorded[-1].error is None) == speaks
    assert [each.observation for each in seen] == [each.observation for each in recorded]
    assert [each.result for each in seen] == [each.result for each in recorded]
    assert (waited > 0) == speaks
    assert len(drawn_out) == waited
