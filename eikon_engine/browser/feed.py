"""Give a recorded body piece by piece, each at its moment."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from playwright.async_api import Request

    from eikon_engine.browser.schedule import Schedule
    from eikon_engine.network.exchange import Exchange, HeaderPairs

STREAM_HEADER: Final = "x-eikon-stream"
"""Names the stream that is fed in place of a body; init_streams.js takes it away again."""
REDIRECTED_HEADER: Final = "x-eikon-redirected"
"""Names where redirects led that were taken out; init_streams.js tells scripts, and takes the header away."""
_EXPOSE: Final = "access-control-expose-headers"
_FEED: Final = "([name, data, ends]) => window.__eikon__.feed(name, data, ends)"


def with_own_header(headers: HeaderPairs, name: str, value: str) -> HeaderPairs:
    """Add a header of ours, in a way that scripts of another origin may read too."""
    return (*headers, (name, value), (_EXPOSE, name))


async def feed(schedule: Schedule, request: Request, exchange: Exchange, body: bytes) -> None:
    """Feed the pieces after the headers; an exchange that never ended in the recording is left open."""
    from playwright.async_api import Error

    name, place = str(exchange.ordinal), 0
    gone = False

    async def give(data: bytes, ends: str) -> bool:
        try:
            await request.frame.evaluate(_FEED, [name, base64.b64encode(data).decode(), ends])
        except Error:
            return True  # the page went away
        return gone

    for piece in exchange.pieces[1:]:
        async with schedule.turn(piece.moment):
            gone = gone or await give(body[place : place + piece.length], "")
            place += piece.length
    if exchange.moment is not None:
        async with schedule.turn(exchange.moment):
            if not gone:
                await give(b"", "end" if exchange.failure is None else "failure")
