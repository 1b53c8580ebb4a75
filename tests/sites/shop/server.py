"""Run the shop."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from tests.sites.loopback import LoopbackServer, QuietHandler, running
from tests.sites.shop.changes import check_change
from tests.sites.shop.messages import HTML, Answer, Request
from tests.sites.shop.routes import find_page
from tests.sites.shop.state import ShopState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.sites.shop.state import Session

_DELAYED = ("/", "/api/cart", "/api/news")
_DELAY_SECONDS = 0.3


class ShopServer:
    """A running shop: its address, the requests it received, and its state."""

    def __init__(self, *, port: int, change: str | None) -> None:
        """Bind to the port, with an empty state."""
        self._lock = threading.Lock()
        self._requests: list[str] = []
        self._state = ShopState(change=check_change(change))
        self._http = LoopbackServer(port, _handler(self))

    @property
    def http(self) -> LoopbackServer:
        """Return the underlying server."""
        return self._http

    @property
    def url(self) -> str:
        """Return the base URL without a trailing slash."""
        return self._http.url

    @property
    def requests(self) -> tuple[str, ...]:
        """List the requests seen so far as ``METHOD path``, the query included, in order of arrival."""
        with self._lock:
            return tuple(self._requests)

    @property
    def state(self) -> ShopState:
        """Return the state of the shop."""
        return self._state

    def restart(self, change: str | None = None) -> None:
        """Reset the state and continue at the same address, normally or with one change."""
        with self._lock:
            self._requests.clear()
            self._state = ShopState(change=check_change(change))

    def note(self, line: str) -> None:
        """Store a request."""
        with self._lock:
            self._requests.append(line)

    def answer(self, handler: QuietHandler) -> Answer:
        """Answer one request; the state is locked, so that changes are never concurrent."""
        parts = urlsplit(handler.path)
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        page, arguments = find_page(handler.command, parts.path)
        if self._state.change == "slow-list" and handler.command == "GET" and parts.path in _DELAYED:
            threading.Event().wait(_DELAY_SECONDS)
        with self._lock:
            session, is_known = self._find_session(handler.headers.get("Cookie", ""), parts.path)
            answer = page(
                Request(
                    method=handler.command,
                    path=parts.path,
                    query=dict(parse_qsl(parts.query)),
                    arguments=arguments,
                    content_type=handler.headers.get("Content-Type", ""),
                    body=body,
                    session=session,
                    shop=self._state,
                )
            )
        return answer if is_known else _with_cookie(answer, session)

    def _find_session(self, cookies: str, path: str) -> tuple[Session, bool]:
        """Return the visitor's session, or open one for a guest; requests for assets open none."""
        found = SimpleCookie(cookies).get("sid")
        session = self._state.sessions.get(found.value) if found else None
        if session is not None:
            return session, True
        if path.startswith("/static/"):
            return ShopState().open_session(), True
        return self._state.open_session(), False


def _with_cookie(answer: Answer, session: Session) -> Answer:
    if any(name == "Set-Cookie" for name, _ in answer.headers):
        return answer
    cookie = ("Set-Cookie", f"sid={session.id}; Path=/; HttpOnly; SameSite=Lax")
    return Answer(
        status=answer.status, content_type=answer.content_type, body=answer.body, headers=(*answer.headers, cookie)
    )


def _handler(shop: ShopServer) -> type[QuietHandler]:
    class ShopHandler(QuietHandler):
        """A handler that passes every request to the shop."""

        def _serve(self) -> None:
            shop.note(f"{self.command} {self.path}")
            answer = shop.answer(self)
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", str(len(answer.body)))
            self.send_header("Cache-Control", "no-store" if answer.content_type == HTML else "no-cache")
            for name, value in answer.headers:
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer.body)

        do_GET = do_HEAD = do_POST = do_DELETE = do_PUT = _serve  # noqa: N815 - the names are the parent's

    return ShopHandler


@contextmanager
def serve_shop(*, port: int = 0, change: str | None = None) -> Iterator[ShopServer]:
    """Run a fresh shop on loopback, normally or with one change.

    Raises:
        ValueError: The change is not in ``CHANGES``.
    """
    shop = ShopServer(port=port, change=change)
    with running(shop.http):
        yield shop
