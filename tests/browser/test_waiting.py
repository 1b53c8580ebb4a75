from __future__ import annotations

import time

import pytest

from eikon_engine.browser.stabilizer import IDLE_TIMEOUT_S
from eikon_engine.trace.actions import (
    Condition,
    FunctionCondition,
    LoadStateCondition,
    Navigate,
    SelectorCondition,
    TrafficCondition,
    UrlCondition,
    UrlMatcher,
    WaitFor,
)
from tests.browser.desk import Desk, Room, at
from tests.browser.pages import Answer, PageSite

pytestmark = pytest.mark.browser

LATER = "<p id=p>old</p><p id=gone>x</p><script>setTimeout(() => {{ {} }}, 2000)</script>"


@pytest.mark.parametrize(
    ("change", "condition"),
    [
        ("p.insertAdjacentHTML('afterend', '<b id=b>new')", SelectorCondition(target=at("#b"))),
        ("p.insertAdjacentHTML('afterend', '<b id=b hidden>')", SelectorCondition(target=at("#b"), state="attached")),
        ("gone.remove()", SelectorCondition(target=at("#gone"), state="detached")),
        ("gone.style.display = 'none'", SelectorCondition(target=at("#gone"), state="hidden")),
        ("gone.remove()", SelectorCondition(target=at("#gone"), state="hidden")),
        ("history.pushState(0, '', '/done?id=5')", UrlCondition(url="*/done?id=*")),
        ("window.ready = {}", FunctionCondition(expression="window.ready")),
        ("window.ready = {}", FunctionCondition(expression="() => window.ready")),
        ("window.ready = 5", FunctionCondition(expression="given => window.ready === given.n", argument={"n": 5})),
        (
            "p.title = 'a'",
            FunctionCondition(expression="(e, title) => e.title === title", argument="a", target=at("#p")),
        ),
    ],
)
def test_a_condition_is_waited_for_in_page_time(desk: Desk, change: str, condition: Condition) -> None:
    """A change after two seconds of the page clock is seen at that page time."""
    desk.show(LATER.format(change))

    seen = desk.ok(WaitFor(condition=condition))

    assert 1800 <= seen.virtual_ms <= 2200


def test_the_load_state_holds_when_the_document_is_complete(desk: Desk) -> None:
    """A document with a pending image is not loaded yet."""
    site = desk.site
    site.answers["/late.png"] = lambda _: Answer(
        status=404 if site.released.wait(0.3) else 200, content_type="image/png"
    )
    desk.ok(Navigate(url=site.put("<img src=/late.png>"), wait_until="commit"))

    desk.ok(WaitFor(condition=LoadStateCondition(state="load")))

    assert desk.js("document.readyState") == "complete"


@pytest.mark.parametrize(
    "condition",
    [
        SelectorCondition(target=at("#never")),
        SelectorCondition(target=at("#p"), state="detached"),
        UrlCondition(url="http://elsewhere.test/"),
        FunctionCondition(expression="false"),
        FunctionCondition(expression="() => false"),
        FunctionCondition(expression="() => true", target=at("#never")),
        FunctionCondition(expression="() => true", frames=("#never",)),
    ],
)
def test_a_condition_that_never_holds_fails_at_its_deadline(desk: Desk, condition: Condition) -> None:
    """Ten seconds of page time take far less wall time, and are counted."""
    desk.show("<p id=p>p")
    begin = time.monotonic()

    performed = desk.do(WaitFor(condition=condition, timeout_ms=10_000))

    took = time.monotonic() - begin
    assert performed.error is not None
    assert performed.error.code == "wait-timeout"
    assert performed.observation is not None
    assert performed.observation.virtual_ms == 10_100
    assert took < 10


def test_traffic_counts_from_the_beginning_of_the_wait(desk: Desk) -> None:
    """A poll just before a wait is not what it waits for; one during the wait is, though its step begins later."""
    desk.site.answers["/poll"] = Answer(body="pending")
    desk.show("<script>fetch('/poll')</script>")
    poll = TrafficCondition(event="response", matcher=UrlMatcher(syntax="glob", text="**/poll"), steps=1)

    before = desk.do(WaitFor(condition=poll, timeout_ms=500))

    assert before.error is not None
    assert before.error.message.endswith("found 0 of 1")
    desk.show("<script>fetch('/poll')</script>")
    during = desk.do(WaitFor(condition=poll, timeout_ms=500, elapsed_ms=2000))
    assert during.error is not None
    assert during.error.message.endswith("found 0 of 1")
    desk.show("<script>fetch('/poll')</script>")
    assert desk.do(WaitFor(condition=poll, timeout_ms=500, elapsed_ms=300)).error is None


def test_a_condition_that_holds_takes_no_page_time(desk: Desk) -> None:
    """Only the settling time of every action passes."""
    desk.show("<p id=p>p")

    seen = desk.ok(WaitFor(condition=SelectorCondition(target=at("#p"))))

    assert seen.virtual_ms == 100


def test_waiting_for_one_of_two_is_ambiguous(desk: Desk) -> None:
    """The intended element is unknown."""
    desk.show("<p>1<p>2")

    desk.fails(WaitFor(condition=SelectorCondition(target=at("p"))), "target-ambiguous")
    desk.fails(WaitFor(condition=FunctionCondition(expression="e => e", target=at("p"))), "target-ambiguous")


@pytest.mark.parametrize(
    "expression", ["nosuch.thing", "((", "() => { throw new Error('no') }", "fetch('/')", "async () => false"]
)
def test_an_expression_that_throws_is_rejected(desk: Desk, expression: str) -> None:
    """An invalid condition differs from one that does not hold."""
    desk.show("<p>1")

    desk.fails(WaitFor(condition=FunctionCondition(expression=expression), timeout_ms=100), "action-rejected")


@pytest.mark.parametrize(
    "expression",
    [
        "1 > 0;",
        "() => true;",
        "1 > 0 // ready",
        "var x = 1; x > 0",
        "function () { return true }",
        "given => given === 7",
    ],
)
def test_an_expression_is_evaluated_as_by_playwright(desk: Desk, expression: str) -> None:
    """Statements, comments and functions of all kinds are allowed."""
    desk.show("<p>1")

    desk.ok(WaitFor(condition=FunctionCondition(expression=expression, argument=7), timeout_ms=100))


def test_two_identical_runs_use_the_same_page_time(live_browser: Room, site: PageSite) -> None:
    """Page time and DOM are equal, however long the server took."""
    pauses = iter((0.0, 0.15))
    site.answers["/data"] = lambda _: Answer(body=f"data {site.released.wait(next(pauses))}")
    url = site.put(
        "<p id=p></p><script>fetch('/data').then(r => r.text()).then(t => setTimeout(() => "
        "{ p.textContent = t + performance.now() }, 700))</script>"
    )
    runs = []
    for _ in range(2):
        with live_browser.desk() as desk:
            shown = desk.ok(Navigate(url=url))
            seen = desk.ok(WaitFor(condition=FunctionCondition(expression="p.textContent")))
            runs.append((shown, seen))

    assert runs[0] == runs[1]


def test_a_replayed_action_uses_the_recorded_page_time(desk: Desk) -> None:
    """A replay advances page time exactly as far as the recording did."""
    desk.show("<p id=p>p")
    recorded = desk.ok(WaitFor(condition=SelectorCondition(target=at("#p")))).model_copy(update={"virtual_ms": 350.0})

    performed = desk.do(WaitFor(condition=SelectorCondition(target=at("#p"))), recorded)

    assert performed.observation is not None
    assert performed.observation.virtual_ms == 350


def test_a_synchronous_request_does_not_stop_an_action(desk: Desk) -> None:
    """A page that is blocked on a response gets it."""
    from eikon_engine.trace.actions import Click

    desk.site.answers["/sync"] = Answer(body="answer")
    desk.show(
        "<button id=b>Go</button><p id=p></p><script>b.onclick = () => { const x = new XMLHttpRequest();"
        "x.open('GET', '/sync', false); x.send(); p.textContent = x.responseText }</script>"
    )
    begin = time.monotonic()

    desk.ok(Click(target=at("#b")))

    assert desk.js("p.textContent") == "answer"
    assert time.monotonic() - begin < IDLE_TIMEOUT_S


def test_a_frame_includes_what_observers_of_it_do(desk: Desk) -> None:
    """Those of intersections and sizes are called after the events of animations."""
    desk.show("<p>text")

    calls = desk.js(
        """(async () => {
          const calls = [];
          new IntersectionObserver(() => { calls.push('intersection'); }).observe(document.body);
          new ResizeObserver(() => { calls.push('size'); }).observe(document.body);
          await __eikon__.nextFrame();
          return calls.sort();
        })()"""
    )

    assert calls == ["intersection", "size"]
