"""Each framework has its own name for the token of a form: an unchanged site is faithful with each of them."""

from __future__ import annotations

import base64
import secrets
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import pytest

from tests.browser.pages import Answer, Asked, redirect, serve_pages
from tests.record.order_shop import all_divergences
from tests.record.recorded_page import TWICE, recorded_page
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

FORM_TOKENS: dict[str, Callable[[], str]] = {
    "__VIEWSTATE": lambda: base64.b64encode(secrets.token_bytes(90)).decode(),
    "javax.faces.ViewState": lambda: f"-{secrets.randbelow(9 * 10**18) + 10**18}:{secrets.randbelow(10**18) + 10**18}",
    "_wpnonce": lambda: "a1" + secrets.token_hex(4),
    "form_build_id": lambda: f"form-{secrets.token_urlsafe(32)}",
    "form_key": lambda: "Ab3" + secrets.token_urlsafe(10),
}


@pytest.mark.parametrize("name", FORM_TOKENS)
def test_an_unchanged_form_is_faithful(chromium: Browser, tmp_path: Path, name: str) -> None:
    """The server refuses a token that it has not drawn."""
    drawn: set[str] = set()

    def form(asked: Asked) -> Answer:
        if asked.method == "POST":
            is_known = parse_qs(asked.body.decode()).get(name, [""])[0] in drawn
            return redirect("/done") if is_known else Answer(body="<h1>Refused</h1>", status=403)
        token = FORM_TOKENS[name]()
        drawn.add(token)
        return Answer(
            body=f"<title>Form</title><form method=post><input type=hidden name={name} value='{token}'>"
            "<input name=note><button>Save</button></form>"
        )

    with serve_pages() as site:
        site.answers |= {"/": form, "/done": Answer(body="<h1>Saved</h1>")}
        with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
            agent.page.goto(site.url)
            agent.page.fill("[name=note]", "Milk")
            agent.page.click("button")
            agent.page.get_by_role("heading", name="Saved").wait_for()

        seen = replay(tmp_path / "b", tmp_path / "live", network="live", secrets={})

    assert [(each.code, each.expected, each.observed) for each in all_divergences(seen)] == []
    assert seen.verdict == "faithful"
