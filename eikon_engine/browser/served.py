"""Turn recorded exchanges back into responses."""

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

TRANSPORT_HEADERS: Final = frozenset(
    {"content-encoding", "content-length", "transfer-encoding", "connection", "keep-alive"}
)
"""Response headers about the transport, which a served response does not have."""
CORS_FAILURE: Final = "net::ERR_FAILED"
"""Chromium's error for a response that CORS withholds from the page."""
_ALLOW_ORIGIN: Final = "access-control-allow-origin"
NO_ORIGIN: Final = "https://nobody.invalid"
"""An origin that no page has, not even an opaque one."""


def delivery_moments(recording: NetworkRecording) -> Iterator[Moment]:
    """Yield every moment at which something is delivered: responses, streamed pieces, socket messages."""
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


def delivery_orders(exchanges: Iterable[Exchange]) -> Iterator[int]:
    """Yield the orders of everything that exchanges delivered."""
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


def was_blocked_by_cors(exchange: Exchange) -> bool:
    """Whether the browser withheld a cross-origin response from a page, as it will again.

    Requests subject to CORS send their origin: https://fetch.spec.whatwg.org/#origin-header.
    """
    return exchange.failure == CORS_FAILURE and _is_cross_origin(exchange)


def cors_denial_headers(exchange: Exchange, response: RecordedResponse) -> HeaderPairs:
    """Return the header that withholds a cross-origin response from scripts, if the response allows no origin.

    Playwright would otherwise add a header that allows all origins.
    """
    says = any(name.lower() == _ALLOW_ORIGIN for name, _ in response.headers)
    return () if says or not _is_cross_origin(exchange) else cors_denial(exchange)


def cors_denial(exchange: Exchange) -> HeaderPairs:
    """Return the header of a response that its page may not read."""
    return ((_ALLOW_ORIGIN, "null" if _origin(exchange) != "null" else NO_ORIGIN),)


def _is_cross_origin(exchange: Exchange) -> bool:
    """Whether a request was cross-origin."""
    origin, theirs = _origin(exchange), urlsplit(exchange.request.url)
    own = f"{theirs.scheme}://{theirs.netloc.rpartition('@')[2]}"
    return origin not in {"", own} and not exchange.request.is_navigation


def _origin(exchange: Exchange) -> str:
    return next((value for name, value in exchange.request.headers if name.lower() == "origin"), "")


def redirect_document(target: str) -> bytes:
    """Build a document that redirects to another URL, and is not idle until it has."""
    address = json.dumps(target).replace("<", "\\u003c")
    script = f"(window.__eikon__ ??= {{}}).leaving = true; location.replace({address})"
    return f"<!doctype html><script>{script}</script>".encode()


def served_headers(headers: HeaderPairs, method: str) -> dict[str, str]:
    """Join headers of the same name: cookies by a line break, as Playwright expects, others by a comma."""
    served: dict[str, str] = {}
    for name, value in headers:
        lower = name.lower()
        if lower in TRANSPORT_HEADERS and not (method == "HEAD" and lower == "content-length"):
            continue
        separator = "\n" if lower == "set-cookie" else ", "
        served[lower] = f"{served[lower]}{separator}{value}" if lower in served else value
    return served
