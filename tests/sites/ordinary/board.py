"""A deployment board: one page that scripts fill from a JSON API, a poll and a WebSocket."""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aiohttp import WSMsgType, web

from tests.sites.ordinary.restartable import SITE, STATIC, serve_ordinary

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from tests.sites.ordinary.restartable import OrdinarySite

SERVICES: Final = (
    {"name": "payments", "version": "4.2.0", "owner": "Grace", "instances": 3},
    {"name": "search", "version": "1.9.3", "owner": "Alan", "instances": 5},
    {"name": "mail", "version": "2.0.1", "owner": "Edsger", "instances": 2},
)
_APPROVAL_S: Final = 1.0
"""How long a deployment waits for its approval."""


@dataclass(slots=True)
class _Deployment:
    service: str
    version: str
    begun: float
    id: str = field(default_factory=lambda: secrets.token_hex(6))

    def as_json(self) -> dict[str, object]:
        """Return what the API says about a deployment."""
        is_approved = time.monotonic() - self.begun > _APPROVAL_S
        return {
            "id": self.id,
            "service": self.service,
            "version": self.version,
            "state": "approved" if is_approved else "pending",
            "reviewer": "Barbara" if is_approved else None,
        }


class Board:
    """Deployments and sessions since the last restart."""

    def __init__(self) -> None:
        """Begin without deployments."""
        self._tokens: set[str] = set()
        self._deployments: dict[str, _Deployment] = {}

    def routes(self) -> dict[str, Callable[[web.Request], object]]:
        """Return the handlers."""
        return {
            "GET /": lambda _: web.Response(body=(STATIC / "board.html").read_bytes(), content_type="text/html"),
            "POST /api/session": self._sign_in,
            "GET /api/services": self._private(lambda _: web.json_response({"services": SERVICES})),
            "POST /api/deployments": self._private(self._deploy),
            "GET /api/deployments/*": self._private(self._show),
            "GET /live": self._live,
        }

    def _private(self, handler: Callable[[web.Request], object]) -> Callable[[web.Request], object]:
        def answer(request: web.Request) -> object:
            token = request.headers.get("Authorization", "").removeprefix("Bearer ")
            return handler(request) if token in self._tokens else web.json_response({"error": "sign in"}, status=401)

        return answer

    async def _sign_in(self, request: web.Request) -> web.Response:
        user = (await request.json())["user"]
        token = secrets.token_urlsafe(30)
        self._tokens.add(token)
        now = int(time.time())
        return web.json_response({"user": user, "token": token, "expires": now + 3600, "server_time": now})

    async def _deploy(self, request: web.Request) -> web.Response:
        asked = await request.json()
        made = _Deployment(asked["service"], asked["version"], time.monotonic())
        self._deployments[made.id] = made
        headers = {"X-Request-Id": request.headers.get("X-Request-Id", "")}
        return web.json_response(made.as_json(), status=201, headers=headers)

    def _show(self, request: web.Request) -> web.Response:
        return web.json_response(self._deployments[request.path.split("/")[3]].as_json())

    async def _live(self, request: web.Request) -> web.StreamResponse:
        site = request.app[SITE]
        if request.query.get("ticket") not in self._tokens:
            return web.Response(status=403)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await site.send(socket, json.dumps({"kind": "presence", "text": "Grace is online"}))
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                text = json.loads(message.data)["text"]
                await site.send(socket, json.dumps({"kind": "chat", "text": f"Grace: {text}? Yes!"}))
        return socket


def serve_board(*, port: int = 0) -> AbstractContextManager[OrdinarySite]:
    """Serve the board until the block ends."""
    return serve_ordinary(Board, port=port)
