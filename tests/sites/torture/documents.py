"""The documents of the site: one page per topic, targets of forms and redirects, frames, popups, the summary."""

from __future__ import annotations

from html import escape
from pathlib import Path
from string import Template

from aiohttp import web

from tests.sites.torture.items import ITEMS, PAGES, Item
from tests.sites.torture.state import MEMORY, state_of

ROUTES = web.RouteTableDef()
STATIC = Path(__file__).parent / "static"
_TYPES = {".css": "text/css", ".html": "text/html", ".js": "text/javascript"}
_PAGE = Template("""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>$title</title><link rel="icon" href="data:,">
<link rel="stylesheet" href="/static/torture.css"></head>
<body data-other="$other"><nav>$links</nav><main><h1>$title</h1>
$body</main>
<script src="/static/item.js"></script>
$scripts</body></html>
""")


def document(title: str, body: str, *, scripts: tuple[str, ...] = (), other: str = "") -> web.Response:
    """Return a page around a body."""
    links = " ".join(f'<a href="/{page}">{page}</a>' for page in (*PAGES, "summary"))
    loaded = "".join(f'<script src="/static/{name}.js"></script>\n' for name in scripts)
    text = _PAGE.substitute(title=escape(title), other=escape(other), links=links, body=body, scripts=loaded)
    return web.Response(text=text, content_type="text/html")


def section(item: Item) -> str:
    """Return the section of one item: its controls, a button for each step, its result."""
    buttons = "".join(
        f'<button id="{item.name}-{step}" data-step="{step}">{step}</button>' for step in item.steps if step != "link"
    )
    return (
        f'<section id="{item.name}" data-item="{item.name}"><h2>{escape(item.title)}</h2>{item.controls}{buttons}'
        f'<pre id="{item.name}-result" class="result" data-state="idle"></pre></section>\n'
    )


def landing(name: str, text: str) -> web.Response:
    """Return a page that is the result of an item."""
    body = (
        f'<section id="{name}" data-item="{name}">'
        f'<pre id="{name}-result" class="result" data-state="done">{escape(text)}</pre></section>\n'
    )
    return document(name, body)


@ROUTES.get("/")
async def index(_request: web.Request) -> web.Response:
    """Show links to all pages."""
    return document("Torture", "<p>One page a topic.</p>")


@ROUTES.get("/summary")
async def summary(_request: web.Request) -> web.Response:
    """Show the results of all pages that this tab has stored."""
    table = '<table id="summary"><thead><tr><th>item</th><th>result</th></tr></thead><tbody></tbody></table>\n'
    return document("Summary", table, scripts=("summary",))


@ROUTES.get("/{page:(" + "|".join(PAGES) + ")}")
async def page(request: web.Request) -> web.Response:
    """Show the items of a topic."""
    name = request.match_info["page"]
    body = "".join(section(item) for item in ITEMS if item.page == name)
    return document(PAGES[name], body, scripts=(name,), other=request.app[MEMORY].other_origin)


@ROUTES.get("/static/{name}")
async def static(request: web.Request) -> web.Response:
    """Return a file of the folder."""
    found = STATIC / request.match_info["name"]
    if not found.is_file():
        raise web.HTTPNotFound
    return web.Response(body=found.read_bytes(), headers={"Content-Type": f"{_TYPES[found.suffix]}; charset=utf-8"})


@ROUTES.get("/frame/{name}")
async def frame(request: web.Request) -> web.Response:
    """Return a document for a frame or a window; its script reports to the surrounding page."""
    name, number = request.match_info["name"], state_of(request).count("frame")
    text = f"""<!doctype html><meta charset="utf-8"><title>{escape(name)}</title><link rel="icon" href="data:,">
<p id="name">{escape(name)}</p><p id="number">document {number}</p><p id="answer"></p>
<script src="/static/frame.js"></script>
"""
    return web.Response(text=text, content_type="text/html")


@ROUTES.get("/written")
async def written(_request: web.Request) -> web.Response:
    """Return a script that is written into the document while it is parsed."""
    text = """<!doctype html><meta charset="utf-8"><title>written</title><script>window.order = ["before"];</script>
<script>document.write('<script src="/script/written.js?ms=40"><\\/script><p id="after">after</p>');</script>
<script>order.push("inline"); parent.postMessage({ written: order.join(" ") }, "*");</script>
"""
    return web.Response(text=text, content_type="text/html")
