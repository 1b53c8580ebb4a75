from __future__ import annotations

import time

import pytest

from eikon_engine.browser.stabilizer import IDLE_TIMEOUT_S
from eikon_engine.trace.actions import Click, FunctionCondition, Navigate, WaitFor
from tests.browser.desk import CLOCK_START_MS, Desk, Room, at
from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

WRITE = "<pre id=p></pre><button id=b>Go</button><script>const say = text => p.textContent += text + '\\n';{}</script>"
SOURCES = {
    "chance": "say(Math.random()); b.onclick = () => say(Math.random())",
    "crypto": "say(crypto.getRandomValues(new Uint32Array(4)));"
    "b.onclick = () => say(URL.createObjectURL(new Blob([])).length)",
    "date": "say(Date.now()); say(new Date()); b.onclick = () => say(+new Date())",
    "performance": "say(performance.now()); b.onclick = () => say(performance.now())",
    "interval": "setInterval(() => say(Date.now()), 40)",
    "busy interval": "let n = 0; setInterval(() => n++, 0); setTimeout(() => say(n), 50)",
    "frames": "let n = 0; (function go() { n++; requestAnimationFrame(go) })(); setInterval(() => say(n), 50)",
    "frame stamps": "requestAnimationFrame(stamp => say(stamp)); requestAnimationFrame(() => say(performance.now()))",
    "chain of timers": "let n = 0; (function go() { n++; setTimeout(go) })(); setInterval(() => say(n), 50)",
    "idle": "requestIdleCallback(() => say('idle ' + Date.now()))",
    "transition": "p.style.transition = 'opacity 3s'; p.ontransitionend = () => say('end');"
    "b.onclick = () => p.style.opacity = '0.5'",
    "animation": "document.head.insertAdjacentHTML('beforeend', '<style>@keyframes k{to{opacity:0.2}}"
    "#b{animation:k 2s infinite alternate}</style>'); b.onanimationend = () => say('end')",
    "animation by script": "b.animate([{opacity: 0}, {opacity: 1}], {duration: 4000, iterations: 2}).onfinish"
    " = () => say('end'); p.animate([{opacity: 0}, {opacity: 1}], {duration: 400, iterations: Infinity})",
    "throwing timer": "setTimeout(() => { throw new Error('no') }, 10); setTimeout(() => say('after'), 20)",
    "short transition": "p.style.cssText = 'width: 9px; transition: width 90ms'; p.ontransitionend = () => say('end');"
    "b.onclick = () => { p.style.width = '50px' }",
    "moving picture": "b.insertAdjacentHTML('afterend', '<svg><circle r=5><animate attributeName=r to=9 dur=3s"
    " repeatCount=indefinite></svg>'); say(1)",
    "worker-free promises": "Promise.resolve().then(() => say(performance.now()))",
}


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_of_nondeterminism_is_equal_in_fresh_sessions(live_browser: Room, site: PageSite, source: str) -> None:
    """Three sessions end with one DOM, at the same page time, and none hangs."""
    url = site.put(WRITE.format(SOURCES[source]))
    begin = time.monotonic()
    runs = []
    for _ in range(3):
        with live_browser.desk() as desk:
            runs.append((desk.ok(Navigate(url=url)), desk.ok(Click(target=at("#b"))), desk.js("p.textContent")))

    assert [run for run in runs if run != runs[0]] == []
    assert runs[0][2]
    assert time.monotonic() - begin < 3 * IDLE_TIMEOUT_S


def test_random_numbers_differ_within_a_session(desk: Desk) -> None:
    """A seed gives a sequence, not a constant."""
    desk.show("<p>")

    assert desk.js("new Set([...Array(50)].map(() => Math.random())).size") == 50
    assert desk.js("new Set([...Array(50)].map(() => crypto.getRandomValues(new Uint32Array(1))[0])).size") == 50


def test_the_clock_starts_at_the_time_of_the_environment(desk: Desk) -> None:
    """Page time begins at the start of the recording and advances only when we step it."""
    desk.show("<p>")
    begin = desk.js("Date.now()")

    seen = desk.ok(WaitFor(condition=FunctionCondition(expression=f"Date.now() >= {CLOCK_START_MS + 5000}")))

    assert CLOCK_START_MS <= begin <= CLOCK_START_MS + 1000
    assert desk.js("Date.now()") - begin == seen.virtual_ms


@pytest.mark.parametrize(
    "html",
    [
        "<script>document.open(); document.write('<p>never closed')</script>",
        "<p>x</p><script>onload = () => { document.open(); document.write('<p>never closed') }</script>",
        "<p id=p>x</p><script>p.animate({opacity: [0, 1]}, {duration: 1e9})</script>",
        "<link rel=preload as=font href='data:font/woff2;base64,AA'><p>x",
        "<svg><circle r=5><animate attributeName=r to=9 dur=3s repeatCount=indefinite /></circle></svg>",
        "<progress></progress><marquee>old</marquee>",
        "<iframe sandbox srcdoc='<p>no scripts'></iframe>",
        "<iframe loading=lazy src=/far style='margin-top:9000px'></iframe>",
        "<iframe src=http://127.0.0.1:1/></iframe><object data=/none></object><iframe src='data:text/html,x'></iframe>",
    ],
)
def test_a_page_that_is_never_idle_does_not_stop_a_mission(desk: Desk, html: str) -> None:
    """Endless movement is not waited for."""
    begin = time.monotonic()

    desk.ok(Navigate(url=desk.site.put(html)))
    desk.ok(WaitFor(condition=FunctionCondition(expression="true")))

    assert time.monotonic() - begin < IDLE_TIMEOUT_S


def test_a_changed_style_is_measured_at_once(desk: Desk) -> None:
    """A page that reads a style it has just set sees the new value, as in any browser."""
    desk.show("<p id=p style='width:10px;color:red'>p")

    assert desk.js("(p.style.width = '300px', p.offsetWidth)") == 300
    assert desk.js("(p.style.color = 'blue', getComputedStyle(p).color)") == "rgb(0, 0, 255)"


def test_an_error_in_a_timer_does_not_stop_the_clock(desk: Desk) -> None:
    """A callback that throws is reported as a page error, and later timers run on time."""
    seen = desk.show(
        "<p id=p></p><script>setInterval(() => { throw new TypeError('again') }, 40);"
        "setTimeout(() => p.textContent = performance.now(), 90)</script>"
    )

    assert seen.page_errors == ("TypeError: again", "TypeError: again")
    assert float(desk.js("p.textContent")) >= 90
    assert seen.virtual_ms == 100
