"""WebSockets: which side sends first, how often, in what form, and how they close."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from time import time_ns
from typing import TYPE_CHECKING, Final

from aiohttp import WSMsgType, web

from tests.sites.torture.state import state_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ROUTES = web.RouteTableDef()
CLOSED_BY_SITE = 4001
_NAMED_DELAYS = {"a": 0.12, "b": 0.02, "c": 0.07}
_NOTICE_AFTER = 3
_NOTICE_DELAY = 0.03
HEARTBEAT_S = 2.0
"""Wall time. Replays continue heartbeats with intervals of a second of page time, which may pass half as fast."""
_HEARTBEATS: Final[Mapping[str, Callable[[], str]]] = {
    "ping": lambda: "ping",
    "time": lambda: json.dumps({"type": "ping", "message": time_ns()}),
    "answered": lambda: "still there?",
}


async def _open(request: web.Request, *, protocols: tuple[str, ...] = ()) -> web.WebSocketResponse:
    socket = web.WebSocketResponse(protocols=protocols)
    await socket.prepare(request)
    return socket


@ROUTES.get("/ws/echo")
async def echo(request: web.Request) -> web.WebSocketResponse:
    """Send every text back, numbered across all connections."""
    state, socket = state_of(request), await _open(request)
    async for message in socket:
        if message.type is WSMsgType.TEXT:
            await socket.send_str(f"echo {state.count('echo')}: {message.data}")
    return socket


@ROUTES.get("/ws/named/{name}")
async def named(request: web.Request) -> web.WebSocketResponse:
    """Answer after a delay that depends on the name."""
    name, socket = request.match_info["name"], await _open(request)
    async for message in socket:
        await asyncio.sleep(_NAMED_DELAYS[name])
        await socket.send_str(f"{name} heard {message.data}")
    return socket


@ROUTES.get("/ws/turns")
async def turns(request: web.Request) -> web.WebSocketResponse:
    """Answer the page's n-th frame with n frames."""
    socket, turn = await _open(request), 0
    async for message in socket:
        turn += 1
        for part in range(1, turn + 1):
            await socket.send_str(f"{message.data} part {part} of {turn}")
    return socket


@ROUTES.get("/ws/push")
async def push(request: web.Request) -> web.WebSocketResponse:
    """Send five frames without a request, 20 ms apart."""
    socket = await _open(request)
    for number in range(1, 6):
        await socket.send_str(f"push {number}")
        await asyncio.sleep(0.02)
    await socket.close()
    return socket


@ROUTES.get("/ws/binary")
async def binary(request: web.Request) -> web.WebSocketResponse:
    """Send bytes back in reverse."""
    socket = await _open(request)
    async for message in socket:
        if message.type is WSMsgType.BINARY:
            await socket.send_bytes(bytes(reversed(message.data)))
    return socket


@ROUTES.get("/ws/close")
async def close(request: web.Request) -> web.WebSocketResponse:
    """Send one message and close with a custom code."""
    socket = await _open(request)
    await socket.send_str("last words")
    await socket.close(code=CLOSED_BY_SITE, message=b"enough for today")
    return socket


@ROUTES.get("/ws/reconnect")
async def reconnect(request: web.Request) -> web.WebSocketResponse:
    """Send different frames on each connection, and close it."""
    number, socket = state_of(request).count("reconnect"), await _open(request)
    for frame in range(number):
        await socket.send_str(f"connection {number} frame {frame + 1}")
    await socket.close(code=1000, message=b"again")
    return socket


@ROUTES.get("/ws/subprotocol")
async def subprotocol(request: web.Request) -> web.WebSocketResponse:
    """Accept only the second version of the subprotocol."""
    socket = await _open(request, protocols=("v2.torture",))
    await socket.send_str(f"speaking {socket.ws_protocol}")
    await socket.receive()
    return socket


@ROUTES.get("/ws/refused")
async def refused(_request: web.Request) -> web.Response:
    """Reject the handshake."""
    return web.Response(status=403, text="no sockets here\n")


@ROUTES.get("/ws/heartbeat/engine")
async def engine(request: web.Request) -> web.WebSocketResponse:
    """Agree on an interval as Engine.IO does: the server sends pings since version 4, and the page before that."""
    socket = await _open(request)
    interval_ms = round(HEARTBEAT_S * 1000)
    agreed = {"sid": "a", "upgrades": [], "pingInterval": interval_ms, "pingTimeout": interval_ms}
    await socket.send_str(f"0{json.dumps(agreed)}")
    while request.query["EIO"] == "4" and not socket.closed:
        await _beat(socket, "2")
    async for message in socket:
        if message.data == "2":
            await socket.send_str("3")
    return socket


@ROUTES.get("/ws/heartbeat/pong")
async def pong(request: web.Request) -> web.WebSocketResponse:
    """Answer each ping of the page."""
    socket = await _open(request)
    async for message in socket:
        if message.data == "ping":
            await socket.send_str("pong")
    return socket


@ROUTES.get("/ws/heartbeat/{content}")
async def heartbeat(request: web.Request) -> web.WebSocketResponse:
    """Send the same at regular intervals."""
    content, socket = _HEARTBEATS[request.match_info["content"]], await _open(request)
    await socket.send_str(content())
    while not socket.closed:
        await _beat(socket, content())
    return socket


async def _beat(socket: web.WebSocketResponse, content: str) -> None:
    """Receive for one interval, then send."""
    with suppress(TimeoutError):
        async with asyncio.timeout(HEARTBEAT_S):
            while not socket.closed:
                await socket.receive()
    if not socket.closed:
        await socket.send_str(content)


@ROUTES.get("/ws/notify")
async def notify(request: web.Request) -> web.WebSocketResponse:
    """Send a greeting, then wait for the actions."""
    state, socket = state_of(request), await _open(request)
    state.sockets.append(socket)
    await socket.send_str("listening")
    await socket.receive()
    return socket


@ROUTES.post("/ws/act")
async def act(request: web.Request) -> web.Response:
    """Count an action; after the third, send every listener a frame shortly after the response."""
    state = state_of(request)
    number = state.count("act")
    if number == _NOTICE_AFTER:
        listeners = tuple(socket for socket in state.sockets if not socket.closed)
        asyncio.get_running_loop().call_later(_NOTICE_DELAY, _tell, listeners)
    return web.Response(text=f"action {number}")


def _tell(listeners: tuple[web.WebSocketResponse, ...]) -> None:
    for socket in listeners:
        task = asyncio.get_running_loop().create_task(socket.send_str(f"notice after action {_NOTICE_AFTER}"))
        task.add_done_callback(asyncio.Task.result)
