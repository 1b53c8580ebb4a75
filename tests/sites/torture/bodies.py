"""Bodies: binary, encoded, partial, uploaded, downloaded."""

from __future__ import annotations

import gzip
import zlib
from hashlib import sha256

from aiohttp import web

from tests.sites.torture.documents import landing
from tests.sites.torture.state import state_of

ROUTES = web.RouteTableDef()
SIZE = 20_000
BLOB = bytes((7 * index * index + index // 256) % 256 for index in range(SIZE))
"""Content for range requests and downloads."""


@ROUTES.get("/bytes/ranged")
async def ranged(request: web.Request) -> web.Response:
    """Return the requested range."""
    wanted = request.http_range
    if wanted.start is None and wanted.stop is None:
        return web.Response(body=BLOB, headers={"Accept-Ranges": "bytes"})
    first, last, _ = slice(wanted.start, wanted.stop).indices(SIZE)
    return web.Response(
        status=206, body=BLOB[first:last], headers={"Content-Range": f"bytes {first}-{last - 1}/{SIZE}"}
    )


@ROUTES.post("/bytes/inverted")
async def inverted(request: web.Request) -> web.Response:
    """Return the received bytes, each inverted."""
    return web.Response(body=bytes(255 - byte for byte in await request.read()))


@ROUTES.get("/bytes/gzip")
async def zipped(_request: web.Request) -> web.Response:
    """Return text compressed with gzip."""
    return _encoded("gzip", gzip.compress(_long_text(), mtime=0))


@ROUTES.get("/bytes/deflate")
async def deflated(_request: web.Request) -> web.Response:
    """Return text compressed with deflate."""
    return _encoded("deflate", zlib.compress(_long_text()))


def _long_text() -> bytes:
    return "Grüße aus dem Archiv. ".encode() * 200


def _encoded(encoding: str, body: bytes) -> web.Response:
    response = web.Response(
        body=body, headers={"Content-Encoding": encoding, "Content-Type": "text/plain; charset=utf-8"}
    )
    response.headers["X-Encoded-Size"] = str(len(body))
    return response


@ROUTES.route("*", "/bytes/head")
async def head(request: web.Request) -> web.Response:
    """Return headers without a body."""
    return web.Response(body=BLOB[:321], headers={"X-Torture": f"{request.method} {state_of(request).count('head')}"})


@ROUTES.get("/download/blob.bin")
async def download(_request: web.Request) -> web.Response:
    """Return a download."""
    return web.Response(
        body=BLOB,
        headers={"Content-Disposition": 'attachment; filename="torture.bin"', "Content-Type": "application/x-torture"},
    )


async def _describe(request: web.Request) -> str:
    parts = []
    for name, value in (await request.post()).items():
        if isinstance(value, web.FileField):
            content = value.file.read()
            parts.append(f"{name}: {value.filename}, {len(content)} bytes, {sha256(content).hexdigest()[:12]}")
        else:
            parts.append(f"{name}: {value!s}")
    return "; ".join(parts)


@ROUTES.post("/upload/form")
async def upload_form(request: web.Request) -> web.Response:
    """Show what a form uploaded, on a separate page."""
    return landing("upload-form", f"upload {state_of(request).count('upload')}: {await _describe(request)}")


@ROUTES.post("/upload/fetch")
async def upload_fetch(request: web.Request) -> web.Response:
    """Return what a script uploaded."""
    return web.Response(text=f"upload {state_of(request).count('upload')}: {await _describe(request)}")
