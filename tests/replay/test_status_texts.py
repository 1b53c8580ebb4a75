"""What scripts see of a response: its reason phrase and its connection headers, sealed as on the site."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.pages import Answer, serve_pages
from tests.record.recorded_page import TWICE, recorded_page
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.browser

PAGE = """<!doctype html><title>Status</title><p id=fetched></p><p id=asked></p><script>
const show = (place, status, text, connection) => { place.textContent = `${status} [${text}] ${connection}`; };
fetch('/gone').then(r => { show(fetched, r.status, r.clone().statusText, r.headers.get('connection')); });
const request = new XMLHttpRequest();
request.onload = () => show(asked, request.status, request.statusText, request.getResponseHeader('connection'));
request.open('GET', '/NAME');
request.send();
</script>"""


def gone(reason: str | None, status: int = 404) -> Answer:
    """Return a response with a reason phrase, after which the server closes the connection."""
    return Answer(status=status, reason=reason, headers=(("Connection", "close"),))


@pytest.mark.parametrize(
    ("reason", "asked", "fetched"),
    [
        ("File not found", "[File not found]", "[File not found]"),
        ("", "[]", "[]"),  # as all responses of HTTP/2
        (None, "[Not Found]", "[Not Found]"),
    ],
)
def test_scripts_see_the_recorded_reason_phrase(
    chromium: Browser, tmp_path: Path, reason: str | None, asked: str, fetched: str
) -> None:
    """A sealed replay shows what the agent expected; a live replay is faithful to it, and sees another phrase."""
    with serve_pages() as site:
        site.answers |= {"/": Answer(body=PAGE.replace("NAME", "lost")), "/gone": gone(reason), "/lost": gone(reason)}
        with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
            agent.page.goto(f"{site.url}/")
            expect(agent.page.locator("#fetched")).to_have_text(f"404 {fetched} close")
            expect(agent.page.locator("#asked")).to_have_text(f"404 {asked} close")
        live = replay(tmp_path / "b", tmp_path / "live", network="live")
        site.answers["/lost"] = gone("No such file")
        other = replay(tmp_path / "b", tmp_path / "other", network="live")
    sealed = replay(tmp_path / "b", tmp_path / "sealed")

    assert [run.verdict for run in (sealed, live, other)] == ["faithful", "faithful", "diverged"]
    assert "[No such file]" in other.divergences[0].observed
