"""A live replay of an unchanged site is faithful although the site draws new tokens in each session and document."""

from __future__ import annotations

import secrets
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.pages import Answer, redirect, serve_pages
from tests.record.recorded_page import QUICK, TWICE, recorded_page
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.browser.pages import Asked, PageSite

pytestmark = pytest.mark.browser


class TokenSite:
    """A shop that signs users in: with a token for each form, a session cookie, and signed links."""

    def __init__(self, site: PageSite) -> None:
        """Serve the pages on a site."""
        self.site = site
        self.greeting = "Hello"
        self.status = 200
        """Status of the response to an order."""
        self.draws_tokens = True
        self._tokens: set[str] = set()
        site.answers |= {
            "/login": self.login,
            "/orders": self.orders,
            "/api/order": self.order,
            "/state": lambda _: Answer(
                body=f'{{"csrfToken": "{self.draw()}", "open": 2}}', content_type="application/json"
            ),
        }

    def draw(self) -> str:
        """Draw a token as itsdangerous does: its parts are separated by dots, and one of them is a short time."""
        if not self.draws_tokens:
            return ""
        token = f"{secrets.token_urlsafe(20)}.{secrets.token_hex(3)}.{secrets.token_urlsafe(24)}"
        self._tokens.add(token)
        return token

    def login(self, asked: Asked) -> Answer:
        """Show the form, or accept it with one of the tokens."""
        if asked.method == "POST":
            if parse_qs(asked.body.decode()).get("csrf_token", [""])[0] not in self._tokens:
                return Answer(body="<h1>Forbidden</h1>", status=403)
            return redirect("/orders", cookie=f"session={secrets.token_urlsafe(32)}; HttpOnly; Path=/")
        return Answer(
            body=f"""<!doctype html><title>Sign in</title><meta name="csrf-token" content="{self.draw()}">
            <form method=post><input type=hidden name="csrf_token" value="{self.draw()}">
            <label>Name <input name=user></label><button>Sign in</button></form>"""
        )

    def orders(self, _asked: Asked) -> Answer:
        """Show a page whose script sends the token, and a signed link."""
        return Answer(
            body=f"""<!doctype html><title>Orders</title><h1>{self.greeting} Ada</h1><p id=state></p>
            <a href="/orders?signature={self.draw()}">Link</a><button>Order</button>
            <script>window.config = {{ csrfToken: "{self.draw()}" }};
            document.querySelector("button").onclick = async () => {{
              const {{ csrfToken }} = await (await fetch("/state")).json();
              const body = JSON.stringify({{ csrfToken, formToken: config.csrfToken, item: 7 }});
              const headers = {{ "Content-Type": "application/json" }};
              const answer = await fetch("/api/order", {{ method: "POST", body, headers }});
              document.getElementById("state").textContent = await answer.text();
            }};</script>"""
        )

    def order(self, asked: Asked) -> Answer:
        """Accept an order with a token."""
        is_known = any(token in asked.body.decode() for token in self._tokens)
        if self.status != HTTPStatus.OK:
            return Answer(body="out of order", status=self.status)
        return Answer(body="ordered") if is_known else Answer(body="no token", status=403)


@pytest.fixture
def shop() -> Iterator[TokenSite]:
    """Serve the shop."""
    with serve_pages() as site:
        yield TokenSite(site)


def order(page: Page, url: str) -> None:
    """Sign in and order."""
    page.goto(f"{url}/login")
    page.get_by_label("Name").fill("ada")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Order").click()
    expect(page.locator("#state")).to_have_text("ordered")


@pytest.fixture
def bundle(chromium: Browser, shop: TokenSite, tmp_path: Path) -> Path:
    """Record and certify the mission."""
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        order(agent.page, shop.site.url)
    return tmp_path / "b"


def test_an_unchanged_site_is_faithful(bundle: Path, tmp_path: Path) -> None:
    """Each token of the live site stands for the recorded one of its place, also in what the page sends."""
    outcome = replay(bundle, tmp_path / "run", network="live", secrets={})

    assert [each.message + each.detail for each in outcome.divergences] == []
    assert outcome.verdict == "faithful"
    assert outcome.network.unmatched == ()


def test_a_replay_that_resumes_on_the_unchanged_site_is_faithful(bundle: Path, tmp_path: Path) -> None:
    """Pages keep the tokens of the site, which accepts them, and they stand for the recorded ones."""
    outcome = replay(bundle, tmp_path / "run", from_step=1, then_network="live", secrets={})

    assert [each.message + each.detail for each in outcome.divergences] == []
    assert outcome.verdict == "faithful"
    assert outcome.network.unmatched == ()


def test_another_recording_of_the_unchanged_site_is_faithful(
    chromium: Browser, shop: TokenSite, bundle: Path, tmp_path: Path
) -> None:
    """The tokens of another recording, which are stand-ins as well, stand for the recorded ones."""
    with recorded_page(chromium, tmp_path / "other", QUICK) as agent:
        order(agent.page, shop.site.url)

    outcome = replay(bundle, tmp_path / "run", responses_from=tmp_path / "other", secrets={})

    assert [each.message + each.detail for each in outcome.divergences] == []
    assert (outcome.verdict, outcome.network.misses) == ("faithful", ())


def test_a_har_of_another_program_of_the_unchanged_site_is_faithful(
    chromium: Browser, shop: TokenSite, bundle: Path, tmp_path: Path
) -> None:
    """Its tokens are the real ones of another visit; what the pages say is compared."""
    verdicts = []
    for greeting in ("Hello", "Welcome"):
        shop.greeting = greeting
        context = chromium.new_context(record_har_path=tmp_path / f"{greeting}.har", record_har_content="embed")
        order(context.new_page(), shop.site.url)
        context.close()
        outcome = replay(bundle, tmp_path / greeting, har=tmp_path / f"{greeting}.har", secrets={})
        verdicts.append((outcome.verdict, [each.code for each in outcome.divergences]))

    assert verdicts == [("faithful", []), ("diverged", ["dom-changed"])]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda shop: setattr(shop, "greeting", "Welcome"), "dom-changed"),
        (lambda shop: setattr(shop, "draws_tokens", False), "dom-changed"),
    ],
)
def test_what_is_no_token_is_compared(
    bundle: Path, shop: TokenSite, tmp_path: Path, change: Callable[[TokenSite], None], code: str
) -> None:
    """Another text, and a token that is empty, are changes of the site."""
    change(shop)

    outcome = replay(bundle, tmp_path / "run", network="live", secrets={})

    assert outcome.divergences[0].code == code


@pytest.mark.parametrize("is_certified", [True, False])
def test_an_error_of_the_server_comes_first(
    chromium: Browser,
    shop: TokenSite,
    tmp_path: Path,
    is_certified: bool,  # noqa: FBT001 - of the test
) -> None:
    """A save that the server refuses is the divergence and its explanation, whether or not the bundle is certified."""
    options = TWICE if is_certified else QUICK
    with recorded_page(chromium, tmp_path / "b", options) as agent:
        order(agent.page, shop.site.url)
    shop.status = 500

    outcome = replay(tmp_path / "b", tmp_path / "run", network="live", secrets={})

    first = outcome.divergences[0]
    assert first.code == "response-failed"
    assert outcome.verdict == "diverged"
    assert outcome.explanation is not None
    assert outcome.explanation.cause == "site-error"
    assert "POST " in outcome.explanation.sentence
    assert "ended with status 500 instead of status 200" in outcome.explanation.sentence
    assert "status 500" in outcome.explanation.why
