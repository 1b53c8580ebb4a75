"""Stream a recorded body piece by piece, each at its moment."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from playwright.async_api import Request

    from eikon_engine.browser.schedule import DeliverySchedule
    from eikon_engine.network.exchange import Exchange, HeaderPairs

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

    async def give(data: bytes, ends: str) -> bool:
        try:
            await request.frame.evaluate(_FEED_STREAM, [name, base64.b64encode(data).decode(), ends])
        except Error:
            return True  # the page is gone
        return gone

    for piece in exchange.pieces[1:]:
        async with schedule.in_turn(piece.moment):
            gone = gone or await give(body[place : place + piece.length], "")
            place += piece.length
    if exchange.moment is not None:
        async with schedule.in_turn(exchange.moment):
            if not gone:
                await give(b"", "end" if exchange.failure is None else "failure")
