"""Timers of an unchanged live site do what they did in the recording, and go on afterwards."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.pages import Answer, serve_pages
from tests.record.recorded_page import TWICE, recorded_page
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.browser.pages import Asked, PageSite

pytestmark = pytest.mark.browser

RIPPLE = """<!doctype html><title>Ripple</title><p id=said></p><script>
fetch('/label').then(answer => answer.text()).then(label => {
  const button = document.createElement('button');
  button.textContent = label;
  button.onclick = () => {
    said.textContent = 'Done';
    const ripple = document.createElement('i');
    button.append(ripple);
    setTimeout(() => ripple.remove(), 900);
  };
  document.body.append(button);
});</script>"""


def test_an_action_acts_at_its_recorded_page_time(chromium: Browser, tmp_path: Path) -> None:
    """The button was shown late in the recording: what its click shows for a while is still there afterwards."""
    with serve_pages() as site:
        delays_s = [1.0]

        def label(_: Asked) -> Answer:
            if delays_s:
                site.released.wait(delays_s.pop())
            return Answer(body="Save", content_type="text/plain")

        site.answers |= {"/": Answer(body=RIPPLE), "/label": label}
        with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
            agent.page.goto(site.url)
            agent.page.get_by_role("button", name="Save").click()
            expect(agent.page.locator("#said")).to_have_text("Done")
        outcome = replay(tmp_path / "b", tmp_path / "run", network="live", secrets={})

    assert [each.message + each.detail for each in outcome.divergences] == []
    assert outcome.verdict == "faithful"


POLLS = """<!doctype html><title>Board</title><p id=ticks></p><label>Note <input></label><h1>Board</h1><script>
let n_intervals = 0;
setInterval(async () => {
  n_intervals += 1;
  const headers = { 'Content-Type': 'application/json' };
  const answer = await fetch('/tick', { method: 'POST', body: JSON.stringify({ n_intervals }), headers });
  ticks.textContent = (await answer.json()).text;
}, 4000);</script>"""


@pytest.fixture
def board() -> Iterator[PageSite]:
    """Serve a page with numbered polls."""
    with serve_pages() as site:
        site.answers |= {"/": Answer(body=POLLS), "/tick": tick}
        yield site


def tick(asked: Asked) -> Answer:
    """Say which poll it is."""
    number = json.loads(asked.body)["n_intervals"]
    return Answer(body=json.dumps({"text": f"Updated {number} times"}), content_type="application/json")


def fill_often(chromium: Browser, board: PageSite, folder: Path) -> None:
    """Record a mission that ends soon after the first poll; its replays pass more page time, and poll again."""
    with recorded_page(chromium, folder, TWICE) as agent:
        agent.page.goto(board.url)
        expect(agent.page.locator("#ticks")).to_have_text("Updated 1 times")
        for number in range(10):
            agent.page.get_by_label("Note").fill(f"note {number}")


def test_polls_may_go_on_after_the_recorded_ones(chromium: Browser, board: PageSite, tmp_path: Path) -> None:
    """What they get has no recorded counterpart, and the steps say so."""
    fill_often(chromium, board, tmp_path / "b")

    outcome = replay(tmp_path / "b", tmp_path / "run", network="live", secrets={})

    assert [each.message + each.expected + each.observed for each in outcome.divergences] == []
    assert outcome.verdict == "faithful"
    masked = {name for attempt in outcome.subgoals for step in attempt.steps for name in getattr(step, "masked", ())}
    assert "text of a poll that the recording did not reach" in masked


def test_another_text_than_that_of_the_poll_is_a_difference(chromium: Browser, board: PageSite, tmp_path: Path) -> None:
    """Only the text of the poll is another one: a page that changes beside it diverges."""
    fill_often(chromium, board, tmp_path / "b")
    changed = POLLS.replace("(await answer.json()).text;", "`${(await answer.json()).text}!`;")
    board.answers["/"] = Answer(body=changed.replace("<h1>Board", "<h1>Desk"))

    outcome = replay(tmp_path / "b", tmp_path / "run", network="live", secrets={})

    assert outcome.verdict == "diverged"


EVENTS = """<!doctype html><title>Shop</title><button>Buy</button><button>Look</button><p id=said></p>
<script src=/events.js></script>"""
REPORT = """let polls = 0;
const [buy, look] = document.querySelectorAll('button');
const report = () => setTimeout(async () => {
  polls += 1;
  const headers = { 'Content-Type': 'application/json' };
  await fetch('/tick', { method: 'POST', body: JSON.stringify({ n_intervals: polls }), headers });
  said.textContent = 'Reported';
}, 500);
buy.onclick = report;"""


def test_what_a_further_click_sends_is_no_poll(chromium: Browser, board: PageSite, tmp_path: Path) -> None:
    """It has the next number, and a timer sends it, so that it looks like one; but so did the first one."""
    script = Answer(body=REPORT, content_type="text/javascript")
    board.answers |= {"/": Answer(body=EVENTS), "/events.js": script}
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(board.url)
        agent.page.get_by_role("button", name="Buy").click()
        expect(agent.page.locator("#said")).to_have_text("Reported")
        agent.page.get_by_role("button", name="Look").click()
    both = REPORT.replace("buy.onclick = report;", "buy.onclick = look.onclick = report;")
    board.answers["/events.js"] = replace(script, body=both)

    outcome = replay(tmp_path / "b", tmp_path / "run", network="live", secrets={})

    assert "request-unexpected" in {each.code for each in outcome.divergences}
