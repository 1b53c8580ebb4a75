"""A site whose state can be reset, and one of whose responses can be changed."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from aiohttp import web

from tests.sites.async_loopback import HOST, hide_the_server, running_application
from tests.sites.static import content_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STATIC: Final = Path(__file__).resolve().parent / "static"
_DRAWN_ID: Final = re.compile(r"(?<=/)[0-9a-f]{12}(?=/|$)")
"""An id that a site drew, as a segment of a path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of one response; unset fields keep what the site sends."""

    request: str
    """Method and path, with `*` for each id that the site drew."""
    number: int = 1
    """Which of the equal requests gets the changed response, from 1; 0 is all of them."""
    edit: Callable[[str], str] | None = None
    """Changes the body."""
    body: bytes | None = None
    status: int | None = None
    content_type: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    location: str | None = None
    """Redirects to this path."""
    delay_s: float = 0.0
    is_reset: bool = False
    """Closes the connection without a response, also when browsers send the request again."""

    def applies(self, key: str, number: int) -> bool:
        """Return whether this is the response to a request, of which there were `number` with the same key."""
        return key == self.request and (self.number in {0, number} or (self.is_reset and number > self.number))


class Site(Protocol):
    """The state of a site since its last restart."""

    def routes(self) -> dict[str, Callable[[web.Request], object]]:
        """Return the handlers by method and path, with `*` for ids."""


@dataclass(slots=True)
class OrdinarySite:
    """A running site."""

    make_state: Callable[[], Site]
    url: str = ""
    change: Change | None = None
    applied: int = 0
    """How often the change was applied since the last restart."""
    edit_message: Callable[[int, str], str | None] = field(default=lambda _number, text: text)
    """Changes a message to a page, by its number from 0; None withholds it."""
    requests: Counter[str] = field(default_factory=Counter)
    messages: int = 0
    """Messages sent to pages over WebSockets since the last restart."""
    _state: Site = field(init=False)
    _moved: web.Response | None = None
    """What the target of a changed redirect gets."""

    def __post_init__(self) -> None:
        """Start with fresh state."""
        self.restart()

    def restart(
        self, change: Change | None = None, edit_message: Callable[[int, str], str | None] | None = None
    ) -> None:
        """Forget everything that users did, and draw all ids and tokens again."""
        self._state = self.make_state()
        self.change, self.applied, self._moved = change, 0, None
        self.edit_message = edit_message or (lambda _number, text: text)
        self.requests.clear()
        self.messages = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer a request, with the change if it is the one; `POST /restart` restarts the site."""
        if request.path == "/restart":
            self.restart()
            return web.Response()
        if self._moved is not None and self.change is not None and request.path == self.change.location:
            return self._moved
        key = f"{request.method} {_DRAWN_ID.sub('*', request.path)}"
        self.requests[key] += 1
        number = self.requests[key]
        response = await self._answer(key, request)
        change = self.change
        if change is None or not change.applies(key, number):
            return response
        self.applied += 1
        await asyncio.sleep(change.delay_s)
        if change.is_reset:
            assert request.transport is not None
            request.transport.abort()
        changed = _with_change(response, change)
        if change.location is None:
            return changed
        self._moved = changed
        return web.Response(status=302, headers={"Location": change.location})

    async def _answer(self, key: str, request: web.Request) -> web.StreamResponse:
        if request.path.startswith("/static/"):
            file = STATIC / Path(request.path).name
            return web.Response(body=file.read_bytes(), headers={"Content-Type": content_type(file.name)})
        handler = self._state.routes().get(key)
        if handler is None:
            return web.Response(status=404, text="<!doctype html><h1>Not found</h1>", content_type="text/html")
        response = handler(request)
        if asyncio.iscoroutine(response):
            response = await response
        assert isinstance(response, web.StreamResponse)
        return response

    async def send(self, socket: web.WebSocketResponse, text: str) -> None:
        """Send a message to a page, unless it is withheld."""
        edited = self.edit_message(self.messages, text)
        self.messages += 1
        if edited is not None:
            await socket.send_str(edited)


SITE: Final = web.AppKey("site", OrdinarySite)
"""Key of the site in its application."""


def _with_change(response: web.StreamResponse, change: Change) -> web.Response:
    assert isinstance(response, web.Response)
    body = response.body if isinstance(response.body, bytes) else b""
    if change.edit is not None:
        body = change.edit(body.decode()).encode()
    headers = response.headers.copy()
    headers.pop("Content-Length", None)
    if change.content_type is not None:
        headers["Content-Type"] = change.content_type
    if change.status is not None and change.status >= web.HTTPBadRequest.status_code:
        headers.pop("Location", None)
    for name, value in change.headers:
        headers.add(name, value)
    return web.Response(
        status=change.status or response.status, headers=headers, body=body if change.body is None else change.body
    )


@contextmanager
def serve_ordinary(make_state: Callable[[], Site], *, port: int = 0) -> Iterator[OrdinarySite]:
    """Serve a site until the block ends."""
    site = OrdinarySite(make_state)
    application = web.Application()
    application[SITE] = site
    application.on_response_prepare.append(hide_the_server)
    application.router.add_route("*", "/{path:.*}", site.answer)
    with running_application(application, (port,)) as ports:
        site.url = f"http://{HOST}:{ports[0]}"
        yield site
