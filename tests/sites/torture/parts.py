"""Subresources: pictures, fonts, style sheets, scripts and modules, some of them late."""

from __future__ import annotations

import asyncio
import struct
import zlib
from functools import cache
from io import BytesIO

from aiohttp import web
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen

from tests.sites.torture.state import state_of

ROUTES = web.RouteTableDef()
_EM = 1000
BUILT = 3_000_000_000
"""The creation time in the font, in seconds since 1904."""
_ADVANCE = 2000
"""Every letter is two em wide, unlike in any other font."""


def build_png(width: int, height: int) -> bytes:
    """Return a picture of one colour."""
    rows = (b"\x00" + b"\x20\x80\xc0" * width) * height
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    chunks = (
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@cache
def build_font() -> bytes:
    """Return a font whose letters are boxes, with the same bytes every time."""
    names = [".notdef", "box"]
    pen = TTGlyphPen(None)
    for index, corner in enumerate(((0, 0), (0, 700), (1800, 700), (1800, 0))):
        (pen.lineTo if index else pen.moveTo)(corner)
    pen.closePath()
    box = pen.glyph()
    builder = FontBuilder(_EM, isTTF=True)
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap(dict.fromkeys(range(ord("A"), ord("Z") + 1), "box"))
    builder.setupGlyf(dict.fromkeys(names, box))
    builder.setupHorizontalMetrics(dict.fromkeys(names, (_ADVANCE, 0)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Torture", "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.updateHead(created=BUILT, modified=BUILT)
    builder.font.recalcTimestamp = False
    written = BytesIO()
    builder.save(written)
    return written.getvalue()


async def _wait(request: web.Request) -> None:
    await asyncio.sleep(int(request.query.get("ms", "0")) / 1000)


@ROUTES.get("/image/missing.png")
async def missing(_request: web.Request) -> web.Response:
    """Return 404 for a picture."""
    return web.Response(status=404, text="no such picture")


@ROUTES.get(r"/image/{width:\d+}x{height:\d+}.png")
async def image(request: web.Request) -> web.Response:
    """Return a picture of the size in its name, after the milliseconds of the query."""
    await _wait(request)
    state_of(request).arrive(request.query.get("for", "image"), request.path)
    body = build_png(int(request.match_info["width"]), int(request.match_info["height"]))
    return web.Response(body=body, content_type="image/png")


@ROUTES.get("/font/torture.ttf")
async def font(request: web.Request) -> web.Response:
    """Return the font after a delay."""
    await _wait(request)
    return web.Response(body=build_font(), content_type="font/ttf")


@ROUTES.get("/style/{name}.css")
async def style(request: web.Request) -> web.Response:
    """Return a style sheet; one imports the other."""
    await _wait(request)
    text = {
        "outer": '@import "/style/inner.css?ms=30";\n.styled { color: rgb(1, 2, 3); }\n',
        "inner": ".styled { border-left: 7px solid rgb(4, 5, 6); }\n",
        "background": '.pictured { background-image: url("/image/5x4.png?for=background"); }\n',
    }[request.match_info["name"]]
    return web.Response(text=text, content_type="text/css")


@ROUTES.get("/script/{name}.js")
async def script(request: web.Request) -> web.Response:
    """Return a script that reports its name, after a delay."""
    await _wait(request)
    return web.Response(text=f'window.order.push("{request.match_info["name"]}");\n', content_type="text/javascript")


@ROUTES.get("/module/{name}.js")
async def module(request: web.Request) -> web.Response:
    """Return a module that counts how often it was served; ``outer`` imports ``inner``."""
    await _wait(request)
    name = request.match_info["name"]
    number = state_of(request).count(f"module {name}")
    imported = 'import { text as inner } from "/module/inner.js?ms=20";\n' if name == "outer" else 'const inner = "";\n'
    text = f'{imported}export const text = "{name} served {number}" + (inner && " with " + inner);\n'
    return web.Response(text=text, content_type="text/javascript")
