"""Turn recorded exchanges back into responses: headers, cookie lifetimes, bodies in pieces."""

from __future__ import annotations

import base64
import json
import re
from email.utils import mktime_tz, parsedate_tz
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import urldefrag

from eikon_engine.files.origins import split_url
from eikon_engine.network.exchange import FETCH_TYPES
from eikon_engine.network.websocket import SocketAccepted, SocketClosed, SocketMessage, SocketOpened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from playwright.async_api import Request

    from eikon_engine.browser.traffic.schedule import DeliverySchedule
    from eikon_engine.network.exchange import Exchange, HeaderPairs, Moment, RecordedResponse
    from eikon_engine.network.store import NetworkRecording

TRANSPORT_HEADERS: Final = frozenset({"content-encoding", "content-length"})
"""Response headers about the bytes that were sent, which a served response does not have: its body is decoded."""
CORS_FAILURE: Final = "net::ERR_FAILED"
"""Chromium's error for a response that CORS withholds from the page."""
_ALLOW_ORIGIN: Final = "access-control-allow-origin"
NO_ORIGIN: Final = "https://no-origin.invalid"
"""An origin that no page has, not even an opaque one."""


def find_status_texts(exchanges: Iterable[Exchange]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the reason phrases of fetched responses that are not the standard one of their status.

    First by status and URL, if it always was the same, then the origins all of whose responses have none, as with
    HTTP/2.
    """
    texts: dict[str, set[str]] = {}
    silent: dict[str, bool] = {}
    for each in exchanges:
        response = each.response
        if response is None or each.request.resource_type not in FETCH_TYPES:
            continue
        scheme, host, *_ = split_url(response.url)
        origin = f"{scheme}://{host}"
        silent[origin] = silent.get(origin, True) and not response.status_text
        key = f"{response.status} {urldefrag(response.url).url}"
        texts.setdefault(key, set()).add(response.status_text)
    known = {key: min(each) for key, each in texts.items() if len(each) == 1 and each != {""}}
    return (
        {key: text for key, text in known.items() if _differs_from_standard(int(key[:3]), text)},
        tuple(origin for origin, is_silent in silent.items() if is_silent),
    )


def _differs_from_standard(status: int, text: str) -> bool:
    """Return whether a reason phrase is another one than a served response has; those of errors have several names."""
    try:
        return status >= HTTPStatus.BAD_REQUEST or text != HTTPStatus(status).phrase
    except ValueError:
        return True


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
    has_header = any(name.lower() == _ALLOW_ORIGIN for name, _ in response.headers)
    return () if has_header or not _is_cross_origin(exchange) else cors_denial(exchange)


def cors_denial(exchange: Exchange) -> HeaderPairs:
    """Return the header of a response that its page may not read."""
    return ((_ALLOW_ORIGIN, "null" if _origin(exchange) != "null" else NO_ORIGIN),)


def _is_cross_origin(exchange: Exchange) -> bool:
    """Whether a request was cross-origin."""
    origin, theirs = _origin(exchange), split_url(exchange.request.url)
    own = f"{theirs.scheme}://{theirs.netloc.rpartition('@')[2]}"
    return origin not in {"", own} and not exchange.request.is_navigation


def _origin(exchange: Exchange) -> str:
    return next((value for name, value in exchange.request.headers if name.lower() == "origin"), "")


def detour_of(source: str, target: str) -> str | None:
    """Return a URL to show before a redirect from `source` to a fragment of the same URL; None for other redirects.

    Without it, the redirect would only scroll the document that was to be replaced.
    """
    url, mark, _ = target.partition("#")
    if not mark or urldefrag(source).url != url:
        return None
    return f"{url}{'&' if '?' in url else '?'}eikon-redirect"


def redirect_document(target: str, detour: str | None = None) -> bytes:
    """Build a document that redirects to another URL, from `detour` if given, and is not idle until it has."""
    address, place = (json.dumps(each).replace("<", "\\u003c") for each in (target, detour))
    leave = f"(window.__eikon__ ??= {{}}).leaving = true; location.replace({address})"
    script = leave if detour is None else f"history.replaceState(null, '', {place}); {leave}"
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


STREAM_HEADER: Final = "x-eikon-stream"
"""Names the stream that replaces the body; removed by init_streams.js."""
REDIRECTED_HEADER: Final = "x-eikon-redirected"
"""The final URL of redirects that were not replayed; init_streams.js shows it to scripts, and removes the header."""
_EXPOSE_HEADERS: Final = "access-control-expose-headers"
_FEED_STREAM: Final = "([name, data, ends]) => window.__eikon__.feed(name, data, ends)"


def with_engine_header(headers: HeaderPairs, name: str, value: str) -> HeaderPairs:
    """Add a header of ours that cross-origin scripts may read."""
    return (*headers, (name, value), (_EXPOSE_HEADERS, name))


async def stream_body(schedule: DeliverySchedule, request: Request, exchange: Exchange, body: bytes) -> None:
    """Stream the pieces after the headers; an exchange that never ended in the recording stays open."""
    from playwright.async_api import Error

    name, place = str(exchange.ordinal), 0
    gone = False

    async def deliver(data: bytes, ends: str) -> bool:
        try:
            await request.frame.evaluate(_FEED_STREAM, [name, base64.b64encode(data).decode(), ends])
        except Error:
            return True  # the page is gone
        return gone

    for piece in exchange.pieces[1:]:
        async with schedule.in_turn(piece.moment):
            gone = gone or await deliver(body[place : place + piece.length], "")
            place += piece.length
    if exchange.moment is not None:
        async with schedule.in_turn(exchange.moment, ends_body_of=request):
            if not gone:
                await deliver(b"", "end" if exchange.failure is None else "failure")


SET_COOKIE: Final = "set-cookie"
COOKIE_HEADERS: Final = frozenset({SET_COOKIE, "clear-site-data"})
"""Response headers that change cookies."""
_EXPIRES: Final = re.compile(r";\s*expires\s*=\s*([^;]*)", re.IGNORECASE)
_MAX_AGE: Final = re.compile(r";\s*max-age\s*=", re.IGNORECASE)


def with_relative_lifetimes(headers: HeaderPairs, now_s: float) -> HeaderPairs:
    """Replace the expiry date of cookies by a duration: the browser would compare the date with its own clock.

    The duration counts from the response's `Date`, or from `now_s`, Unix time in seconds of the page clock. A cookie
    with `Max-Age`, or with an unreadable date, stays as it is.
    """
    dates = (_parse_date(value) for name, value in headers if name.lower() == "date")
    since = next((each for each in dates if each is not None), now_s)
    return tuple(
        (
            name,
            "\n".join(_with_max_age(line, since) for line in value.split("\n"))
            if name.lower() == SET_COOKIE
            else value,
        )
        for name, value in headers
    )


def redirect_cookies(exchange: Exchange, now_s: float) -> Iterator[tuple[str, str]]:
    """Yield the cookies that redirects set, before the final response."""
    for hop in exchange.hops:
        yield from (pair for pair in with_relative_lifetimes(hop.headers, now_s) if pair[0].lower() == SET_COOKIE)


def _with_max_age(cookie: str, since: float) -> str:
    found = _EXPIRES.search(cookie)
    until = _parse_date(found[1].strip()) if found is not None and not _MAX_AGE.search(cookie) else None
    if found is None or until is None:
        return cookie
    return f"{cookie[: found.start()]}; Max-Age={max(0, round(until - since))}{cookie[found.end() :]}"


def _parse_date(date: str) -> float | None:
    """Parse a date of RFC 9110, section 5.6.7, or of the older cookie formats; None if it is neither."""
    parts = parsedate_tz(date)
    try:
        return None if parts is None else float(mktime_tz(parts))
    except (OverflowError, ValueError):
        return None
