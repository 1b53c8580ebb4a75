"""Live pages may be slower or faster than the recorded ones; what they come to is compared."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, expect

from eikon_engine.browser.stabilizer import IDLE_TIMEOUT_S
from tests.browser.pages import Answer, serve_pages
from tests.record.recorded_page import TWICE, recorded_page
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.browser.pages import Asked, PageSite

pytestmark = pytest.mark.browser

PAGE = """<!doctype html><title>List</title><h1>List</h1><ul id=list></ul><button id=b>Go</button><p id=state></p>
<script src=/list.js></script>"""
SCRIPT = """setTimeout(() => {{ list.innerHTML = "<li>Bread</li><li>{second}</li>"; }}, {delay_ms});
b.onclick = () => {{ state.textContent = "clicked"; }};"""


def serve_list(site: PageSite, second: str = "Milk", delay_ms: int = 100) -> None:
    """Serve the page, whose script fills the list."""
    site.answers["/"] = Answer(body=PAGE)
    script = SCRIPT.format(second=second, delay_ms=delay_ms)
    site.answers["/list.js"] = Answer(body=script, content_type="text/javascript")


@pytest.fixture
def site() -> Iterator[PageSite]:
    """Serve a page."""
    with serve_pages() as pages:
        yield pages


@pytest.fixture
def bundle(chromium: Browser, site: PageSite, tmp_path: Path) -> Path:
    """Record an agent that waits for a list, clicks and reads."""
    serve_list(site)
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(f"{site.url}/")
        expect(agent.page.locator("#list li")).to_have_count(2)
        agent.page.locator("#b").click()
        assert agent.page.locator("#state").inner_text() == "clicked"
    return tmp_path / "b"


@pytest.mark.parametrize("delay_ms", [0, 1500, 3000])
def test_a_page_that_is_slower_or_faster_is_faithful(
    bundle: Path, site: PageSite, tmp_path: Path, delay_ms: int
) -> None:
    """A list that a timer brings sooner or later than in the recording is the recorded one."""
    serve_list(site, delay_ms=delay_ms)

    outcome = replay(bundle, tmp_path / "run", network="live", secrets={})

    assert [each.message + each.detail for each in outcome.divergences] == []
    assert outcome.verdict == "faithful"
    steps = [step for step in outcome.subgoals[0].steps if step.kind == "action"]
    late = [(step.sequence, each.code) for step in steps for each in step.findings]
    assert late == ([(1, "page-late")] if delay_ms else [])
    summary = (tmp_path / "run" / "replay_summary.txt").read_text(encoding="utf-8")
    assert ("ms of page time later" in summary.partition("Late pages\n")[2]) == bool(delay_ms)


def test_a_slower_page_with_another_content_diverges(bundle: Path, site: PageSite, tmp_path: Path) -> None:
    """Waiting hides nothing."""
    serve_list(site, second="Butter", delay_ms=1500)

    outcome = replay(bundle, tmp_path / "run", network="live", secrets={})

    assert outcome.verdict == "diverged"


def test_a_late_page_with_something_else_is_not_at_its_recorded_state(
    bundle: Path, site: PageSite, tmp_path: Path
) -> None:
    """A page that reports an error while it is waited for has not come to its recorded state."""
    serve_list(site, delay_ms=1500)
    script = str(site.answers["/list.js"].body)  # type: ignore[union-attr] # it is an answer
    late_error = "setTimeout(() => { throw new Error('too late') }, 1400);"
    site.answers["/list.js"] = Answer(body=script + late_error, content_type="text/javascript")

    outcome = replay(bundle, tmp_path / "run", network="live", secrets={})

    assert outcome.verdict == "diverged"
    assert "page-late" not in {each.code for each in outcome.subgoals[0].steps[0].findings}  # type: ignore[union-attr] # of an action


def test_a_page_that_does_not_change_is_not_waited_for(bundle: Path, site: PageSite, tmp_path: Path) -> None:
    """Without a timer, a request or a connection, a page is compared as it is."""
    site.answers["/list.js"] = Answer(body="", content_type="text/javascript")

    outcome = replay(bundle, tmp_path / "run", network="live", secrets={})

    first = outcome.subgoals[0].steps[0]
    assert [each.code for each in first.divergences] == ["dom-changed"]
    assert first.kind == "action"
    assert first.observation is not None
    assert first.observation.virtual_ms < 1000


POLLING = """<!doctype html><title>Items</title><h1>Items</h1><ul id=list></ul><script>
const ask = async () => {
  const items = await (await fetch('/items')).json();
  list.innerHTML = items.map(each => `<li>${each}</li>`).join('');
  if (items.length === 0) setTimeout(ask, 500);
};
ask();
</script>"""


def json_answer(items: list[str]) -> Answer:
    """Return a response with items."""
    return Answer(body=json.dumps(items), content_type="application/json")


@pytest.fixture(scope="module")
def items(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[PageSite, Path]]:
    """Record an agent that may wait 30 s for items, which the server has at once."""
    bundle = tmp_path_factory.mktemp("items") / "b"
    with serve_pages() as pages:
        pages.answers |= {"/": Answer(body=POLLING), "/items": json_answer(["Bread"])}
        with recorded_page(chromium, bundle, TWICE) as agent:
            agent.page.goto(f"{pages.url}/")
            expect(agent.page.locator("#list li")).to_have_count(1, timeout=30_000)
        yield pages, bundle


def be_ready_after(pages: PageSite, delay_s: float, *, holds: bool) -> None:
    """Let the server have the items some time after the first request, and hold its response until then or not."""
    begun: list[float] = []

    def answer(_: Asked) -> Answer:
        begun.append(time.monotonic())
        left_s = delay_s - (time.monotonic() - begun[0])
        if left_s > 0 and holds:
            pages.released.wait(left_s)
        return json_answer([] if left_s > 0 and not holds else ["Bread"])

    pages.answers["/items"] = answer


@pytest.mark.parametrize("holds", [False, True])
def test_a_list_that_the_server_has_late_is_the_recorded_one(
    items: tuple[PageSite, Path], tmp_path: Path, *, holds: bool
) -> None:
    """A page has as long as the next action had, and waits for its server in real time; the delay is a finding."""
    pages, bundle = items
    be_ready_after(pages, 8.0, holds=holds)

    outcome = replay(bundle, tmp_path / "run", network="live", secrets={})

    first = outcome.subgoals[0].steps[0]
    assert first.kind == "action"
    assert [each.message + each.detail for each in outcome.divergences] == []
    assert outcome.verdict == "faithful"
    assert [each.code for each in first.findings] == ["page-late"]


def test_a_response_may_take_longer_than_pages_are_waited_for(items: tuple[PageSite, Path], tmp_path: Path) -> None:
    """After 15 s, a replay looks at the page and waits on, in real time."""
    pages, bundle = items
    be_ready_after(pages, IDLE_TIMEOUT_S + 4.0, holds=True)

    outcome = replay(bundle, tmp_path / "run", network="live", secrets={})

    first = outcome.subgoals[0].steps[0]
    assert first.kind == "action"
    assert [each.message + each.detail for each in outcome.divergences] == []
    assert "page-late" in {each.code for each in first.findings}


def test_a_page_that_never_reaches_its_state_is_not_waited_for_in_wall_time(
    items: tuple[PageSite, Path], tmp_path: Path
) -> None:
    """A timer that changes nothing of it runs for the 30 s of the next action, which pass faster than a clock."""
    pages, bundle = items
    clock = POLLING.replace("if (items.length === 0) setTimeout(ask, 500)", "setInterval(() => 0, 1000)")
    pages.answers |= {"/": Answer(body=clock), "/items": json_answer(["Butter"])}

    outcome = replay(bundle, tmp_path / "run", network="live", secrets={})
    pages.answers["/"] = Answer(body=POLLING)

    first = outcome.subgoals[0].steps[0]
    assert first.kind == "action"
    assert [each.code for each in first.divergences] == ["dom-changed"]
    assert first.observation is not None
    assert first.duration_ms < 30_000
