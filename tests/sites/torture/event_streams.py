"""Server-sent events and bodies that arrive in pieces."""

from __future__ import annotations

import asyncio
import json

from aiohttp import web

from tests.sites.torture.state import state_of

ROUTES = web.RouteTableDef()
_BETWEEN_CHUNKS = 0.03


async def _stream(request: web.Request, content_type: str) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": content_type})
    await response.prepare(request)
    return response


@ROUTES.get("/sse/messages")
async def messages(request: web.Request) -> web.StreamResponse:
    """Send three messages at once, with ids and names, and keep the stream open."""
    response = await _stream(request, "text/event-stream")
    await response.write(
        b": a comment\n\nid: 1\ndata: plain\n\nid: 2\nevent: price\ndata: 0.25\n\n"
        b"id: 3\nevent: note\ndata: two\ndata: lines\n\n"
    )
    await asyncio.Event().wait()
    return response


@ROUTES.get("/sse/news")
async def news(request: web.Request) -> web.StreamResponse:
    """Send one message, and another one once the page has requested it."""
    state, response = state_of(request), await _stream(request, "text/event-stream")
    await response.write(b"data: waiting for news\n\n")
    await state.news.wait()
    await response.write(b"event: news\ndata: here it is\n\n")
    await asyncio.Event().wait()
    return response


@ROUTES.post("/sse/news")
async def make_news(request: web.Request) -> web.Response:
    """Trigger the other message shortly after the response."""
    asyncio.get_running_loop().call_later(_BETWEEN_CHUNKS, state_of(request).news.set)
    return web.Response(text="made")


@ROUTES.get("/sse/resume")
async def resume(request: web.Request) -> web.StreamResponse:
    """Send two messages and end; continue after the last id when the browser reconnects."""
    last = int(request.headers.get("Last-Event-ID", "0"))
    response = await _stream(request, "text/event-stream")
    text = "".join(f"id: {number}\ndata: message {number} (after {last})\n\n" for number in (last + 1, last + 2))
    await response.write(f"retry: 40\n\n{text}".encode())
    return response


@ROUTES.get("/stream/chunks")
async def chunks(request: web.Request) -> web.StreamResponse:
    """Send five chunks, 30 ms apart; the third and fourth each have half of one character."""
    response = await _stream(request, "text/plain; charset=utf-8")
    for chunk in (b"first|", b"second|", "third ü".encode()[:-1], "ü|".encode()[1:], b"last"):
        await response.write(chunk)
        await asyncio.sleep(_BETWEEN_CHUNKS)
    return response


@ROUTES.get("/stream/ndjson")
async def ndjson(request: web.Request) -> web.StreamResponse:
    """Send one JSON document per line, in chunks that do not end at lines."""
    response = await _stream(request, "application/x-ndjson")
    text = "".join(json.dumps({"row": row, "square": row * row}) + "\n" for row in range(1, 5))
    for start in range(0, len(text), 30):
        await response.write(text[start : start + 30].encode())
        await asyncio.sleep(_BETWEEN_CHUNKS)
    return response
