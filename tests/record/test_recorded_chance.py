"""What pages draw by chance in the browser of an agent repeats, and looks like chance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from eikon_engine.trace.bundle import open_bundle
from tests.browser.pages import Answer, PageSite
from tests.record.recorded_page import QUICK, TWICE, recorded_page
from tests.replay.conftest import replay

pytestmark = pytest.mark.browser

DRAWS = """const id = () => Math.random().toString(36).slice(2);
const show = text => { const line = document.createElement('li'); line.textContent = text; list.append(line); };
const { list } = window;
show(id()); show(crypto.randomUUID()); show([...crypto.getRandomValues(new Uint32Array(3))]);"""
PAGE = f"""<ul id=list></ul><iframe src=/frame></iframe><button id=open onclick="window.open('/popup')">Open</button>
<form action=/again><button id=again>Again</button></form>
<script>{DRAWS}
const worker = new Worker(URL.createObjectURL(new Blob(["postMessage(Math.random() + crypto.randomUUID())"])));
worker.onmessage = async ({{ data }}) => {{
  show(data);
  show(await (await fetch('/ticket/' + id())).text());
  document.title = 'drawn';
}};
</script>"""
SMALL = f"<ul id=list></ul><script>{DRAWS} document.title = 'drawn';</script>"


@pytest.fixture
def lottery(site: PageSite) -> PageSite:
    """Serve pages that show what they draw, in a document, a frame, a popup and a worker, and ask by it."""

    class Tickets(dict[str, Any]):
        """Answer every ticket."""

        def get(self, path: str, other: Any = None) -> Any:  # noqa: ANN401 - the interface of a dict
            if path.startswith("/ticket/"):
                return lambda asked: Answer(body=f"ticket of {asked.path}")
            return super().get(path, other)

    pages = {"/": PAGE, "/frame": SMALL, "/popup": SMALL, "/again": PAGE}
    site.answers = Tickets({path: Answer(body=f"<!doctype html>{html}") for path, html in pages.items()})
    return site


def drawn(page: Page) -> list[str]:
    """Wait for a page to have drawn; return what it shows."""
    page.wait_for_function("document.title === 'drawn'")
    return page.locator("li").all_inner_texts()


def test_what_pages_draw_repeats_without_a_rule(chromium: Browser, lottery: PageSite, tmp_path: Path) -> None:
    """Ids in a page, a path, a frame, a popup and a worker are certified, and no two documents draw the same."""
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        page = agent.page
        page.goto(lottery.url + "/")
        seen = drawn(page)
        with page.expect_popup() as opening:
            page.click("#open")
        seen += drawn(opening.value)
        page.bring_to_front()
        page.click("#again")
        page.wait_for_url("**/again*")
        seen += drawn(page)
        page.goto(lottery.url + "/")
        seen += drawn(page)

    assert len(set(seen)) == len(seen)
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report
    trace = open_bundle(tmp_path / "b").trace
    assert trace.network is not None
    assert trace.network.rules == ()
    assert replay(tmp_path / "b", tmp_path / "run").verdict == "faithful"


def test_two_recordings_draw_differently(chromium: Browser, lottery: PageSite, tmp_path: Path) -> None:
    """A site that keeps what its pages draw gets nothing twice."""
    seen = []
    for number in range(2):
        with recorded_page(chromium, tmp_path / str(number), QUICK) as agent:
            agent.page.goto(lottery.url + "/popup")
            seen.append(drawn(agent.page))

    assert set(seen[0]).isdisjoint(seen[1])


LOOK = """() => {
  const thrown = call => { try { call(); return ''; } catch (error) { return error.name; } };
  return JSON.stringify({
    native: [Math.random, crypto.getRandomValues, crypto.randomUUID].map(each => /\\[native code\\]/.test(each)),
    names: [Math.random.name, crypto.getRandomValues.name, Math.random.length, crypto.getRandomValues.length],
    globals: Object.keys(window).filter(each => /eikon/.test(each)),
    errors: [thrown(() => crypto.getRandomValues(new Float64Array(1))), thrown(() => crypto.getRandomValues([])),
             thrown(() => crypto.getRandomValues(new Uint8Array(65537)))],
    range: Array.from({ length: 1000 }, Math.random).every(each => each >= 0 && each < 1),
    spread: new Set(Array.from({ length: 1000 }, Math.random)).size,
  });
}"""


def test_an_agent_does_not_notice_that_chance_is_seeded(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Functions look and fail as the browser's own do."""
    url = site.put("<p>hello</p>")
    page = chromium.new_page()
    page.goto(url)
    own = json.loads(page.evaluate(LOOK))
    page.context.close()
    with recorded_page(chromium, tmp_path / "b", QUICK) as agent:
        agent.page.goto(url)
        seen = json.loads(agent.page.evaluate(LOOK))

    assert seen == own
