from __future__ import annotations

import pytest

from eikon_engine.browser.page_activity import ACTIVITY, ACTIVITY_TWICE, query_activity
from eikon_engine.dom import render_html
from eikon_engine.trace.actions import (
    Assert,
    AssertCount,
    AssertText,
    AssertUrl,
    AssertVisible,
    Expectation,
    ExtractDom,
    Navigate,
    Note,
    Screenshot,
)
from tests.browser.desk import Desk, at

pytestmark = pytest.mark.browser

SURROGATES = (r"\ud83d", r"\ud83e")
PNG = b"\x89PNG\r\n\x1a\n"
PAGE = "<h1 id=h>  Two\n words </h1><p>1<p>2<i id=i hidden>x</i>"


@pytest.mark.parametrize(
    "expectation",
    [
        AssertVisible(target=at("#h")),
        AssertText(target=at("#h"), text="Two words"),
        AssertText(target=at("#h"), text="wo w", contains=True),
        AssertCount(target=at("p"), count=2),
        AssertCount(target=at("b"), count=0),
        AssertUrl(url="http://127.0.0.1:*/page-*"),
    ],
)
def test_an_assertion_that_holds_succeeds(desk: Desk, expectation: Expectation) -> None:
    """It reads the page without causing any event."""
    desk.show(PAGE)

    desk.ok(Assert(expectation=expectation))

    assert desk.trail() == []


@pytest.mark.parametrize(
    ("expectation", "found"),
    [
        (AssertVisible(target=at("#i")), "found hidden"),
        (AssertVisible(target=at("#none")), "found no such element"),
        (AssertText(target=at("#h"), text="Two"), "found 'Two words'"),
        (AssertText(target=at("#h"), text="Three", contains=True), "with 'Three', found 'Two words'"),
        (AssertCount(target=at("p"), count=3), "found 2"),
        (AssertUrl(url="*/other"), "found http://127.0.0.1"),
    ],
)
def test_an_assertion_that_does_not_hold_fails_at_once(desk: Desk, expectation: Expectation, found: str) -> None:
    """No page time passes, and the message says what was found."""
    desk.show(PAGE)

    performed = desk.do(Assert(expectation=expectation))

    assert performed.error is not None
    assert performed.error.code == "assertion-failed"
    assert found in performed.error.message
    assert performed.observation is not None
    assert performed.observation.virtual_ms == 0


def test_an_assertion_about_one_of_two_is_ambiguous(desk: Desk) -> None:
    """Only a count may match several elements."""
    desk.show(PAGE)

    desk.fails(Assert(expectation=AssertVisible(target=at("p"))), "target-ambiguous")


def test_screenshots_of_equal_pages_are_equal(desk: Desk) -> None:
    """A screenshot is a PNG of the viewport or of the whole page."""
    desk.show(PAGE + "<div style='height:3000px'>")

    first, second = desk.do(Screenshot()), desk.do(Screenshot())
    whole = desk.do(Screenshot(full_page=True))

    assert first.screenshot is not None
    assert first.screenshot.startswith(PNG)
    assert first.screenshot == second.screenshot
    assert whole.screenshot is not None
    assert int.from_bytes(whole.screenshot[20:24]) > 3000


def test_a_screenshot_of_an_element_shows_that_alone(desk: Desk) -> None:
    """It is scrolled into view; without it there is no screenshot."""
    desk.show("<div style='height:3000px'></div><div id=d style='width:70px;height:30px;background:red'></div>")

    seen = desk.do(Screenshot(target=at("#d")))

    assert seen.screenshot is not None
    assert (int.from_bytes(seen.screenshot[16:20]), int.from_bytes(seen.screenshot[20:24])) == (70, 30)
    assert seen.identity is not None
    assert desk.do(Screenshot(target=at("#none"), timeout_ms=100)).screenshot is None


def test_extract_dom_and_note_do_nothing_to_the_page(desk: Desk) -> None:
    """Skills work on the snapshot that every observation has."""
    shown = desk.show(PAGE)

    extracted = desk.do(ExtractDom())
    noted = desk.ok(Note(text="thinking"))

    assert extracted.captured is not None
    assert "Two" in render_html(extracted.captured.snapshots[0].main)
    assert noted.pages == shown.pages
    assert desk.trail() == []
    desk.fails(ExtractDom(page=4), "page-missing")


def test_errors_of_a_page_are_observed(desk: Desk) -> None:
    """Uncaught errors, unhandled rejections and console errors are in the observation."""
    seen = desk.ok(
        Navigate(
            url=desk.site.put(
                "<script>console.error('logged', 1); setTimeout(() => { throw new TypeError('thrown') }, 5);"
                "Promise.reject(new Error('rejected'))</script><img src=/none.png>"
            )
        )
    )

    assert seen.page_errors == ("Error: rejected", "TypeError: thrown")
    assert "logged 1" in seen.console_errors
    assert any("404" in each for each in seen.console_errors)


@pytest.mark.parametrize("place", ["here", "elsewhere", "nowhere"])
def test_a_query_reports_movement_once(desk: Desk, place: str) -> None:
    """Querying ends a transition, so the first query reports it, whatever kind of frames the page has."""
    inner = desk.site.put("<p>inner")
    source = {"here": inner, "elsewhere": inner.replace("127.0.0.1", "localhost"), "nowhere": "about:blank"}[place]
    desk.show(f"<style>#d {{ transition: opacity 5s }}</style><div id=d>x</div><iframe src={source}></iframe>")
    desk.js("getComputedStyle(d).opacity; d.style.opacity = 0; getComputedStyle(d).opacity")

    looks = [desk.portal.call(query_activity, desk.worker.session.tracker).animating for _ in range(2)]

    assert looks == [True, False]


@pytest.mark.parametrize("frames", ["", "<iframe srcdoc='<p>inner'></iframe>", "<iframe sandbox srcdoc='x'></iframe>"])
@pytest.mark.parametrize(("script", "is_seen"), [(ACTIVITY, False), (ACTIVITY_TWICE, True)])
def test_a_second_look_sees_what_the_first_one_triggered(
    desk: Desk, frames: str, script: str, *, is_seen: bool
) -> None:
    """The page notices each look, which reads its timers, and opens its document again when it gets a message."""
    desk.show(f"<p>here{frames}")
    desk.js("""{
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => document.open();
      const clock = __pwClock.controller, timers = clock._timers;
      void Object.defineProperty(clock, '_timers', { get() { port2.postMessage(0); return timers; } });
    }""")

    seen = desk.portal.call(query_activity, desk.worker.session.tracker, script)

    assert seen.loading == is_seen


def test_half_of_a_pair_of_surrogates_is_observed(desk: Desk) -> None:
    """A title that was cut, and texts compressed into storage: two of them differ, and none is an error."""
    seen = [
        desk.ok(Navigate(url=desk.site.put(f"<script>document.title = localStorage.packed = 'a{half}'</script>")))
        for half in SURROGATES
    ]

    assert [each.pages[0].title[0] for each in seen] == ["a", "a"]
    assert len({each.storage for each in seen}) == len(SURROGATES)
