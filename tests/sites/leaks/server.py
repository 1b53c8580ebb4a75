"""Run the leak page and its counting ports."""

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
    """A site whose page tries to leak requests: its address, and the counted contacts."""

    def __init__(self, port: int, counting: Counting) -> None:
        self._port = port
        self._counting = counting

    @property
    def url(self) -> str:
        """Return the base URL without a trailing slash; its page tries to reach the counting ports."""
        return f"http://{HOST}:{self._port}"

    def url_towards(self, authority: str) -> str:
        """Return the URL of the page that tries to reach the given host and port instead, e.g. ``leak.invalid:80``."""
        return f"{self.url}/?towards={authority}"

    @property
    def contacts(self) -> dict[str, Contacts]:
        """Return the contacts by leak class."""
        return self._counting.contacts

    @property
    def escaped(self) -> tuple[str, ...]:
        """Return the leak classes with contacts, in the order of the table."""
        return tuple(leak.name for leak in CLASSES if self.contacts[leak.name].total)

    def forget(self) -> None:
        """Reset all counts."""
        for name in self.contacts:
            contacts = self.contacts[name]
            contacts.connections = contacts.datagrams = 0
            contacts.requests.clear()

    def describe(self) -> str:
        """Return the contacts as text, one class per line."""
        lines = (
            f"{name}: {found.connections} connections, {found.datagrams} datagrams, {len(found.requests)} requests"
            for name, found in self.contacts.items()
        )
        return "\n".join(lines)


def _target(request: web.Request, name: str) -> str:
    return request.query.get("towards") or f"{HOST}:{request.app[COUNTING].ports[name]}"


@ROUTES.get("/")
async def page(request: web.Request) -> web.Response:
    """Show a button for each leak class."""
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
    """Serve the page to which the browser navigates away."""
    return web.Response(text=f"{_EMPTY}<title>Left</title>", content_type="text/html")


@ROUTES.get("/static/leaks.js")
async def script(_request: web.Request) -> web.Response:
    """Serve the script of the page."""
    return web.Response(body=(_STATIC / "leaks.js").read_bytes(), content_type="text/javascript")


@ROUTES.get("/counts")
async def counts(request: web.Request) -> web.Response:
    """Return the counted contacts as JSON."""
    return web.json_response({name: found.total for name, found in request.app[COUNTING].contacts.items()})


@ROUTES.get("/own/{name}/{authority}/{what}")
async def own(request: web.Request) -> web.Response:
    """Serve what a leak class needs from its own origin; if that request is the leak, count it here."""
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
    """Run the page on loopback, with a counting port for each leak class."""
    application = web.Application()
    application[COUNTING] = counting = Counting()
    application.on_response_prepare.append(hide_the_server)
    application.cleanup_ctx.append(_count)
    application.add_routes(ROUTES)
    with running_application(application, (port,)) as ports:
        yield LeakSite(ports[0], counting)
