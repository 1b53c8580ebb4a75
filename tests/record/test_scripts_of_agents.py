"""What a script of the agent returned is compared, and may be what the agent waited for."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from eikon_engine.trace.actions import Evaluate, ReadValue
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.labels import action_label
from eikon_engine.trace.masks import ReadPart
from eikon_engine.trace.patch import AddMask
from eikon_engine.trace.read_values import read_digest
from tests.browser.pages import Answer
from tests.record.order_shop import read_divergence
from tests.record.recorded_page import QUICK, TWICE, recorded_actions, recorded_page, steps
from tests.record.test_unsent_requests import certify, replace_action
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

STATUS = "document.querySelector('#status').textContent"
ORDER = f"""<p id=status>Pending</p><script>
fetch('/verdict').then(r => r.text()).then(text => {{ {STATUS} = text }});
</script>"""


def answer_later(site: PageSite, verdict: str, seconds: float) -> None:
    """Decide after some time."""

    def decide(_asked: object) -> Answer:
        threading.Event().wait(seconds)
        return Answer(body=verdict)

    site.answers["/verdict"] = decide


def order(site: PageSite, page: Page) -> None:
    """Ask for the status until it is decided."""
    answer_later(site, "Approved", 1.0)
    page.goto(site.put(ORDER))
    deadline = time.monotonic() + 20
    while page.evaluate(STATUS) == "Pending":
        assert time.monotonic() < deadline
        page.wait_for_timeout(200)


def test_a_result_that_replays_do_not_repeat_is_no_noise(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """A status is what the agent came for: another one in every replay is a difference, not a mask."""
    bundle = tmp_path / "bundle"
    with recorded_page(chromium, bundle) as agent:
        agent.page.goto(site.put("<p id=status>Pending</p>"))
        agent.page.evaluate(STATUS)
    replace_action(bundle, 1, Evaluate(expression=STATUS, value=ReadValue(value="Approved")))

    report = certify(bundle)

    assert report.status == "diverged", report
    assert not any(isinstance(each, AddMask) for each in report.patch.operations)
    (found,) = [each for each in report.findings if each.sequence == 2]
    assert '"Approved"' in found.message
    assert '"Pending"' in found.message


def test_a_time_in_a_result_is_masked_and_the_words_around_it_are_not(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """The mask has a pattern of the value."""
    bundle = tmp_path / "bundle"
    with recorded_page(chromium, bundle, TWICE) as agent:
        agent.page.goto(site.put("<p id=status>Approved</p>"))
        agent.page.evaluate(f"{STATUS} + ' at ' + Date.now()")
        agent.page.evaluate("performance.now()")

    (stamp, measured) = [each.part for each in open_bundle(bundle).trace.masks]
    assert isinstance(stamp, ReadPart)
    assert isinstance(measured, ReadPart)
    assert stamp.pattern == r'"Approved\ at\ [0-9]{13}"'
    assert stamp.covers(ReadValue(value="Approved at 1700000000123"))
    assert not stamp.covers(ReadValue(value="Rejected at 1700000000123"))
    assert replay(bundle, tmp_path / "sealed").verdict == "faithful"
    step = next(each for each in steps(bundle) if each.sequence == 2)
    rejected = step.action.model_copy(update={"value": ReadValue(value="Rejected at 1700000000123")})
    replace_action(bundle, 1, rejected)
    assert replay(bundle, tmp_path / "other").verdict == "diverged"


def test_a_mask_covers_the_script_that_it_was_made_for(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Scripts whose labels are equal, as they begin alike, or that contain a `*`, are other scripts."""
    bundle = tmp_path / "bundle"
    prefix = "/* what the agent wants to know about the page that it has just opened, in one number */ "
    times = f"{prefix} 1 * Date.now()"
    fixed = f"{prefix} 1 * 1700000000123"
    with recorded_page(chromium, bundle, TWICE) as agent:
        agent.page.goto(site.put("<p id=status>Approved</p>"))
        agent.page.evaluate(times)
        agent.page.evaluate(fixed)
        agent.page.evaluate(times)

    (mask,) = open_bundle(bundle).trace.masks
    masked, compared, again = [step.action for step in steps(bundle)][1:]
    assert isinstance(mask.part, ReadPart)
    assert action_label(masked) == action_label(compared) == mask.part.action
    assert mask.part.reads == read_digest(masked) == read_digest(again) != read_digest(compared)
    assert replay(bundle, tmp_path / "sealed").verdict == "faithful"
    replace_action(bundle, 2, compared.model_copy(update={"value": ReadValue(value=1700000000124)}))
    changed = replay(bundle, tmp_path / "changed")
    assert read_divergence(changed)[2:] == ("1700000000124", "1700000000123")


def test_an_agent_may_wait_with_a_script(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Replays of a site that is slower or faster get the last value, and another one is a difference."""
    bundle = tmp_path / "bundle"
    with recorded_page(chromium, bundle, TWICE) as agent:
        order(site, agent.page)

    polls = [each for each in recorded_actions(bundle) if isinstance(each, Evaluate)]
    assert [each.is_poll for each in polls[:3]] == [False, True, True]
    assert [each.value for each in polls[-2:]] == [ReadValue(value="Pending"), ReadValue(value="Approved")]
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
    assert replay(bundle, tmp_path / "sealed").verdict == "faithful"
    for name, delay in (("slower", 2.5), ("faster", 0.0)):
        answer_later(site, "Approved", delay)
        seen = replay(bundle, tmp_path / name, network="live")
        assert seen.verdict == "faithful", (name, read_divergence(seen))
    answer_later(site, "Rejected", 1.0)
    changed = replay(bundle, tmp_path / "changed", network="live")
    assert changed.verdict == "diverged"
    assert "Rejected" in read_divergence(changed)[3]


def test_a_script_that_ran_once_runs_once(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Whatever comes between two runs of a script, they are no poll."""
    bundle = tmp_path / "bundle"
    with recorded_page(chromium, bundle, QUICK) as agent:
        agent.page.goto(site.put("<p id=status>1</p>"))
        agent.page.evaluate(f"{STATUS} += 1")
        agent.page.click("#status")
        agent.page.evaluate(f"{STATUS} += 1")
        agent.page.evaluate(STATUS)

    assert [each.is_poll for each in recorded_actions(bundle) if isinstance(each, Evaluate)] == [False] * 3


def test_a_script_that_acts_is_never_repeated(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The agent ran it twice, and so does a replay, whatever it returns."""
    orders = []

    def take(_asked: object) -> Answer:
        orders.append("one")
        return Answer(body="ok")

    site.answers["/add"] = take
    bundle = tmp_path / "bundle"
    add = "async () => { await fetch('/add', { method: 'POST' }); return Date.now(); }"
    with recorded_page(chromium, bundle, TWICE) as agent:
        agent.page.goto(site.put("<p>Cart</p>"))
        agent.page.evaluate(add)
        agent.page.evaluate(add)

    assert [each.is_poll for each in recorded_actions(bundle) if isinstance(each, Evaluate)] == [False] * 2
    orders.clear()
    replay(bundle, tmp_path / "live", network="live")
    assert orders == ["one"] * 2
    poll = Evaluate(expression=add, value=ReadValue(value="never"), is_poll=True)
    replace_action(bundle, 2, poll)
    orders.clear()
    replay(bundle, tmp_path / "changed", network="live", on_divergence="continue")
    assert orders == ["one"] * 2


def test_a_number_is_no_time_because_its_script_reads_the_clock(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """Only a script that returns the time of the page, and nothing else, may return any number."""
    bundle = tmp_path / "bundle"
    script = "() => { window.readAt = performance.now(); return document.querySelectorAll('li').length; }"
    with recorded_page(chromium, bundle) as agent:
        agent.page.goto(site.put("<li>one<li>two"))
        agent.page.evaluate(script)
    replace_action(bundle, 1, Evaluate(expression=script, value=ReadValue(value=0)))

    report = certify(bundle)

    assert report.status == "diverged", report


def test_white_space_in_a_masked_value_does_not_matter(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The pattern of a mask is that of the value with its white space collapsed, as it is compared."""
    bundle = tmp_path / "bundle"
    with recorded_page(chromium, bundle, TWICE) as agent:
        agent.page.goto(site.put("<p>Saved</p>"))
        agent.page.evaluate("'Saved\\u00a0 at  ' + new Date().toISOString()")

    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report
    assert replay(bundle, tmp_path / "sealed").verdict == "faithful"
