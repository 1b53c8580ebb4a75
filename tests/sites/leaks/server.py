"""Run the page that tries to get out, and what counts it."""

from __future__ import annotations

import json
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from aiohttp import web

from tests.sites.async_loopback import HOST, hide_the_server, running_application
from tests.sites.leaks.classes import CLASSES
from tests.sites.leaks.counting import Contacts, Counting

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

ROUTES = web.RouteTableDef()
COUNTING = web.AppKey("counting", Counting)
_STATIC = Path(__file__).parent / "static"
_EMPTY = '<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">'


class LeakSite:
    """A site whose page tries to get out: its address, and what got out."""

    def __init__(self, port: int, counting: Counting) -> None:
        self._port = port
        self._counting = counting

    @property
    def url(self) -> str:
        """Tell the address without a slash at its end; its page tries to reach the ports that count."""
        return f"http://{HOST}:{self._port}"

    def url_towards(self, authority: str) -> str:
        """Tell the address of the page that tries to reach one host and port instead, e.g. ``leak.invalid:80``."""
        return f"{self.url}/?towards={authority}"

    @property
    def contacts(self) -> dict[str, Contacts]:
        """Tell what came, by class."""
        return self._counting.contacts

    @property
    def escaped(self) -> tuple[str, ...]:
        """Name the classes that got out, in the order of the table."""
        return tuple(leak.name for leak in CLASSES if self.contacts[leak.name].total)

    def forget(self) -> None:
        """Count from zero again."""
        for name in self.contacts:
            contacts = self.contacts[name]
            contacts.connections = contacts.datagrams = 0
            contacts.requests.clear()

    def describe(self) -> str:
        """List what came, one class a line."""
        lines = (
            f"{name}: {found.connections} connections, {found.datagrams} datagrams, {len(found.requests)} requests"
            for name, found in self.contacts.items()
        )
        return "\n".join(lines)


def _target(request: web.Request, name: str) -> str:
    return request.query.get("towards") or f"{HOST}:{request.app[COUNTING].ports[name]}"


@ROUTES.get("/")
async def page(request: web.Request) -> web.Response:
    """Show a button for each way out."""
    ways = {leak.name: {"script": leak.script, "authority": _target(request, leak.name)} for leak in CLASSES}
    buttons = "".join(
        f'<p><button id="leak-{name}">{name}</button> <output id="leak-{name}-result"></output></p>\n' for name in ways
    )
    data = json.dumps(ways).replace("<", "\\u003c")
    text = (
        f"{_EMPTY}<title>Leaks</title>\n{buttons}"
        f'<script type="application/json" id="ways">{data}</script><script src="/static/leaks.js"></script>\n'
    )
    return web.Response(text=text, content_type="text/html")


@ROUTES.get("/left")
async def left(_request: web.Request) -> web.Response:
    """Be where somebody goes who leaves."""
    return web.Response(text=f"{_EMPTY}<title>Left</title>", content_type="text/html")


@ROUTES.get("/static/leaks.js")
async def script(_request: web.Request) -> web.Response:
    """Give the script of the page."""
    return web.Response(body=(_STATIC / "leaks.js").read_bytes(), content_type="text/javascript")


@ROUTES.get("/counts")
async def counts(request: web.Request) -> web.Response:
    """List what came."""
    return web.json_response({name: found.total for name, found in request.app[COUNTING].contacts.items()})


@ROUTES.get("/own/{name}/{authority}/{what}")
async def own(request: web.Request) -> web.Response:
    """Give what a way out needs from its own origin; where that is the whole way, it is counted here."""
    name, what = request.match_info["name"], request.match_info["what"]
    if name.endswith("worker-script"):
        request.app[COUNTING].contacts[name].requests.append(f"{request.method} {request.path_qs}")
    to = f"http://{request.match_info['authority']}/x"
    return _HELP[what](to)


def _page(body: str = "", **headers: str) -> web.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return web.Response(text=f"{_EMPTY}{body}", content_type="text/html", headers=named)


def _worker(to: str) -> web.Response:
    text = (_STATIC / "worker.js").read_text(encoding="utf-8").replace("{{TO}}", to)
    return web.Response(text=text, content_type="text/javascript", headers={"Service-Worker-Allowed": "/"})


_HELP: dict[str, Callable[[str], web.Response]] = {
    "worker.js": _worker,
    "redirect": lambda to: web.Response(status=302, headers={"Location": to}),
    "refresh": lambda to: _page(f'<meta http-equiv="refresh" content="0; url={escape(to)}">'),
    "link_header": lambda to: _page(Link=f"<{to}.png>; rel=preload; as=image, <{to}>; rel=preconnect"),
    "fetching": lambda to: _page(f'<script>fetch("{to}", {{ mode: "no-cors" }})</script>'),
    "csp_report": lambda to: _page(
        '<img src="/blocked.png">', Content_Security_Policy=f"img-src 'none'; report-uri {to}"
    ),
    "reporting": lambda to: _page(
        '<img src="/blocked.png">',
        Reporting_Endpoints=f'leak="{to}"',
        Content_Security_Policy="img-src 'none'; report-to leak",
    ),
    "source_map.js": lambda to: web.Response(
        text=f"throw new Error('mapped');\n//# sourceMappingURL={to}.map\n", content_type="text/javascript"
    ),
}


async def _count(application: web.Application) -> AsyncIterator[None]:
    counting = application[COUNTING]
    await counting.start(leak.name for leak in CLASSES)
    yield
    counting.stop()


@contextmanager
def serve_leaks(*, port: int = 0) -> Iterator[LeakSite]:
    """Run the page on loopback, and a counting port for each way out."""
    application = web.Application()
    application[COUNTING] = counting = Counting()
    application.on_response_prepare.append(hide_the_server)
    application.cleanup_ctx.append(_count)
    application.add_routes(ROUTES)
    with running_application(application, (port,)) as ports:
        yield LeakSite(ports[0], counting)
