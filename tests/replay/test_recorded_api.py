"""A front end from a deployment, with the recorded back end: `--network recorded-api`."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser

from eikon_engine import ReplayDivergenceError, ReplayEngine, ReplayOptions, record_mission
from eikon_engine.outcome.outcomes import ReplayOutcome

pytestmark = pytest.mark.browser

PAGE: Final = "<!doctype html><title>Shop</title><link rel=stylesheet href=/{css}><h1>Shop</h1><ul id=items></ul>"
FORM: Final = "<form method=post action=/orders><button>Order</button></form><script src=/{js}></script>"
SCRIPT: Final = """
const show = items => { document.getElementById('items').innerHTML = items.map(each => `<li>${each}</li>`).join(''); };
fetch('/api/items').then(answer => answer.json()).then(show);
"""
STYLE: Final = "li { color: green }"


@dataclass
class Site:
    """A small shop: what it serves, and what it was asked."""

    pages: dict[str, tuple[str, str]]
    """Content type and text by path."""
    url: str = ""
    redirects: dict[str, str] = field(default_factory=dict)
    """Where paths lead."""
    asked: list[str] = field(default_factory=list)


@contextmanager
def served(pages: dict[str, tuple[str, str]]) -> Iterator[Site]:
    """Serve a site on a port of its own."""
    site = Site(pages)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(f"{self.command} {self.path}")
            if self.path in site.redirects:
                self.send_response(302)
                self.send_header("location", site.redirects[self.path])
                self.send_header("content-length", "0")
                self.end_headers()
                return
            kind, text = site.pages.get(self.path, ("text/plain", ""))
            self.send_response(200 if self.path in site.pages else 404)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        do_POST = do_GET  # noqa: N815 - the name of http.server

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def front_end(js: str = "app.1f2e.js", css: str = "style.css", script: str = SCRIPT) -> dict[str, tuple[str, str]]:
    """Return what a build of the front end consists of."""
    return {
        "/": ("text/html", PAGE.replace("{css}", css) + FORM.replace("{js}", js)),
        f"/{js}": ("application/javascript", script),
        f"/{css}": ("text/css", STYLE),
    }


BACK_END: Final = {
    "/api/items": ("application/json", '["Pen", "Mug"]'),
    "/orders": ("text/html", "<!doctype html><h1>Thank you</h1>"),
}


@pytest.fixture
def bundle(chromium: Browser, tmp_path: Path) -> tuple[Path, str]:
    """Record an order in a shop that is gone afterwards; return the bundle, and its address."""
    with served(front_end() | BACK_END) as site:
        page = chromium.new_page()
        with record_mission(page, mission_text="Order.", directory=tmp_path / "bundle"):
            page.goto(site.url)
            page.get_by_text("Mug").click()
            page.get_by_role("button", name="Order").click()
            page.get_by_role("heading", name="Thank you").click()
        page.context.close()
        return tmp_path / "bundle", site.url


def replay(bundle: tuple[Path, str], deployment: Site, folder: Path, **options: object) -> ReplayOutcome:
    """Replay with the front end of a deployment."""
    settings: dict[str, object] = {"network": "recorded-api", "base_urls": {bundle[1]: deployment.url}, **options}
    engine = ReplayEngine(ReplayOptions(artifacts_dir=folder / "run", **settings))  # type: ignore[arg-type]
    try:
        return engine.replay(bundle[0])
    except ReplayDivergenceError:
        assert engine.last_run is not None
        return engine.last_run.outcome


def test_a_build_that_shows_the_same_is_faithful(bundle: tuple[Path, str], tmp_path: Path) -> None:
    """Other names of scripts and styles, and other code; the back end of the deployment is never asked."""
    build = front_end("app.99aa.js", "style.77.css", SCRIPT.replace("const show", "const render = 1, show"))

    with served(build) as preview:
        outcome = replay(bundle, preview, tmp_path)

    assert (outcome.verdict, outcome.network_mode) == ("faithful", "recorded-api"), outcome.reasons
    assert set(preview.asked) == {"GET /", "GET /app.99aa.js", "GET /style.77.css"}
    assert outcome.network.live == 3


CHANGED: Final[dict[str, tuple[Callable[[str], str], str]]] = {
    "another text": (lambda script: script.replace("<li>${each}", "<li>A ${each}"), "A Pen"),
    "another request": (lambda script: script.replace("/api/items", "/api/item-list"), "GET /api/items"),
    "an error": (lambda script: f"nothing.here;{script}", "nothing is not defined"),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_build_that_shows_something_else_diverges(bundle: tuple[Path, str], tmp_path: Path, name: str) -> None:
    """A visible change, a request that was not recorded (with the nearest one), an error."""
    change, shown = CHANGED[name]

    with served(front_end(script=change(SCRIPT))) as preview:
        outcome = replay(bundle, preview, tmp_path)

    assert outcome.verdict == "diverged"
    assert outcome.explanation is not None
    text = outcome.model_dump_json().replace(bundle[1], "")
    assert shown in text
    assert not [each for each in preview.asked if "/api" in each or "POST" in each]


def test_a_deployment_that_is_down_is_an_error_of_the_network(bundle: tuple[Path, str], tmp_path: Path) -> None:
    """The recording does not stand in for it."""
    with served({}) as gone:
        pass

    outcome = replay(bundle, gone, tmp_path)

    assert outcome.verdict == "diverged"
    assert outcome.explanation is not None
    assert outcome.explanation.cause == "network"


def test_patterns_move_the_line(bundle: tuple[Path, str], tmp_path: Path) -> None:
    """A file of the build that a script reads, and a picture that belongs to the back end."""
    build = front_end() | {"/api/items": ("application/json", '["Pen", "Mug", "Ink"]')}

    with served(build) as preview:
        moved = replay(bundle, preview, tmp_path, front_end=("*/api/items",))
    with served(build) as other:
        kept = replay(bundle, other, tmp_path, front_end=("*/api/items",), back_end=("*/api/*", "*.css"))

    assert moved.verdict == "diverged"
    assert "GET /api/items" in preview.asked
    assert kept.verdict == "faithful"
    assert sorted(set(other.asked)) == ["GET /", "GET /app.1f2e.js"]


def test_without_an_address_the_recorded_site_is_the_deployment(bundle: tuple[Path, str], tmp_path: Path) -> None:
    """It is down here."""
    outcome = replay(bundle, Site({}), tmp_path, base_urls={})

    assert outcome.verdict == "diverged"
    assert "ERR_CONNECTION_REFUSED" in outcome.model_dump_json()


def test_a_redirect_does_not_leave_the_deployment(bundle: tuple[Path, str], tmp_path: Path) -> None:
    """Such as to the back end of the recorded site, or of another one."""
    with served({}) as other, served(front_end()) as preview:
        preview.redirects["/style.css"] = f"{other.url}/api/logout"
        preview.redirects["/app.1f2e.js"] = f"{preview.url}/app.js"
        preview.pages["/app.js"] = preview.pages["/app.1f2e.js"]
        outcome = replay(bundle, preview, tmp_path)

    assert other.asked == []
    assert "GET /app.js" in preview.asked
    assert "ERR_UNSAFE_REDIRECT" in outcome.model_dump_json()


def test_a_page_may_fetch_itself(chromium: Browser, tmp_path: Path) -> None:
    """The address of a document is then that of a fetch, too, as with htmx."""
    script = SCRIPT + "fetch(location.href).then(answer => answer.text());"
    with served(front_end(script=script) | BACK_END) as site:
        page = chromium.new_page()
        with record_mission(page, mission_text="Look.", directory=tmp_path / "bundle"):
            page.goto(site.url)
            page.get_by_text("Mug").click()
        page.context.close()

    with served(front_end(script=script)) as preview:
        outcome = replay((tmp_path / "bundle", site.url), preview, tmp_path)

    assert outcome.verdict == "faithful", outcome.reasons


def compare(bundle: tuple[Path, str], base: Site, head: Site, folder: Path, *more: str) -> tuple[int, str]:
    """Compare two builds; return the exit status, and what is printed."""
    command = [
        "compare",
        str(bundle[0]),
        "--network",
        "recorded-api",
        "--runs",
        "2",
        "--artifacts-dir",
        str(folder / "run"),
    ]
    urls = ["--base", base.url, "--head", head.url]
    done = subprocess.run(
        [sys.executable, "-m", "eikon_engine", *command, *urls, *more], capture_output=True, check=False, text=True
    )
    return done.returncode, done.stderr


def test_two_builds_are_compared_without_a_back_end(bundle: tuple[Path, str], tmp_path: Path) -> None:
    """Base as recorded: head is the same, or different; base not as recorded: unknown."""
    renamed = front_end("app.99aa.js", "style.77.css")
    changed = front_end(script=SCRIPT.replace("<li>${each}", "<li>A ${each}"))
    with served(front_end()) as base, served(renamed) as same, served(changed) as other:
        assert compare(bundle, base, same, tmp_path)[0] == 0
        status, printed = compare(bundle, base, other, tmp_path)
        assert (status, "different, head" in printed, "A Pen" in printed) == (1, True, True)
        for head in (base, other):
            status, printed = compare(bundle, other, head, tmp_path)
            assert (status, "unverifiable, head" in printed) == (3, True)
        status, printed = compare(bundle, base, same, tmp_path, "--base-reset-cmd", "true")
        assert (status, "drop the reset command" in printed) == (2, True)
        asked = {*base.asked, *same.asked, *other.asked}
    assert {each for each in asked if "/api" in each or "/orders" in each} == set()
