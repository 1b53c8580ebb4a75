"""Live pages may be slower or faster than the recorded ones; what they come to is compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.pages import Answer, serve_pages
from tests.record.recorded_page import TWICE, recorded_page
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.browser.pages import PageSite

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
