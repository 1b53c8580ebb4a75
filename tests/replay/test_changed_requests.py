"""A live page that sends a recorded request with other values has sent it, and its response counts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from eikon_engine.dom.inline_scripts import MAX_SCRIPT_LENGTH
from tests.browser.pages import Answer, Asked, PageSite, serve_pages
from tests.record.order_shop import all_divergences
from tests.record.recorded_page import TWICE, recorded_page
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

PAGE = "<button>Order</button><p id=state>New</p><script src=/order.js></script>"
ORDER = """document.querySelector('button').onclick = async () => {{
  const response = await fetch('/order?from={source}', {{
    method: 'POST',
    headers: {{ 'Content-Type': 'application/json' }},
    body: JSON.stringify({{ item: 'chair', quantity: {quantity} }}),
  }});
  state.textContent = response.ok ? 'Ordered' : 'Refused';
}};"""


def script(quantity: int, path: str = "/order") -> Answer:
    """Return the script of a shop that orders so many."""
    text = ORDER.format(source="home", quantity=quantity).replace("/order?", f"{path}?")
    return Answer(body=text, content_type="text/javascript")


def take(asked: Asked) -> Answer:
    """Take orders of at most three."""
    assert asked.body is not None
    return Answer(status=201) if json.loads(asked.body)["quantity"] <= 3 else Answer(body="too many", status=422)


@pytest.fixture
def shop(chromium: Browser, tmp_path: Path) -> Iterator[PageSite]:
    """Serve a shop in which a mission was recorded."""
    with serve_pages() as site:
        site.answers |= {"/": Answer(body=PAGE), "/order.js": script(1), "/order": take}
        with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
            agent.page.goto(site.url)
            agent.page.click("button")
            agent.page.get_by_text("Ordered").wait_for()
        yield site


def test_another_value_is_a_changed_request(shop: PageSite, tmp_path: Path) -> None:
    """Neither is the recorded request missing, nor is the sent one unexpected."""
    shop.answers["/order.js"] = script(2)

    seen = replay(tmp_path / "b", tmp_path / "live", network="live", on_divergence="continue")

    sent = [each for each in all_divergences(seen) if each.layer == "network"]
    assert [each.code for each in sent] == ["request-changed"]
    assert sent[0].expected == f"POST {shop.url}/order?from=home with body $.quantity '1'"
    assert sent[0].observed == f"POST {shop.url}/order?from=home with body $.quantity '2'"


def test_the_refusal_of_a_changed_request_is_its_consequence(shop: PageSite, tmp_path: Path) -> None:
    """The site answers 422 to what the page sends now; the explanation has both."""
    shop.answers["/order.js"] = script(4)

    seen = replay(tmp_path / "b", tmp_path / "live", network="live", on_divergence="continue")

    codes = [each.code for each in all_divergences(seen) if each.layer == "network"]
    assert codes == ["response-failed", "request-changed"]
    assert seen.explanation is not None
    assert "status 422" in seen.explanation.why


def test_a_request_for_something_else_is_no_changed_one(shop: PageSite, tmp_path: Path) -> None:
    """Another path is another resource."""
    shop.answers |= {"/order.js": script(1, "/buy"), "/buy": take}

    seen = replay(tmp_path / "b", tmp_path / "live", network="live", on_divergence="continue")

    codes = [each.code for each in all_divergences(seen) if each.layer == "network"]
    assert codes == ["request-missing", "request-unexpected"]


FLAGS = "fetch('/data/items.json?page=1')"
EXTRA = {
    "for something else": f"{FLAGS}.then(() => fetch('/data/flags.json'))",
    "with other values, after it": f"{FLAGS}.then(() => fetch('/data/items.json?page=2'))",
    "with other values, before it": f"fetch('/data/items.json?page=2').then(() => {FLAGS})",
}


@pytest.mark.parametrize("name", EXTRA)
def test_an_extra_request_that_fails_is_not_a_recorded_one(chromium: Browser, tmp_path: Path, name: str) -> None:
    """The recorded request was sent and got its response, so no report says that it failed."""
    with serve_pages() as site:
        site.answers |= {
            "/": Answer(body="<p>Shop</p><script src=/flags.js></script>"),
            "/flags.js": Answer(body=FLAGS, content_type="text/javascript"),
            "/data/items.json": lambda asked: Answer(body="[]", status=200 if asked.path.endswith("page=1") else 404),
        }
        with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
            agent.page.goto(site.url)
        site.answers["/flags.js"] = Answer(body=EXTRA[name], content_type="text/javascript")

        seen = replay(tmp_path / "b", tmp_path / "live", network="live", on_divergence="continue")

    codes = [each.code for each in all_divergences(seen) if each.layer == "network"]
    assert codes == ["request-unexpected"]
    ended = [value for change in seen.network.response_changes for value in change.what if value.part == "status"]
    assert ended == []


@pytest.mark.parametrize(
    ("length", "shown"),
    [
        (1, "script with text 'const quantity = 2;' instead of script with text 'const quantity = 1;'"),
        (MAX_SCRIPT_LENGTH, "script with another text instead of script with the recorded text"),
    ],
)
def test_a_changed_inline_script_is_described_in_words(
    chromium: Browser, tmp_path: Path, length: int, shown: str
) -> None:
    """Snapshots have only its digest; its text comes from the documents, unless it is too long."""
    rest = " " * (length - 1)
    with serve_pages() as site:
        site.answers["/"] = Answer(body=f"<p>Shop</p><script>const quantity = 1;{rest}</script>")
        with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
            agent.page.goto(site.url)
        site.answers["/"] = Answer(body=f"<p>Shop</p><script>const quantity = 2;{rest}</script>")

        seen = replay(tmp_path / "b", tmp_path / "live", network="live")

    assert seen.explanation is not None
    assert f"the page showed {shown}." in seen.explanation.sentence
