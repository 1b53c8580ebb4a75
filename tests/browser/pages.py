"""A small site on loopback whose responses are given by each test."""

from __future__ import annotations

import itertools
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from tests.sites.loopback import LoopbackServer, QuietHandler, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HTML = "text/html; charset=utf-8"
APART_S: Final = 0.03
"""Wall time between two pieces of a response."""
TRAIL = """<script>
window.trail = [];
for (const kind of ['pointerdown', 'mousedown', 'mouseup', 'click', 'dblclick', 'contextmenu', 'auxclick', 'mouseover',
    'keydown', 'keyup', 'beforeinput', 'input', 'change', 'focusin', 'dragstart', 'drop', 'scroll', 'wheel', 'submit'])
  document.addEventListener(kind, event => trail.push(kind), true);
</script>"""
"""Records the events that reach a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One received request."""

    method: str
    path: str
    body: bytes
    headers: tuple[tuple[str, str], ...]

    def header(self, name: str) -> str:
        """Return a request header; empty if it was not sent."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One response."""

    body: str | bytes = ""
    status: int = 200
    reason: str | None = None
    """Reason phrase; None for the standard one."""
    content_type: str = HTML
    headers: tuple[tuple[str, str], ...] = ()
    pieces: tuple[bytes, ...] = ()
    """Pieces sent one after the other instead of `body`."""
    ending: Literal["whole", "open", "broken"] = "whole"
    """How a response in pieces ends: normally, when the site stops, or truncated."""
    is_at_once: bool = False
    """Whether the headers and all pieces are sent together."""


def redirect(path: str, *, status: int = 302, cookie: str = "") -> Answer:
    """Return a redirect to another URL."""
    cookies = (("Set-Cookie", cookie),) if cookie else ()
    return Answer(status=status, headers=(("Location", path), *cookies))


AnswerSource: TypeAlias = "Answer | Callable[[Asked], Answer]"


@dataclass(slots=True)
class PageSite:
    """Responses by path, and the received requests."""

    url: str = ""
    answers: dict[str, AnswerSource] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    """Set at the end, so that threads with pending responses return."""
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def elsewhere(self) -> str:
        """Return the same site under another origin."""
        return self.url.replace("127.0.0.1", "localhost")

    def paths(self) -> tuple[str, ...]:
        """Return the received requests, as `GET /path`."""
        return tuple(f"{asked.method} {asked.path}" for asked in self.asked)

    def put(self, html: str) -> str:
        """Serve a document at a new URL, and return it."""
        path = f"/page-{next(self._numbers)}"
        self.answers[path] = Answer(body=f"<!doctype html><title>page</title>{html}")
        return self.url + path


@contextmanager
def serve_pages() -> Iterator[PageSite]:
    """Serve until the block ends."""
    site = PageSite()

    class Handler(QuietHandler):
        """Sends the responses of the site."""

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked = Asked(method=self.command, path=self.path, body=body, headers=tuple(self.headers.items()))
            site.asked.append(asked)
            source = site.answers.get(self.path.partition("?")[0], Answer(status=HTTPStatus.NOT_FOUND, body="nothing"))
            answer = source if isinstance(source, Answer) else source(asked)
            if answer.pieces:
                self._give_pieces(answer)
                return
            data = answer.body.encode() if isinstance(answer.body, str) else answer.body
            self.send_response(answer.status, answer.reason)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", str(len(data)))
            for name, value in answer.headers:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def _give_pieces(self, answer: Answer) -> None:
            self.close_connection = True
            self.send_response(answer.status)
            more = answer.ending != "whole"
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", str(sum(map(len, answer.pieces)) + more))
            for name, value in answer.headers:
                self.send_header(name, value)
            self.end_headers()
            for piece in answer.pieces:
                if not answer.is_at_once:
                    self.wfile.flush()
                    site.released.wait(APART_S)
                self.wfile.write(piece)
            self.wfile.flush()
            site.released.wait(None if answer.ending == "open" else APART_S)

        do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815 - the names are the parent's

    with running(LoopbackServer(0, Handler)) as url:
        site.url = url
        try:
            yield site
        finally:
            site.released.set()
