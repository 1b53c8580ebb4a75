"""Recorded redirects of documents that a navigation of our own goes on with."""

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
    """The way from a document that was asked for to the one that answers."""

    exchange: Exchange
    frame: Frame | None
    """Where we navigate; None if a document of ours does, which is shown at `source`."""
    source: str
    target: str

    def begins(self, request: Request) -> bool:
        """Say whether a navigation is the one that goes on."""
        if urldefrag(request.url).url != urldefrag(self.target).url:
            return False
        frame = frame_of(request)
        if self.frame is not None:
            return frame is self.frame
        return frame is not None and urldefrag(frame.url).url == urldefrag(self.source).url


class Continuations:
    """What is to go on; each is taken once."""

    def __init__(self) -> None:
        """Begin with none."""
        self._open: list[Continuation] = []

    def under_way(self) -> int:
        """Count our own navigations that no request has come of yet."""
        return sum(each.frame is not None for each in self._open)

    def add(self, continuation: Continuation) -> None:
        """Expect one more."""
        self._open.append(continuation)

    def take(self, request: Request) -> Exchange | None:
        """Return the exchange that a navigation goes on with; None if it is one of the page's own."""
        found = next((each for each in self._open if each.begins(request)), None)
        if found is None:
            return None
        self._open.remove(found)
        return found.exchange

    def drop(self, continuation: Continuation) -> None:
        """Expect it no longer."""
        if continuation in self._open:
            self._open.remove(continuation)


def redirected_to(exchange: Exchange) -> str:
    """Return where redirects led, with the fragment that the browser shows.

    A `Location` without a fragment keeps the one before it: https://fetch.spec.whatwg.org/#http-redirect-fetch.
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
    """Say whether navigating a frame would but scroll its document, as an address does that differs in its fragment."""
    return "#" in target and urldefrag(frame.url).url == urldefrag(target).url
