"""A live replay acts at the recorded page time, and its pages may be further than those the agent did not wait for."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from eikon_engine.trace.bundle import load_page, open_bundle
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.steps import iter_steps, map_actions
from eikon_engine.trace.trace_file import write_trace
from tests.browser.pages import Answer, serve_pages
from tests.record.recorded_page import TWICE, recorded_page
from tests.replay.conftest import replay

BUNDLE = Path(__file__).resolve().parents[1] / "data" / "traces" / "shop_passing"

RIPPLE = """<!doctype html><title>Ripple</title><button>Save</button><script>
document.querySelector('button').onclick = ({ target }) => {
  const ripple = target.appendChild(document.createElement('i'));
  setTimeout(() => ripple.remove(), 1500);
};
</script>"""
SLOW_MS = 1200
"""How long the agent's call takes until it clicks, in addition to what it took in the test."""


@pytest.mark.browser
def test_a_live_action_acts_when_the_recorded_one_did(chromium: Browser, tmp_path: Path) -> None:
    """The ripple is there for some time after the click; it must not be gone because a slow call began earlier."""
    with serve_pages() as site:
        site.answers["/"] = Answer(body=RIPPLE)
        with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
            agent.page.goto(f"{site.url}/")
            agent.page.get_by_role("button").click()
            expect(agent.page.locator("i")).to_have_count(1)
        _delay_click(tmp_path / "b")
        outcome = replay(tmp_path / "b", tmp_path / "run", network="live")

    assert outcome.verdict == "faithful", [each.message for each in outcome.divergences]


def _delay_click(root: Path) -> None:
    """Let the recorded click act later, and its page be observed as much later; all that follows is later, too."""
    trace = open_bundle(root).trace

    def later(step: ActionTrace) -> ActionTrace:
        seen = step.observation
        if seen is None or step.sequence == 1 or seen.acted_ms is None:
            return step
        is_click = step.action.type == "click"
        moved = {
            "begun_ms": seen.begun_ms + (0 if is_click else SLOW_MS),
            "acted_ms": seen.acted_ms + SLOW_MS,
            "virtual_ms": (seen.virtual_ms or 0) + (SLOW_MS if is_click else 0),
        }
        return step.model_copy(update={"observation": seen.model_copy(update=moved)})

    write_trace(map_actions(trace, later), root)


LATER = """<!doctype html><title>Loading</title><p id=shown>loading</p><button>Go</button><script>
let sum = 0;
for (let number = 0; number < 6e8; number += 1) sum += number % 7;
setTimeout(() => { shown.textContent = 'ready'; }, 350);
</script>"""


@pytest.mark.browser
def test_what_a_document_takes_to_compute_is_no_time_of_its_timers(chromium: Browser, tmp_path: Path) -> None:
    """The page clock of a live replay stands meanwhile; the timer must not fire before the agent looked."""
    with serve_pages() as site:
        site.answers["/"] = Answer(body=LATER)
        with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
            agent.page.goto(f"{site.url}/")
            agent.page.get_by_role("button").click()
            expect(agent.page.locator("#shown")).to_have_text("ready")
        outcome = replay(tmp_path / "b", tmp_path / "run", network="live")

    first = next(iter(iter_steps(open_bundle(tmp_path / "b").trace)))[1]
    assert isinstance(first, ActionTrace)
    assert first.baseline is not None
    page = load_page(open_bundle(tmp_path / "b").dom, first.baseline.pages[0])
    assert page is not None
    texts = [node.text for node in page.frames[0].root.walk()]
    assert "loading" in texts
    assert outcome.verdict == "faithful", [each.message for each in outcome.divergences]
