"""Run the control room: a board for logged-in users, filled by an API, a WebSocket and an event stream."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from aiohttp import WSMsgType, web

from tests.sites.async_loopback import HOST, hide_the_server, running_application
from tests.sites.static import content_type

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

ROUTES = web.RouteTableDef()
STATIC = Path(__file__).resolve().parent / "static"
COOKIE, SESSION = "session", "5f1d"
ORDERS = (
    {"id": 11, "customer": "Ada Lovelace", "parcels": 3, "price": 12.5, "state": "waiting"},
    {"id": 12, "customer": "Alan Turing", "parcels": 17, "price": 80, "state": "waiting"},
    {"id": 13, "customer": "Grace Hopper", "parcels": 24, "price": 99.9, "state": "on the way"},
    {"id": 14, "customer": "Kurt Gödel", "parcels": 41, "price": 64, "state": "waiting"},
)
FEED = (b'data: {"text": "Van 3 is late"}\n\n', b'data: {"text": "Van 7 is back"}\n\n')


def _file(name: str) -> web.Response:
    return web.Response(body=(STATIC / name).read_bytes(), headers={"Content-Type": content_type(name)})


@web.middleware
async def _demand_login(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Without a session, redirect pages to the login and reject all other requests."""
    is_public = request.path == "/login" or request.path.startswith("/static/")
    if is_public or request.cookies.get(COOKIE) == SESSION:
        return await handler(request)
    if request.path.startswith("/api/"):
        return web.json_response({"error": "log in"}, status=401)
    return web.Response(status=302, headers={"Location": f"/login?next={request.path}"})


@ROUTES.get("/login")
async def show_login(_request: web.Request) -> web.Response:
    """Show the login form with name and code."""
    return _file("login.html")


@ROUTES.post("/login")
async def log_in(request: web.Request) -> web.Response:
    """Log in any user who enters a name."""
    form = await request.post()
    if not form.get("name"):
        return web.Response(status=302, headers={"Location": "/login"})
    response = web.Response(status=302, headers={"Location": "/board"})
    response.set_cookie(COOKIE, SESSION, httponly=True)
    return response


@ROUTES.get("/static/{name}")
async def send_static(request: web.Request) -> web.Response:
    """Serve a script, a style sheet or a picture."""
    return _file(Path(request.match_info["name"]).name)


@ROUTES.get("/board")
async def show_board(_request: web.Request) -> web.Response:
    """Show the board before it is filled."""
    return _file("board.html")


@ROUTES.get("/order/{number}")
async def show_order(request: web.Request) -> web.Response:
    """Show one order."""
    order = next(each for each in ORDERS if str(each["id"]) == request.match_info["number"])
    page = (STATIC / "order.html").read_text(encoding="utf-8")
    for name, value in order.items():
        page = page.replace(f"{{{name}}}", str(value))
    return web.Response(text=page, content_type="text/html")


@ROUTES.get("/api/orders")
async def list_orders(_request: web.Request) -> web.Response:
    """Return all orders."""
    return web.json_response({"orders": ORDERS, "total": sum(each["parcels"] for each in ORDERS)})


@ROUTES.post("/api/orders/{number}/ship")
async def ship(request: web.Request) -> web.Response:
    """Ship an order."""
    return web.json_response({"id": int(request.match_info["number"]), "state": "shipped", "by": "Van 7"})


@ROUTES.put("/api/note")
async def keep_note(request: web.Request) -> web.Response:
    """Store a note."""
    return web.json_response({"kept": (await request.json())["text"]})


@ROUTES.post("/api/log")
async def keep_log(_request: web.Request) -> web.Response:
    """Store a line of the log."""
    return web.json_response({"line": 1})


@ROUTES.get("/report.csv")
async def send_report(_request: web.Request) -> web.Response:
    """Return the orders as a CSV download."""
    lines = "\n".join(f"{each['id']},{each['customer']},{each['parcels']}" for each in ORDERS)
    headers = {"Content-Disposition": 'attachment; filename="report.csv"', "Content-Type": "text/csv; charset=utf-8"}
    return web.Response(body=f"id,customer,parcels\n{lines}\n".encode(), headers=headers)


@ROUTES.get("/feed")
async def send_feed(request: web.Request) -> web.StreamResponse:
    """Send delivery updates as server-sent events, and keep the stream open."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for event in FEED:
        await response.write(event)
        await asyncio.sleep(0.03)
    await asyncio.Event().wait()
    return response


@ROUTES.get("/live")
async def live(request: web.Request) -> web.WebSocketResponse:
    """Send the rate of a parcel and answer questions over a WebSocket."""
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    await socket.send_str(json.dumps({"rate": "4.25"}))
    async for message in socket:
        if message.type is WSMsgType.TEXT:
            asked = json.loads(message.data)["ask"]
            await socket.send_str(json.dumps({"answer": f"{asked}: 12 parcels ahead"}))
    return socket


@contextmanager
def serve_dispatch(*, port: int = 0) -> Iterator[str]:
    """Run the site on loopback; yields the base URL without a trailing slash."""
    application = web.Application(middlewares=[_demand_login])
    application.on_response_prepare.append(hide_the_server)
    application.add_routes(ROUTES)
    with running_application(application, (port,)) as ports:
        yield f"http://{HOST}:{ports[0]}"
