"""Tokens that a live site first draws in a socket, a redirect or an open event stream stand for the recorded ones."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING

import pytest
from aiohttp import WSMsgType, web
from playwright.sync_api import Browser, Page, expect

from tests.record.recorded_page import TWICE, recorded_page
from tests.replay.conftest import replay
from tests.sites.async_loopback import running_application

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.outcome.outcomes import ReplayOutcome

pytestmark = pytest.mark.browser

SCRIPTS = {
    "socket": """const socket = new WebSocket(`ws://${location.host}/socket`);
      socket.onmessage = event => { token = JSON.parse(event.data).csrfToken; ready.textContent = 'ready';
        document.body.dataset.token = token; };""",
    "redirect": """ token = document.cookie.match(/XSRF-TOKEN=([^;]+)/)[1]; ready.textContent = 'ready';""",
    "event stream": """new EventSource('/events').onmessage = event => {
      token = JSON.parse(event.data).csrfToken; ready.textContent = 'ready'; };""",
}
PAGE = """<!doctype html><title>Save</title><p id=ready>…</p><button>Save</button><p id=saved></p><script>
let token; {script}
document.querySelector("button").onclick = async () => {{
  const body = JSON.stringify({{ csrfToken: token, text: "hello" }});
  const answer = await fetch("/save", {{ method: "POST", body, headers: {{ "Content-Type": "application/json" }} }});
  saved.textContent = await answer.text();
}};</script>"""


class TokenSite:
    """A page that gets its token in one of the ways, and sends it with what it saves."""

    def __init__(self, way: str) -> None:
        """Serve a page that gets its token in one way."""
        self.way = way
        self.refuses = False
        self._tokens: set[str] = set()
        self.application = web.Application()
        self.application.add_routes(
            [
                web.get("/", self.enter),
                web.get("/page", self.page),
                web.get("/socket", self.socket),
                web.get("/events", self.events),
                web.post("/save", self.save),
            ]
        )

    def draw(self) -> str:
        """Draw a token."""
        self._tokens.add(token := secrets.token_hex(20))
        return token

    async def enter(self, _request: web.Request) -> web.StreamResponse:
        """Redirect to the page, with a token in a cookie."""
        answer = web.Response(status=302, headers={"Location": "/page"})
        if self.way == "redirect":
            answer.set_cookie("XSRF-TOKEN", self.draw())
        return answer

    async def page(self, _request: web.Request) -> web.StreamResponse:
        """Show the page."""
        return web.Response(text=PAGE.format(script=SCRIPTS[self.way]), content_type="text/html")

    async def socket(self, request: web.Request) -> web.StreamResponse:
        """Send a token, and keep the connection open."""
        answer = web.WebSocketResponse()
        await answer.prepare(request)
        await answer.send_json({"csrfToken": self.draw()})
        async for message in answer:
            if message.type is WSMsgType.CLOSE:
                break
        return answer

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Send a token, and keep the stream open."""
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        await answer.write(b'data: {"csrfToken": "%s"}\n\n' % self.draw().encode())
        await asyncio.Event().wait()
        return answer

    async def save(self, request: web.Request) -> web.StreamResponse:
        """Accept a token that was drawn."""
        if self.refuses or (await request.json())["csrfToken"] not in self._tokens:
            return web.Response(status=403, text="Forbidden")
        return web.Response(text="saved")


def save(page: Page, url: str) -> None:
    """Save something."""
    page.goto(url)
    expect(page.locator("#ready")).to_have_text("ready")
    page.get_by_role("button").click()
    expect(page.locator("#saved")).to_have_text("saved")


def replay_after(chromium: Browser, site: TokenSite, folder: Path, *, refuses: bool) -> ReplayOutcome:
    """Record a mission, and replay it live, on a site that may refuse every token."""
    with running_application(site.application, (0,)) as (port,):
        with recorded_page(chromium, folder / "b", TWICE) as agent:
            save(agent.page, f"http://127.0.0.1:{port}/")
        site.refuses = refuses
        return replay(folder / "b", folder / "run", network="live", secrets={})


@pytest.mark.parametrize("way", list(SCRIPTS))
def test_an_unchanged_site_is_faithful(chromium: Browser, tmp_path: Path, way: str) -> None:
    """The page sends another token, which the site drew in the same place."""
    outcome = replay_after(chromium, TokenSite(way), tmp_path, refuses=False)

    assert [each.message + each.detail for each in outcome.divergences] == []
    assert outcome.verdict == "faithful"
    assert outcome.network.changed_requests == ()


def test_a_refused_token_is_a_divergence(chromium: Browser, tmp_path: Path) -> None:
    """The request is the recorded one, and its response is not."""
    outcome = replay_after(chromium, TokenSite("socket"), tmp_path, refuses=True)

    assert outcome.divergences[0].code == "response-failed"
    assert outcome.network.changed_requests == ()
