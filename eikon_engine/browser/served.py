"""What a recorded exchange looks like when it is served again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from eikon_engine.network.socket import SocketAccepted, SocketClosed, SocketMessage, SocketOpened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eikon_engine.network.exchange import Exchange, HeaderPairs, RecordedResponse
    from eikon_engine.network.moment import Moment
    from eikon_engine.network.store import NetworkRecording

DROPPED: Final = frozenset({"content-encoding", "content-length", "transfer-encoding", "connection", "keep-alive"})
"""Response headers that speak of the transport, which a served answer does not have."""
BLOCKED_BY_POLICY: Final = "net::ERR_FAILED"
"""What the browser says of an answer that the CORS policy keeps from the page."""
_ALLOWED: Final = "access-control-allow-origin"
NOBODY: Final = "https://nobody.invalid"
"""An origin that is that of no page, not even of one that has none."""


def moments_of(recording: NetworkRecording) -> Iterator[Moment]:
    """Yield the moments at which something is delivered: answers, pieces that are fed, what servers said on sockets."""
    for exchange in recording.exchanges:
        if exchange.pieces and exchange.request.resource_type != "fetch":
            yield exchange.pieces[0].moment
            continue
        yield from (piece.moment for piece in exchange.pieces)
        if exchange.moment is not None:
            yield exchange.moment
    for event in recording.sockets:
        if not isinstance(event, SocketOpened) and _sender(event) == "server":
            yield event.moment


def orders_of(exchanges: Iterable[Exchange]) -> Iterator[int]:
    """Yield the places of everything that came of exchanges."""
    for exchange in exchanges:
        yield from (piece.moment.order for piece in exchange.pieces)
        if exchange.moment is not None:
            yield exchange.moment.order


def _sender(event: SocketMessage | SocketClosed | SocketAccepted) -> str:
    match event:
        case SocketMessage():
            return event.sender
        case SocketClosed():
            return event.closer
        case SocketAccepted():
            return "server"


def was_refused_by_policy(exchange: Exchange) -> bool:
    """Say whether the browser kept an answer of another origin from a page, which it will do again.

    Whatever is subject to CORS says its origin: https://fetch.spec.whatwg.org/#origin-header.
    """
    return exchange.failure == BLOCKED_BY_POLICY and _crosses(exchange)


def denied(exchange: Exchange, response: RecordedResponse) -> HeaderPairs:
    """Return what keeps an answer of another origin from scripts, where it does not say that it allows any.

    Playwright would add that it allows all.
    """
    says = any(name.lower() == _ALLOWED for name, _ in response.headers)
    return () if says or not _crosses(exchange) else allowing_nobody(exchange)


def allowing_nobody(exchange: Exchange) -> HeaderPairs:
    """Return the header of an answer that its page may not read."""
    return ((_ALLOWED, "null" if _origin(exchange) != "null" else NOBODY),)


def _crosses(exchange: Exchange) -> bool:
    """Say whether something asked another origin than its own."""
    origin, theirs = _origin(exchange), urlsplit(exchange.request.url)
    own = f"{theirs.scheme}://{theirs.netloc.rpartition('@')[2]}"
    return origin not in {"", own} and not exchange.request.is_navigation


def _origin(exchange: Exchange) -> str:
    return next((value for name, value in exchange.request.headers if name.lower() == "origin"), "")


def leading_to(target: str) -> bytes:
    """Build a document that goes on to another address, and is not at rest until it has."""
    address = json.dumps(target).replace("<", "\\u003c")
    script = f"(window.__eikon__ ??= {{}}).leaving = true; location.replace({address})"
    return f"<!doctype html><script>{script}</script>".encode()


def served_headers(headers: HeaderPairs, method: str) -> dict[str, str]:
    """Join headers of one name: cookies by a line break, as Playwright wants them, others by a comma."""
    served: dict[str, str] = {}
    for name, value in headers:
        lower = name.lower()
        if lower in DROPPED and not (method == "HEAD" and lower == "content-length"):
            continue
        separator = "\n" if lower == "set-cookie" else ", "
        served[lower] = f"{served[lower]}{separator}{value}" if lower in served else value
    return served
