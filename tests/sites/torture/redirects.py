"""Redirects of documents, forms, fetches and images, and cookies set by them."""

from __future__ import annotations

from aiohttp import web

from tests.sites.torture.documents import landing
from tests.sites.torture.state import state_of

ROUTES = web.RouteTableDef()


def _to(status: int, location: str) -> web.Response:
    return web.Response(status=status, headers={"Location": location})


@ROUTES.get("/redirect/document/{hop}")
async def document(request: web.Request) -> web.Response:
    """Redirect over two hops to a page."""
    hop = int(request.match_info["hop"])
    state_of(request).count("hops")
    return _to(302, "/redirect/landed" if hop > 1 else f"/redirect/document/{hop + 1}")


@ROUTES.get("/redirect/landed")
async def landed(request: web.Request) -> web.Response:
    """Show the number of redirects."""
    return landing("redirect-document", f"landed after {state_of(request).counts['hops']} hops")


@ROUTES.post("/redirect/fetch")
async def fetch(_request: web.Request) -> web.Response:
    """Redirect with 307, which keeps method and body."""
    return _to(307, "/redirect/target")


@ROUTES.post("/redirect/target")
async def target(request: web.Request) -> web.Response:
    """Return the method and body that arrived after the redirect."""
    return web.Response(text=f"{request.method} {await request.text()}")


@ROUTES.get("/redirect/image")
async def image(_request: web.Request) -> web.Response:
    """Redirect permanently: 301."""
    return _to(301, "/image/3x2.png")


@ROUTES.post("/redirect/form")
async def form(request: web.Request) -> web.Response:
    """Store the form and redirect to a page: 303."""
    fields = await request.post()
    state_of(request).notes["form"] = ", ".join(f"{name}={value!s}" for name, value in fields.items())
    return _to(303, "/redirect/thanks")


@ROUTES.get("/redirect/thanks")
async def thanks(request: web.Request) -> web.Response:
    """Show what the form sent."""
    return landing("redirect-post", f"thanks for {state_of(request).notes.get('form', 'nothing')}")


@ROUTES.get("/redirect/cookie")
async def cookie(_request: web.Request) -> web.Response:
    """Set a cookie and redirect to the page that shows it."""
    response = _to(302, "/cookies/seen")
    response.headers.add("Set-Cookie", "on_the_way=yes; Path=/")
    response.headers.add("Set-Cookie", "hidden_way=yes; Path=/; HttpOnly")
    return response


@ROUTES.get("/cookies/set")
async def set_cookies(request: web.Request) -> web.Response:
    """Set four cookies with one response."""
    response = web.Response(text="four cookies")
    number = state_of(request).count("cookies")
    for line in (
        f"first={number}; Path=/",
        "second=b=c; Path=/; SameSite=Lax",
        "third=with, comma; Path=/; Expires=Fri, 01 Jan 2100 00:00:00 GMT",
        "secret=s; Path=/; HttpOnly",
    ):
        response.headers.add("Set-Cookie", line)
    return response


@ROUTES.get("/cookies/seen")
async def seen(request: web.Request) -> web.Response:
    """Show the received cookies, sorted by name."""
    crumbs = sorted(crumb.strip() for crumb in request.headers.get("Cookie", "").split(";"))
    return web.Response(text="; ".join(crumbs))
