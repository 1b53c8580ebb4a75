"""What an agent waits for in its Playwright client is a step, and a replay waits for the same."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright._impl.frame import Frame
from playwright._impl.waiter import Waiter
from playwright.sync_api import Browser, Error, Page

from eikon_engine.outcome.outcomes import ActionOutcome
from eikon_engine.trace.actions import (
    Condition,
    LoadStateCondition,
    Note,
    RequestCondition,
    ResponseCondition,
    UrlCondition,
    WaitFor,
)
from tests.browser.pages import Answer, PageSite, redirect
from tests.record.recorded_page import TWICE, kinds, recorded_actions, recorded_page, warnings
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from eikon_engine.outcome.outcomes import ReplayOutcome

pytestmark = pytest.mark.browser

JOB = """<button onclick="start()">Start</button><p id=status>none</p><script>
const start = () => {
  const timer = setInterval(async () => {
    const text = await (await fetch('/status')).text();
    document.getElementById('status').textContent = text;
    if (text === 'done') clearInterval(timer);
  }, 300);
};
</script>"""
LATER = """<button onclick="setTimeout(() => { location.href = '/done?id=5' }, 2000)">Pay</button>"""


class Job:
    """A site with a job whose status is polled until it is done."""

    def __init__(self, site: PageSite, polls: int) -> None:
        """Answer this many polls before it is done."""
        self.polls = polls
        self.asked = 0
        self.last_status = 200
        site.answers["/status"] = self._answer
        self.url = site.put(JOB)

    def _answer(self, _asked: object) -> Answer:
        self.asked += 1
        is_done = self.asked >= self.polls
        return Answer(body="done" if is_done else "pending", status=self.last_status if is_done else 200)


def conditions(folder: Path) -> list[Condition]:
    """Return the conditions that were waited for, in order."""
    return [action.condition for action in recorded_actions(folder) if isinstance(action, WaitFor)]


def first_differences(outcome: ReplayOutcome) -> tuple[str, dict[str, str]]:
    """Return the type of the first step that diverged, and what was observed by code."""
    for step in (step for subgoal in outcome.subgoals for step in subgoal.steps):
        if isinstance(step, ActionOutcome) and step.divergences:
            return step.type, {found.code: found.observed for found in step.divergences}
    raise AssertionError("nothing diverged")


def wait_for_everything(page: Page, site: PageSite, url: str) -> None:
    """Wait for each kind of event that a replay can wait for."""
    page.goto(url)
    page.wait_for_load_state("networkidle")
    with page.expect_response("**/status") as response:
        page.click("button")
    assert response.value.status == 200
    with page.expect_request(lambda request: request.url.endswith("/status")):
        pass
    with page.expect_event("requestfinished"):
        pass
    with page.expect_navigation():
        page.evaluate("location.href = '/done'")
    page.wait_for_url("**/done")
    assert page.url == f"{site.url}/done"
    page.frames[1].wait_for_load_state("domcontentloaded")
    page.frames[1].wait_for_url("**/inner")


def test_waits_for_urls_states_requests_and_responses_are_steps(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """They hold what the agent got, and replays of both kinds wait for it."""
    job = Job(site, polls=1000)
    site.answers["/done"] = Answer(body="<h1>Done</h1><iframe src=/inner></iframe>")
    site.answers["/inner"] = Answer(body="inner")
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        wait_for_everything(agent.page, site, job.url)

    status = f"{site.url}/status"
    found = conditions(tmp_path / "b")
    assert found[0] == LoadStateCondition(state="load")
    assert found[1] == ResponseCondition(method="GET", url=status, status=200, steps=2)
    assert isinstance(found[2], RequestCondition)
    assert (found[2].method, found[2].url) == ("GET", status)
    assert isinstance(found[3], ResponseCondition)
    assert found[4:] == [
        UrlCondition(url=f"{site.url}/done"),
        UrlCondition(url=f"{site.url}/done"),
        LoadStateCondition(state="domcontentloaded", frames=("iframe >> nth=0",)),
        UrlCondition(url=f"{site.url}/inner", frames=("iframe >> nth=0",)),
    ]
    assert warnings(tmp_path / "b") == ""
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
    assert replay(tmp_path / "b", tmp_path / "sealed").verdict == "faithful"
    assert replay(tmp_path / "b", tmp_path / "live", network="live").verdict == "faithful"


def test_a_mission_that_ends_in_a_response_waits_for_it(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The polls that the agent waited for are part of the mission, and a response with another status diverges."""
    job = Job(site, polls=9)
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(job.url)
        agent.page.click("button")
        with agent.page.expect_response(lambda response: response.text() == "done", timeout=15_000):
            pass

    assert kinds(tmp_path / "b") == ["click", "wait_for"]
    assert conditions(tmp_path / "b") == [
        ResponseCondition(method="GET", url=f"{site.url}/status", status=200, count=9, steps=1)
    ]
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
    sealed = replay(tmp_path / "b", tmp_path / "sealed")
    assert sealed.verdict == "faithful"
    assert sealed.network is not None
    assert "sent after the last step" not in "".join(sealed.network.notes)
    job.asked, job.last_status = 0, 503
    changed = replay(tmp_path / "b", tmp_path / "changed", network="live")
    kind, found = first_differences(changed)
    assert kind == "wait_for"
    assert "503" in found["wait-timeout"]


def test_a_live_site_may_need_fewer_polls(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """How often a page asks depends on its server; a live replay waits for as many responses, if they come."""
    job = Job(site, polls=6)
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(job.url)
        with agent.page.expect_response(lambda response: response.text() == "done", timeout=3_000):
            agent.page.click("button")

    job.asked, job.polls = 0, 4

    assert replay(tmp_path / "b", tmp_path / "faster", network="live").verdict == "faithful"


@pytest.mark.parametrize(
    ("recorded", "live", "verdict"),
    [
        pytest.param(202, 200, "faithful", id="ready at once"),
        pytest.param(200, 202, "diverged", id="never ready"),
        pytest.param(202, 500, "diverged", id="failed"),
    ],
)
def test_a_live_site_may_be_ready_at_the_first_poll(
    chromium: Browser, site: PageSite, tmp_path: Path, recorded: int, live: int, verdict: str
) -> None:
    """The agent got a status of a job in progress; one that is still in progress is not what it waited for."""
    answer = Answer(body="{}", status=recorded, content_type="application/json")
    site.answers["/job"] = answer
    url = site.put("<button onclick=\"fetch('/job')\">Start</button>")
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(url)
        with agent.page.expect_response("**/job"):
            agent.page.click("button")
    assert [each.status for each in conditions(tmp_path / "b") if isinstance(each, ResponseCondition)] == [recorded]
    site.answers["/job"] = replace(answer, status=live)

    seen = replay(tmp_path / "b", tmp_path / "live", network="live")

    assert seen.verdict == verdict


def test_a_mission_that_ends_in_a_url_waits_for_it(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """A page that the agent waited for is loaded in each replay; one that leads elsewhere diverges at the wait."""
    site.answers["/done"] = Answer(body="<h1>Paid</h1>")
    url = site.put(LATER)
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(url)
        agent.page.click("button")
        agent.page.wait_for_url("**/done*")

    assert conditions(tmp_path / "b") == [UrlCondition(url=f"{site.url}/done?id=5")]
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
    assert replay(tmp_path / "b", tmp_path / "sealed").verdict == "faithful"
    assert replay(tmp_path / "b", tmp_path / "live", network="live").verdict == "faithful"
    site.answers["/done"] = redirect("/declined")
    site.answers["/declined"] = Answer(body="<h1>Declined</h1>")
    changed = replay(tmp_path / "b", tmp_path / "changed", network="live")
    kind, found = first_differences(changed)
    assert kind == "wait_for"
    assert "/declined" in found["wait-timeout"]


def test_a_token_in_an_awaited_url_may_be_another_one(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The live site signs the link anew; a link to another page is not the awaited one."""
    drawn = (secrets.token_urlsafe(24) for _ in range(9))
    path = "/order"
    site.answers["/"] = lambda _: Answer(body=f"<a href='{path}?signature={next(drawn)}'>Order</a>")
    site.answers |= {"/order": Answer(body="<h1>Order</h1>"), "/other": Answer(body="<h1>Order</h1>")}
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(site.url)
        agent.page.click("a")
        agent.page.wait_for_url("**/order?*")
        agent.page.locator("h1").inner_text()

    assert kinds(tmp_path / "b") == ["click", "wait_for", "read"]
    unchanged = replay(tmp_path / "b", tmp_path / "unchanged", network="live", secrets={})
    assert unchanged.verdict == "faithful", unchanged
    path = "/other"
    changed = replay(tmp_path / "b", tmp_path / "changed", network="live", secrets={})
    assert changed.verdict == "diverged"


def test_a_wait_for_a_function_that_failed_is_a_note(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """No replay can tell whether the function would accept something now, and a warning says so; the time passes."""
    url = site.put("<button>Go</button>")
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(url)
        with pytest.raises(Error):
            agent.page.wait_for_url(lambda url: url.endswith("never"), timeout=800)
        with pytest.raises(Error), agent.page.expect_response(lambda _: False, timeout=100):
            agent.page.click("button")

    first, click, second = recorded_actions(tmp_path / "b")
    assert isinstance(first, Note)
    assert first.text == 'waiting for navigation until "load": Timeout 800ms exceeded.'
    assert click.type == "click"
    assert isinstance(second, Note)
    assert second.text.startswith('waiting for event "response": Timeout 100ms exceeded')
    assert warnings(tmp_path / "b").count("depends on a function of the agent") == 2
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings


def wait_for_idle_network(page: Page) -> None:
    """Wait for a page that never stops polling."""
    page.wait_for_load_state("networkidle", timeout=900)


def wait_for_any_navigation(page: Page) -> None:
    """Wait for a page that stays."""
    with page.expect_navigation(timeout=900):
        pass


def wait_for_load_event(page: Page) -> None:
    """Wait for an event that has fired already."""
    page.wait_for_event("load", timeout=900)


def wait_for_failed_request(page: Page) -> None:
    """Wait for a request that fails."""
    page.wait_for_event("requestfailed", timeout=900)


@pytest.mark.parametrize(
    "wait", [wait_for_idle_network, wait_for_any_navigation, wait_for_load_event, wait_for_failed_request]
)
def test_a_wait_that_timed_out_and_that_no_replay_checks_is_a_warning(
    chromium: Browser, site: PageSite, tmp_path: Path, wait: Callable[[Page], None]
) -> None:
    """It is a note that always succeeds, so a warning says that nothing is compared."""
    site.answers["/poll"] = Answer(body="pending")
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put("<script>setInterval(() => fetch('/poll'), 100)</script>"))
        with pytest.raises(Error):
            wait(agent.page)

    (note,) = recorded_actions(tmp_path / "b")
    assert isinstance(note, Note)
    assert "Timeout 900ms exceeded" in note.text
    assert warnings(tmp_path / "b").count("replays do not check that it times out") == 1


def test_a_late_effect_that_the_agent_waited_for_is_in_every_replay(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """A popup that opens long after the click belongs to the wait; one that opens at once belongs to the click."""
    site.answers["/popup"] = Answer(body="<h1>Popup</h1>")
    url = site.put(
        "<button id=now onclick=\"window.open('/popup')\">Now</button>"
        "<button id=late onclick=\"setTimeout(() => window.open('/popup'), 1500)\">Late</button>"
    )
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(url)
        with agent.page.expect_popup():
            agent.page.click("#now")
        with agent.page.expect_popup():
            agent.page.click("#late")

    *clicks, note = recorded_actions(tmp_path / "b")
    assert [each.type for each in clicks] == ["click", "click"]
    assert isinstance(note, Note)
    assert 'event "popup"' in note.text
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings
    sealed = replay(tmp_path / "b", tmp_path / "sealed")
    seen = [step.observation for step in sealed.subgoals[-1].steps if isinstance(step, ActionOutcome)]
    assert [None if each is None else each.opened for each in seen] == [(), (1,), (), (2,)]


def test_an_agent_may_go_on_during_a_wait(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The wait becomes a step where it ends, after what the agent did meanwhile."""
    job = Job(site, polls=3)
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(job.url)
        with agent.page.expect_response(lambda response: response.text() == "done", timeout=15_000):
            agent.page.wait_for_timeout(800)
            agent.page.click("button")

    assert kinds(tmp_path / "b") == ["note", "click", "wait_for"]
    (condition,) = conditions(tmp_path / "b")
    assert isinstance(condition, ResponseCondition)
    assert (condition.count, condition.steps) == (3, 3)
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report.findings


def _wait_methods() -> tuple[object, ...]:
    return vars(Frame)["_setup_navigation_waiter"], Waiter.reject_on_timeout, Waiter.wait_for_event


def test_the_client_is_as_before_once_the_last_recording_has_ended(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """Its classes are observed while anything is recorded: one mission that ends does not end the other."""
    before = _wait_methods()
    url, done = site.put(LATER), "**/done?id=5"
    site.answers["/done"] = Answer(body="<p>paid")
    for number in (1, 2):
        with recorded_page(chromium, tmp_path / f"outer-{number}") as outer:
            outer.page.goto(url)
            with recorded_page(chromium, tmp_path / f"inner-{number}") as inner:
                inner.page.goto(url)
                assert not set(before) & set(_wait_methods())
            assert not set(before) & set(_wait_methods())
            outer.page.click("button")
            outer.page.wait_for_url(done)

        assert _wait_methods() == before
        assert kinds(tmp_path / f"outer-{number}") == ["click", "wait_for"]


def test_what_something_else_replaced_since_is_left_alone(
    chromium: Browser, site: PageSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Restoring the method from before would undo the change of another library."""
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put(LATER))
        observed = Waiter.reject_on_timeout

        def wrapped(self: Waiter, timeout: float, message: str) -> None:
            observed(self, timeout, message)

        monkeypatch.setattr(Waiter, "reject_on_timeout", wrapped)

    assert Waiter.reject_on_timeout is wrapped
    monkeypatch.undo()
    with recorded_page(chromium, tmp_path / "c") as agent:
        agent.page.goto(site.put(LATER))
    assert Waiter.reject_on_timeout is not observed
