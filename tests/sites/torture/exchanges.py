"""Requests whose answers depend on earlier requests, or on more than the URL."""

from __future__ import annotations

import asyncio
import json

from aiohttp import web

from tests.sites.torture.state import state_of

ROUTES = web.RouteTableDef()
_DONE_AT = 4
_PATIENCE = 5.0


@ROUTES.route("*", "/notes/{note}")
async def notes(request: web.Request) -> web.Response:
    """Store a note: PUT replaces, PATCH appends, DELETE removes, GET returns it."""
    kept, name = state_of(request).notes, f"note {request.match_info['note']}"
    if request.method == "PUT":
        kept[name] = await request.text()
    elif request.method == "PATCH":
        kept[name] = kept.get(name, "") + await request.text()
    elif request.method == "DELETE":
        return web.Response(text=f"deleted {kept.pop(name, 'nothing')}")
    if name not in kept:
        return web.Response(status=404, text="no such note")
    return web.Response(text=kept[name])


@ROUTES.post("/graphql")
async def graphql(request: web.Request) -> web.Response:
    """Answer three queries on one URL; the mutation changes the answer of the second one."""
    state, asked = state_of(request), json.loads(await request.text())
    match asked["operationName"]:
        case "Viewer":
            data: dict[str, object] = {"viewer": {"name": "ada"}}
        case "Add":
            state.counts["cart"] += int(asked["variables"]["count"])
            data = {"add": {"total": state.counts["cart"]}}
        case _:
            data = {"cart": {"total": state.counts["cart"]}}
    return web.json_response({"data": data})


@ROUTES.get("/poll")
async def poll(request: web.Request) -> web.Response:
    """Answer "done" at the fourth request."""
    number = state_of(request).count("poll")
    return web.json_response({"number": number, "state": "done" if number >= _DONE_AT else "pending"})


@ROUTES.get("/fresh")
async def fresh(request: web.Request) -> web.Response:
    """Count requests, whatever their query is."""
    return web.Response(text=f"fresh {state_of(request).count('fresh')}")


@ROUTES.get("/negotiated")
async def negotiated(request: web.Request) -> web.Response:
    """Answer in the content type that the page accepts."""
    match request.headers.get("Accept"):
        case "application/json":
            answer = web.json_response({"kind": "json"})
        case "text/html":
            answer = web.Response(text="<p>html</p>", content_type="text/html")
        case _:
            answer = web.Response(text="plain text")
    answer.headers["Vary"] = "Accept"
    return answer


@ROUTES.get("/delayed/{name}")
async def delayed(request: web.Request) -> web.Response:
    """Answer after the number of milliseconds in the query."""
    await asyncio.sleep(int(request.query["ms"]) / 1000)
    return web.Response(text=f"{request.match_info['name']} of {state_of(request).count('delayed')}")


@ROUTES.route("*", "/broken")
async def broken(request: web.Request) -> web.Response:
    """Close the connection without a response."""
    if request.transport is not None:
        request.transport.close()
    return web.Response()


@ROUTES.get("/never")
async def never(_request: web.Request) -> web.Response:
    """Never send a response."""
    await asyncio.Event().wait()
    return web.Response()


@ROUTES.get("/nothing")
async def nothing(_request: web.Request) -> web.Response:
    """Return an empty response."""
    return web.Response(status=204, headers={"X-Torture": "empty"})


@ROUTES.get("/tagged")
async def tagged(request: web.Request) -> web.Response:
    """Return the version, or 304 if it has not changed."""
    version = f'"v{state_of(request).counts["version"] + 1}"'
    if request.headers.get("If-None-Match") == version:
        return web.Response(status=304, headers={"ETag": version})
    return web.Response(text=f"content of {version}", headers={"ETag": version})


@ROUTES.post("/tagged")
async def change_tagged(request: web.Request) -> web.Response:
    """Increment the version."""
    return web.Response(text=f"changed {state_of(request).count('version')}")


@ROUTES.options("/cors/open")
async def preflight(request: web.Request) -> web.Response:
    """Answer the CORS preflight request."""
    state_of(request).count("preflight")
    return web.Response(
        status=204,
        headers={
            "Access-Control-Allow-Origin": request.headers.get("Origin", "*"),
            "Access-Control-Allow-Methods": "GET, PUT",
            "Access-Control-Allow-Headers": "x-torture, content-type",
            "Access-Control-Max-Age": "0",
        },
    )


@ROUTES.route("*", "/cors/open")
async def cors_open(request: web.Request) -> web.Response:
    """Answer pages of other origins, with one header that they may read and one that they may not."""
    return web.Response(
        text=f"{request.method} {request.headers.get('X-Torture', 'no header')} {await request.text()}".strip(),
        headers={
            "Access-Control-Allow-Origin": request.headers.get("Origin", "*"),
            "Access-Control-Expose-Headers": "X-Seen",
            "X-Seen": "seen",
            "X-Unseen": "unseen",
        },
    )


@ROUTES.get("/cors/closed")
async def cors_closed(_request: web.Request) -> web.Response:
    """Answer without CORS headers, so that pages of other origins cannot read it."""
    return web.Response(text="not for you")


@ROUTES.post("/arrive/{name}")
async def arrive(request: web.Request) -> web.Response:
    """Store what was sent without expecting a response."""
    state_of(request).arrive(request.match_info["name"], await request.text())
    return web.Response(status=204)


@ROUTES.get("/arrived/{name}")
async def arrived(request: web.Request) -> web.Response:
    """Return what arrived, once something has arrived."""
    state, name = state_of(request), request.match_info["name"]
    await asyncio.wait_for(state.arrival[name].wait(), _PATIENCE)
    return web.Response(text=" | ".join(state.arrived[name]))
