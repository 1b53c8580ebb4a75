"""Serve the login: cookies, a code in a URL, a JWT, tokens in scripts, and tokens that pages create."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aiohttp import WSMsgType, web

from tests.sites.async_loopback import hide_the_server, running_application

if TYPE_CHECKING:
    from collections.abc import Iterator

PASSWORD: Final = "Plum & 4711 trees"
_STATIC: Final = Path(__file__).parent / "static"
_KEY: Final = secrets.token_bytes(32)


@dataclass(slots=True)
class LoginSite:
    """A running site, and every secret that it issued or received."""

    url: str = ""
    given: dict[str, str] = field(default_factory=dict)

    def give(self, name: str, value: str) -> str:
        """Remember a secret, to search recordings for it."""
        self.given[name] = value
        return value

    async def form(self, _request: web.Request) -> web.Response:
        """Show the form, with a token in a hidden field."""
        csrf = self.give("csrf", secrets.token_urlsafe(24))
        page = (_STATIC / "login.html").read_text(encoding="utf-8").replace("CSRF", csrf)
        response = web.Response(text=page, content_type="text/html")
        response.set_cookie("csrf_cookie", csrf)
        return response

    async def enter(self, request: web.Request) -> web.Response:
        """Set the session cookie and redirect with a code, as OAuth does."""
        sent = await request.post()
        if (sent["password"], sent["csrfmiddlewaretoken"]) != (PASSWORD, self.given["csrf"]):
            raise web.HTTPForbidden(text="wrong")
        code, state = self.give("code", secrets.token_urlsafe(18)), self.give("state", secrets.token_hex(8))
        response = web.Response(status=302, headers={"Location": f"/callback?code={code}&state={state}"})
        response.set_cookie("connect.sid", f"s%3A{self.give('sid', secrets.token_hex(16))}", httponly=True)
        response.set_cookie("role", "admin-of-all", httponly=True)
        response.set_cookie("pin_session", self.give("short", "x7q2"), httponly=True)
        return response

    async def app(self, _request: web.Request) -> web.Response:
        """Serve the application, with tokens in its script that no name identifies as secrets, one of them short."""
        page = (_STATIC / "app.html").read_text(encoding="utf-8")
        late = self.give("late", secrets.token_hex(20))
        page = page.replace("LATE", late).replace("WEAK", self.give("weak", f"a7c9e{secrets.token_hex(3)}"))
        return web.Response(text=page, content_type="text/html")

    async def token(self, request: web.Request) -> web.Response:
        """Exchange the code for tokens."""
        sent = await request.json()
        if sent["code"] != self.given["code"] or "connect.sid" not in request.cookies:
            raise web.HTTPForbidden(text="wrong code")
        jwt = self.give("jwt", _jwt({"name": "Ada", "exp": 1_900_000_000}))
        refresh = self.give("refresh", secrets.token_urlsafe(32))
        return web.json_response({"access_token": jwt, "refresh_token": refresh, "token_type": "Bearer"})

    async def account(self, request: web.Request) -> web.Response:
        """Return the signed-in user and the device's own token."""
        if request.headers["Authorization"] != f"Bearer {self.given['jwt']}" or not request.headers["X-Api-Key"]:
            raise web.HTTPForbidden(text="wrong token")
        sent = await request.json()
        self.give("device", sent["device_token"])
        self.give("proof", sent["proof"])
        key = self.give("api_key", request.headers["X-Api-Key"])
        return web.json_response({"name": "Ada", "echo": sent["device_token"], "next": f"/more?api_key={key}"})

    async def more(self, request: web.Request) -> web.Response:
        """Return the length of the key in the query."""
        return web.Response(text=f"more for {len(request.query['api_key'])} characters")

    async def live(self, request: web.Request) -> web.WebSocketResponse:
        """Receive a token over a WebSocket and send another one."""
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                ticket = self.give("ticket", f"ghp_{secrets.token_hex(18)}")
                await socket.send_json({"heard": json.loads(message.data)["token"], "ticket": ticket})
        return socket


def _jwt(claims: dict[str, object]) -> str:
    head, body = (_base64(json.dumps(each).encode()) for each in ({"alg": "HS256", "typ": "JWT"}, claims))
    return f"{head}.{body}.{_base64(hmac.digest(_KEY, f'{head}.{body}'.encode(), hashlib.sha256))}"


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@contextmanager
def serve_login() -> Iterator[LoginSite]:
    """Serve the site until the block ends."""
    site = LoginSite()
    application = web.Application()
    application.on_response_prepare.append(hide_the_server)
    application.add_routes(
        [
            web.get("/login", site.form),
            web.post("/login", site.enter),
            web.get("/callback", site.app),
            web.post("/api/token", site.token),
            web.post("/api/account", site.account),
            web.get("/more", site.more),
            web.get("/live", site.live),
        ]
    )
    with running_application(application, (0,)) as ports:
        site.url = f"http://127.0.0.1:{ports[0]}"
        yield site
