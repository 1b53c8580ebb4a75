"""Recorded document redirects, which a navigation of our own completes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urldefrag

from eikon_engine.browser.frames import frame_of

if TYPE_CHECKING:
    from playwright.async_api import Frame, Request

    from eikon_engine.network.exchange import Exchange


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RedirectContinuation:
    """A redirect from the requested document to the one that was served."""

    exchange: Exchange
    frame: Frame | None
    """The frame that we navigate; None if a document of ours at `source` redirects."""
    source: str
    target: str

    def is_started_by(self, request: Request) -> bool:
        """Whether a navigation is the one that completes this redirect."""
        if urldefrag(request.url).url != urldefrag(self.target).url:
            return False
        frame = frame_of(request)
        if self.frame is not None:
            return frame is self.frame
        return frame is not None and urldefrag(frame.url).url == urldefrag(self.source).url


class RedirectContinuations:
    """Redirects to complete, each once."""

    def __init__(self) -> None:
        """Start without any."""
        self._pending: list[RedirectContinuation] = []

    def pending_count(self) -> int:
        """Count our own navigations whose request has not arrived yet."""
        return sum(each.frame is not None for each in self._pending)

    def add(self, continuation: RedirectContinuation) -> None:
        """Expect one more."""
        self._pending.append(continuation)

    def take(self, request: Request) -> Exchange | None:
        """Return the exchange that a navigation completes; None if the page navigates by itself."""
        found = next((each for each in self._pending if each.is_started_by(request)), None)
        if found is None:
            return None
        self._pending.remove(found)
        return found.exchange

    def drop(self, continuation: RedirectContinuation) -> None:
        """Stop expecting one."""
        if continuation in self._pending:
            self._pending.remove(continuation)


def redirect_target(exchange: Exchange) -> str:
    """Return where redirects led, with the fragment that the browser shows.

    A `LocateResult` without a fragment keeps the previous one: https://fetch.spec.whatwg.org/#http-redirect-fetch.
    """
    url = exchange.response.url if exchange.response is not None else ""
    if "#" in url:
        return url
    for hop in reversed(exchange.hops):
        location = next((value for name, value in hop.headers if name.lower() == "location"), "")
        _, mark, fragment = location.partition("#")
        if mark:
            return f"{url}#{fragment}"
    return url


def is_same_document(frame: Frame, target: str) -> bool:
    """Whether navigating a frame would only scroll its document, because the URL differs only in its fragment."""
    return "#" in target and urldefrag(frame.url).url == urldefrag(target).url
