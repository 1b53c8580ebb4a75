"""Requests whose answers depend on what came before, or on more than the URL."""

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
    """Keep a note: PUT replaces, PATCH appends, DELETE forgets, GET shows."""
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
    """Answer three queries on one URL; the mutation changes what the second one answers."""
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
    """Be done when asked for the fourth time."""
    number = state_of(request).count("poll")
    return web.json_response({"number": number, "state": "done" if number >= _DONE_AT else "pending"})


@ROUTES.get("/fresh")
async def fresh(request: web.Request) -> web.Response:
    """Count, whatever the query says."""
    return web.Response(text=f"fresh {state_of(request).count('fresh')}")


@ROUTES.get("/negotiated")
async def negotiated(request: web.Request) -> web.Response:
    """Answer what the page accepts."""
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
    """Answer after the number of milliseconds that the query asks for."""
    await asyncio.sleep(int(request.query["ms"]) / 1000)
    return web.Response(text=f"{request.match_info['name']} of {state_of(request).count('delayed')}")


@ROUTES.route("*", "/broken")
async def broken(request: web.Request) -> web.Response:
    """Close the connection without an answer."""
    if request.transport is not None:
        request.transport.close()
    return web.Response()


@ROUTES.get("/never")
async def never(_request: web.Request) -> web.Response:
    """Never answer."""
    await asyncio.Event().wait()
    return web.Response()


@ROUTES.get("/nothing")
async def nothing(_request: web.Request) -> web.Response:
    """Have nothing to say."""
    return web.Response(status=204, headers={"X-Torture": "empty"})


@ROUTES.get("/tagged")
async def tagged(request: web.Request) -> web.Response:
    """Tell the version, or that it has not changed."""
    version = f'"v{state_of(request).counts["version"] + 1}"'
    if request.headers.get("If-None-Match") == version:
        return web.Response(status=304, headers={"ETag": version})
    return web.Response(text=f"content of {version}", headers={"ETag": version})


@ROUTES.post("/tagged")
async def change_tagged(request: web.Request) -> web.Response:
    """Change the version."""
    return web.Response(text=f"changed {state_of(request).count('version')}")


@ROUTES.options("/cors/open")
async def preflight(request: web.Request) -> web.Response:
    """Allow what the page is about to do."""
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
    """Answer pages of other origins, with one header that they may see and one that they may not."""
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
    """Answer, but not to pages of other origins."""
    return web.Response(text="not for you")


@ROUTES.post("/arrive/{name}")
async def arrive(request: web.Request) -> web.Response:
    """Remember what was sent on a road without answer."""
    state_of(request).arrive(request.match_info["name"], await request.text())
    return web.Response(status=204)


@ROUTES.get("/arrived/{name}")
async def arrived(request: web.Request) -> web.Response:
    """Show what came, once something has come."""
    state, name = state_of(request), request.match_info["name"]
    await asyncio.wait_for(state.arrival[name].wait(), _PATIENCE)
    return web.Response(text=" | ".join(state.arrived[name]))
