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
class Continuation:
    """A redirect from the requested document to the one that was served."""

    exchange: Exchange
    frame: Frame | None
    """The frame that we navigate; None if a document of ours at `source` redirects."""
    source: str
    target: str

    def begins(self, request: Request) -> bool:
        """Whether a navigation is the one that completes this redirect."""
        if urldefrag(request.url).url != urldefrag(self.target).url:
            return False
        frame = frame_of(request)
        if self.frame is not None:
            return frame is self.frame
        return frame is not None and urldefrag(frame.url).url == urldefrag(self.source).url


class Continuations:
    """Redirects to complete, each once."""

    def __init__(self) -> None:
        """Start without any."""
        self._open: list[Continuation] = []

    def under_way(self) -> int:
        """Count our own navigations whose request has not arrived yet."""
        return sum(each.frame is not None for each in self._open)

    def add(self, continuation: Continuation) -> None:
        """Expect one more."""
        self._open.append(continuation)

    def take(self, request: Request) -> Exchange | None:
        """Return the exchange that a navigation completes; None if the page navigates by itself."""
        found = next((each for each in self._open if each.begins(request)), None)
        if found is None:
            return None
        self._open.remove(found)
        return found.exchange

    def drop(self, continuation: Continuation) -> None:
        """Stop expecting one."""
        if continuation in self._open:
            self._open.remove(continuation)


def redirected_to(exchange: Exchange) -> str:
    """Return where redirects led, with the fragment that the browser shows.

    A `Location` without a fragment keeps the previous one: https://fetch.spec.whatwg.org/#http-redirect-fetch.
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


def stays_in_document(frame: Frame, target: str) -> bool:
    """Whether navigating a frame would only scroll its document, because the URL differs only in its fragment."""
    return "#" in target and urldefrag(frame.url).url == urldefrag(target).url
