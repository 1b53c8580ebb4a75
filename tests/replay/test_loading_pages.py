"""Live replays of pages that were still loading when the agent acted: what is certain then is compared."""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.pages import Answer, serve_pages
from tests.record.order_shop import read_divergence
from tests.record.recorded_page import TWICE, recorded_page, steps
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.browser.pages import Asked, PageSite

pytestmark = pytest.mark.browser

PAGE = """<!doctype html><title>Shop</title><h1>Shop</h1><p id=busy>Loading</p><p id=stock></p>
<script src=/shop.js></script>"""
SCRIPT = """addEventListener('load', () => {
  const stock = document.createElement('script');
  stock.src = '/stock.js';
  document.body.append(stock);
});"""
STOCK = "stock.textContent = '12 left'; busy.remove();"


def serve_shop(site: PageSite, page: str = PAGE, script: str = SCRIPT, status: int = 200) -> None:
    """Serve the page and its script."""
    site.answers["/"] = Answer(body=page, status=status)
    site.answers["/shop.js"] = Answer(body=script, content_type="text/javascript")


@pytest.fixture(scope="module")
def shop(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[PageSite, Path]]:
    """Record an agent that sees how the page waits for a response, as only its own timing repeats."""
    bundle = tmp_path_factory.mktemp("shop") / "b"
    with serve_pages() as site:
        seen = Event()

        def answer(_: Asked) -> Answer:
            seen.wait(20.0)
            return Answer(body=STOCK, content_type="text/javascript")

        serve_shop(site)
        site.answers["/stock.js"] = answer
        with recorded_page(chromium, bundle, TWICE) as agent:
            agent.page.goto(site.url)
            expect(agent.page.locator("#busy")).to_be_visible()
            seen.set()
            agent.page.get_by_text("12 left").wait_for()
        yield site, bundle


def loading_steps(bundle: Path) -> list[int]:
    """Return the numbers of the steps after which the page was loading."""
    return [step.sequence for step in steps(bundle) if step.baseline is not None and step.baseline.loading_pages]


def test_a_server_that_answers_sooner_leaves_its_page_loading(shop: tuple[PageSite, Path], tmp_path: Path) -> None:
    """Its page shows what it showed in the recording, so that all of it is compared."""
    site, bundle = shop
    serve_shop(site)

    outcome = replay(bundle, tmp_path / "run", network="live", secrets={})

    first = outcome.subgoals[0].steps[0]
    assert first.kind == "action"
    assert loading_steps(bundle)[0] == first.sequence
    assert [each.message + each.detail for each in first.divergences] == []
    assert first.masked == ()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param({"page": PAGE.replace("<title>Shop", "<title>Store")}, "title-changed", id="title"),
        pytest.param({"status": 503}, "status-changed", id="status"),
        pytest.param({"script": f"{SCRIPT} missingName;"}, "page-error-changed", id="error"),
    ],
)
def test_what_is_certain_of_a_page_that_was_loading_is_compared(
    shop: tuple[PageSite, Path], tmp_path: Path, change: dict[str, object], expected: str
) -> None:
    """Title, status and errors of a step in which the agent did not wait."""
    site, bundle = shop
    serve_shop(site, **change)  # type: ignore[arg-type] # of the test

    outcome = replay(bundle, tmp_path / "run", network="live", secrets={})

    assert loading_steps(bundle)[0] == 1
    assert read_divergence(outcome)[:2] == ("navigate", expected)
