"""Errors and requests of live replays without certificate: what a page no longer does, or does now, is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.trace.masks import Mask, RequestPart
from tests.browser.pages import Answer, serve_pages
from tests.record.order_shop import read_divergence
from tests.record.recorded_page import QUICK, recorded_page, steps
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

SHOP = """<!doctype html><title>Order</title><button id=save>Save</button><button id=show>Show</button>
<button id=next>Next</button><p id=state></p><img id=logo src=/logo.svg><script src=/shop.js></script>"""
SCRIPT = """
fetch('/items').then(answer => answer.text());
setInterval(() => fetch('/poll'), 300);
setTimeout(() => fetch('/seen', {method: 'POST', body: 'page'}), 700);
const report = text => { state.textContent = text; };
save.onclick = async () => {
  const answer = await fetch('/order', {method: 'POST', body: 'rice'});
  report(await answer.text());
  await fetch('/stock');
};
show.onclick = () => { logo.src = '/logo.svg'; report('shown'); undefinedName; };
next.onclick = () => { location.href = '/done'; };
"""
ORDER = "await fetch('/order', {method: 'POST', body: 'rice'})"


def serve_script(site: PageSite, script: str) -> None:
    """Serve the script of the shop."""
    site.answers["/shop.js"] = Answer(body=script, content_type="text/javascript")


@pytest.fixture(scope="module")
def shop(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[PageSite, Path]]:
    """Record an order in a shop that polls, reports that it was seen, and fails at one button."""
    bundle = tmp_path_factory.mktemp("shop") / "b"
    with serve_pages() as site:
        site.answers |= {
            "/": Answer(body=SHOP),
            "/logo.svg": Answer(body="<svg xmlns='http://www.w3.org/2000/svg'/>", content_type="image/svg+xml"),
            "/done": Answer(body="<h1>Done</h1>"),
        }
        site.answers |= {f"/{name}": Answer(body=name) for name in ("items", "poll", "seen", "order", "stock")}
        serve_script(site, SCRIPT)
        with recorded_page(chromium, bundle, QUICK) as agent:
            agent.page.goto(site.url)
            agent.page.wait_for_timeout(620)
            agent.page.click("#save")
            agent.page.get_by_text("order").wait_for()
            agent.page.wait_for_timeout(400)
            agent.page.click("#show")
            agent.page.get_by_text("shown").wait_for()
            agent.page.wait_for_timeout(400)
            agent.page.click("#next")
            agent.page.get_by_role("heading", name="Done").wait_for()
        yield site, bundle


def test_what_a_page_repeats_or_reports_late_is_no_divergence(shop: tuple[PageSite, Path], tmp_path: Path) -> None:
    """Nor is an error that was recorded, or a picture that the page has already."""
    site, bundle = shop
    serve_script(site, SCRIPT)
    seen = [step.observation for step in steps(bundle) if step.observation]
    assert {"poll", "seen"} <= {key.split(" ")[1].rpartition("/")[2] for each in seen for key in each.requests}
    assert any(each.page_errors for each in seen)

    outcome = replay(bundle, tmp_path / "live", network="live")

    assert [(each.code, each.expected, each.observed) for each in outcome.divergences] == []
    assert outcome.verdict == "unverifiable"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            "const report",
            "missingName; const report",
            ("navigate", "page-error-changed", "none", "ReferenceError: missingName is not defined"),
            id="a script fails",
        ),
        pytest.param(
            "const report",
            "console.error('out of stock'); const report",
            ("navigate", "console-error-changed", "none", "out of stock"),
            id="a script reports an error",
        ),
        pytest.param(
            ORDER,
            f"missingName; {ORDER}",
            ("click", "page-error-changed", "none", "ReferenceError: missingName is not defined"),
            id="a button fails",
        ),
        pytest.param(
            ORDER,
            "new Response('order')",
            ("click", "request-missing", "POST /order", "no such request"),
            id="no order",
        ),
        pytest.param(
            ORDER,
            "(fetch('/collect/8f2c1d', {method: 'POST', body: 'click'}), new Response('order'))",
            ("click", "request-missing", "POST /order", "no such request"),
            id="a report instead of the order",
        ),
        pytest.param(
            "await fetch('/stock');",
            "",
            ("click", "request-missing", "GET /stock", "no such request"),
            id="no fetch after the response",
        ),
        pytest.param(
            "fetch('/items')",
            "Promise.resolve(new Response(''))",
            ("navigate", "request-missing", "GET /items", "no such request"),
            id="no fetch while loading",
        ),
        pytest.param(
            "location.href = '/done'",
            "",
            ("click", "request-missing", "GET /done", "no such request"),
            id="no document",
        ),
    ],
)
def test_what_an_action_no_longer_does_is_a_divergence(
    shop: tuple[PageSite, Path], tmp_path: Path, old: str, new: str, expected: tuple[str, str, str, str]
) -> None:
    """A script that fails now, and a request that is not sent any more, are found at the step that caused them."""
    site, bundle = shop
    assert old in SCRIPT
    serve_script(site, SCRIPT.replace(old, new))

    outcome = replay(bundle, tmp_path / "live", network="live")

    assert outcome.verdict == "diverged"
    kind, code, before, now = read_divergence(outcome)
    assert (kind, code, before.replace(site.url, "").partition(" sha256")[0], now) == expected


@pytest.mark.parametrize("end", ["", "*"])
def test_a_masked_request_may_be_missing(shop: tuple[PageSite, Path], tmp_path: Path, end: str) -> None:
    """The step names the mask."""
    site, bundle = shop
    serve_script(site, SCRIPT.replace(ORDER, "new Response('order')"))
    mask = Mask(name="orders", reason="of the test", part=RequestPart(key=f"POST {site.url}/order{end}"))

    outcome = replay(bundle, tmp_path / "live", network="live", masks=(mask,))

    assert [(each.code, each.expected) for each in outcome.divergences] == []
    assert ["orders"] in [list(step.masked) for step in outcome.subgoals[0].steps if step.kind == "action"]


SHARED_ADDRESS = """<!doctype html><title>Order</title><button id=save>Save</button><p id=state></p>
<script>
const call = name => fetch('/graphql', {
  method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({operationName: name})
});
call('items');
save.onclick = async () => { await call('order'); await call('items'); state.textContent = 'saved'; };
</script>"""


def test_an_operation_is_missing_whatever_else_is_sent_to_its_address(chromium: Browser, tmp_path: Path) -> None:
    """The button still fetches the items, at the address to which it no longer sends the order."""
    with serve_pages() as site:
        site.answers |= {"/": Answer(body=SHARED_ADDRESS), "/graphql": Answer(body="{}")}
        with recorded_page(chromium, tmp_path / "b", QUICK) as agent:
            agent.page.goto(site.url)
            agent.page.wait_for_timeout(300)
            agent.page.click("#save")
            agent.page.get_by_text("saved").wait_for()
            agent.page.wait_for_timeout(300)
        unchanged = replay(tmp_path / "b", tmp_path / "unchanged", network="live")
        site.answers["/"] = Answer(body=SHARED_ADDRESS.replace("await call('order');", ""))

        outcome = replay(tmp_path / "b", tmp_path / "live", network="live")

    assert [(each.code, each.expected, each.observed) for each in unchanged.divergences] == []
    kind, code, before, _ = read_divergence(outcome)
    assert (kind, code, before.partition(" sha256")[0]) == ("click", "request-missing", f"POST {site.url}/graphql")


LEFT = """<h1>Begin</h1><script>
setTimeout(() => { fetch('/late', {method: 'POST'}); lateName; }, 400);
fetch('/slow').then(() => { console.error('slow'); fetch('/last', {method: 'POST'}); });
</script>"""


def test_what_the_agent_did_not_wait_for_is_no_divergence(chromium: Browser, tmp_path: Path) -> None:
    """A replay waits until pages are idle, so they get to do what the agent left before; no response comes earlier."""
    with serve_pages() as site:

        def answer_slowly(_: object) -> Answer:
            site.released.wait(1.0)
            return Answer(body="slow")

        site.answers |= {"/": Answer(body=LEFT), "/done": Answer(body="<h1>Done</h1>"), "/slow": answer_slowly}
        with recorded_page(chromium, tmp_path / "b", QUICK) as agent:
            agent.page.goto(site.url)
            agent.page.goto(f"{site.url}/done")
        before = site.paths()

        outcome = replay(tmp_path / "b", tmp_path / "live", network="live")

        sent = site.paths()[len(before) :]
    assert "POST /late" in sent
    assert "POST /last" not in sent
    assert [(each.code, each.expected, each.observed) for each in outcome.divergences] == []
    assert outcome.verdict == "unverifiable"
