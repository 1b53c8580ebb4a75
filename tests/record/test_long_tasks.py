"""Missions on pages with long tasks: their timers keep their order with the actions of the agent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, expect

from eikon_engine.errors import ReplayDivergenceError
from eikon_engine.network.store import read_network
from eikon_engine.replay import ReplayEngine, ReplayOptions
from tests.browser.pages import Answer, serve_pages
from tests.record.recorded_page import TWICE, recorded_page

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.network.long_tasks import LongTask

pytestmark = pytest.mark.browser

COMPUTING_MS = 2500
DEBOUNCE_MS = 2000
ROUNDING_MS = 10
"""How much shorter a browser may report a long task."""
DEBOUNCED_SAVE = f"""<button id=load>Load</button><button id=edit>Edit</button><p id=state>none</p><script>
let timer;
const save = text => {{
  state.textContent = text;
  clearTimeout(timer);
  timer = setTimeout(async () => {{
    await fetch('/save', {{ method: 'POST', body: text }});
    document.title = 'saved ' + text;
  }}, {DEBOUNCE_MS});
}};
load.onclick = async () => {{
  const text = await (await fetch('/data')).text();
  const end = Date.now() + {COMPUTING_MS};
  for (let still = 0, last = 0; last < end && still < 1e6;) {{ // the clock of a replay stands still
    const now = Date.now();
    still = now === last ? still + 1 : 0;
    last = now;
  }}
  save(text);
}};
edit.onclick = () => save('edited');
</script>"""


def the_long_task(bundle: Path) -> LongTask:
    """Return the only recorded long task of this length."""
    tasks = read_network(bundle / "network").long_tasks
    (task,) = (each for each in tasks if each.ended_ms - each.begun_ms >= COMPUTING_MS - ROUNDING_MS)
    return task


def test_a_page_that_puts_off_saving_is_certified_at_once_and_replays(chromium: Browser, tmp_path: Path) -> None:
    """The page computes before it sets the timer that the next action resets; otherwise it would fire before that."""
    bundle = tmp_path / "bundle"

    with serve_pages() as site, recorded_page(chromium, bundle, TWICE) as recorded:
        site.answers |= {"/data": Answer(body="loaded"), "/save": Answer(body="")}
        recorded.page.goto(site.put(DEBOUNCED_SAVE))
        recorded.page.click("#load")
        expect(recorded.page.locator("#state")).to_have_text("loaded")
        recorded.page.click("#edit")
        expect(recorded.page).to_have_title("saved edited")
    saves = [each for each in site.asked if each.path == "/save"]
    outcome = ReplayEngine(ReplayOptions(artifacts_dir=tmp_path / "replay")).replay(bundle)

    assert [each.body for each in saves] == [b"edited"]
    assert the_long_task(bundle).ended_ms > COMPUTING_MS - ROUNDING_MS
    report = recorded.mission.report
    assert report is not None
    assert (report.status, report.findings) == ("certified", ())
    assert (outcome.verdict, outcome.network.misses, outcome.network.unsent) == ("faithful", (), ())

    (bundle / "network" / "long_tasks.jsonl").unlink()
    with pytest.raises(ReplayDivergenceError, match="request-not-recorded"):
        ReplayEngine(ReplayOptions(artifacts_dir=tmp_path / "without")).replay(bundle)


def test_the_page_reports_when_it_was_clicked(chromium: Browser, tmp_path: Path) -> None:
    """A page that computes when it is clicked was clicked before, whenever the call returns."""
    bundle = tmp_path / "bundle"

    with serve_pages() as site, recorded_page(chromium, bundle) as recorded:
        recorded.page.goto(site.put(DEBOUNCED_SAVE.replace("await (await fetch('/data')).text()", "'loaded'")))
        recorded.page.click("#load")
        clicked_ms = recorded.page.evaluate("Date.now()")

    trace = json.loads((bundle / "trace.json").read_text(encoding="utf-8"))
    click = trace["subgoal_traces"][0]["actions_taken"][1]
    task = the_long_task(bundle)
    assert abs(click["observation"]["acted_ms"] - task.begun_ms) < COMPUTING_MS / 4
    assert clicked_ms - trace["environment"]["clock_start_ms"] >= task.ended_ms - 1


def test_a_page_that_computes_before_it_is_clicked_reports_when_it_was(chromium: Browser, tmp_path: Path) -> None:
    """The pointer reaches the button, and the page computes before the press does: the call acts after that."""
    bundle = tmp_path / "bundle"
    compute = f"const end = Date.now() + {COMPUTING_MS}; while (Date.now() < end);"

    with serve_pages() as site, recorded_page(chromium, bundle) as recorded:
        recorded.page.goto(site.put(f'<button id=go onpointerenter="{compute}">Go</button>'))
        recorded.page.click("#go")

    trace = json.loads((bundle / "trace.json").read_text(encoding="utf-8"))
    click = trace["subgoal_traces"][0]["actions_taken"][1]
    task = the_long_task(bundle)
    assert (
        task.begun_ms + COMPUTING_MS - ROUNDING_MS
        <= click["observation"]["acted_ms"]
        < task.ended_ms + COMPUTING_MS / 4
    )


def test_the_page_reports_when_an_element_that_came_late_was_clicked(chromium: Browser, tmp_path: Path) -> None:
    """Its target is probed until it is there, so that the last probe may come just before the click."""
    bundle = tmp_path / "bundle"
    compute = f"const end = Date.now() + {COMPUTING_MS}; while (Date.now() < end);"
    show = f"""document.body.innerHTML = '<button id=go onclick="{compute}">Go</button>'"""

    with serve_pages() as site, recorded_page(chromium, bundle) as recorded:
        recorded.page.goto(site.put(f"<body><script>setTimeout(() => {{ {show} }}, 700)</script>"))
        recorded.page.click("#go")

    trace = json.loads((bundle / "trace.json").read_text(encoding="utf-8"))
    click = trace["subgoal_traces"][0]["actions_taken"][1]
    assert abs(click["observation"]["acted_ms"] - the_long_task(bundle).begun_ms) < COMPUTING_MS / 4


THROTTLED_SAVE = f"""<button id=start>Start</button><button id=edit>Edit</button><p id=state>none</p><script>
let saved = 0;
const compute = duration => {{
  const end = Date.now() + duration;
  for (let still = 0, last = 0; last < end && still < 1e6;) {{ // the clock of a replay stands still
    const now = Date.now();
    still = now === last ? still + 1 : 0;
    last = now;
  }}
}};
const save = text => {{
  if (Date.now() - saved < {COMPUTING_MS / 2}) return;
  saved = Date.now();
  fetch('/save', {{ method: 'POST', body: text }}).then(() => {{ document.title = 'saved ' + text; }});
}};
start.onclick = () => save('started');
edit.onclick = () => {{
  compute({COMPUTING_MS});
  state.textContent = 'edited';
  setTimeout(() => save('edited'), 0);
}};
</script>"""


def test_what_a_page_does_right_after_it_computed_is_done_at_that_time(chromium: Browser, tmp_path: Path) -> None:
    """A page that saves at most so often, and computes before, saves then: its clock has moved on meanwhile."""
    bundle = tmp_path / "bundle"

    with serve_pages() as site, recorded_page(chromium, bundle, TWICE) as recorded:
        site.answers |= {"/save": Answer(body="")}
        recorded.page.goto(site.put(THROTTLED_SAVE))
        recorded.page.click("#start")
        expect(recorded.page).to_have_title("saved started")
        recorded.page.click("#edit")
        expect(recorded.page).to_have_title("saved edited")
    saves = [each.body for each in site.asked if each.path == "/save"]
    outcome = ReplayEngine(ReplayOptions(artifacts_dir=tmp_path / "replay")).replay(bundle)

    assert saves == [b"started", b"edited"]
    report = recorded.mission.report
    assert report is not None
    assert (report.status, report.findings) == ("certified", ())
    assert (outcome.verdict, outcome.network.unsent) == ("faithful", ())
