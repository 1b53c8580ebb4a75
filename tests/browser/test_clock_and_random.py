from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.browser.page_clock import SteppedClock
from eikon_engine.trace.actions import Click, Navigate
from tests.browser.desk import CLOCK_START_MS, at
from tests.browser.pages import Answer
from tests.browser.worker_desk import BLOB, SAY, SETTLE_WORKERS, pass_time, said, show, worker_desk

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.desk import Desk, Room
    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

SOURCES = {
    "time without a date": (
        "say(new Intl.DateTimeFormat('en', {dateStyle: 'full', timeStyle: 'long'}).format());"
        "say(new Intl.DateTimeFormat('en').formatToParts()[4].value);"
        "say(Temporal.Now.instant()); say(Temporal.Now.plainDateTimeISO())"
    ),
    "stamps": (
        "say(new Event('x').timeStamp); addEventListener('load', e => say(e.timeStamp));"
        "setTimeout(() => say(new Event('x').timeStamp), 30); say(performance.timeOrigin)"
    ),
    "entries": (
        "say(performance.getEntries().length); performance.mark('a'); say(performance.measure('b', 'a').duration);"
        "new PerformanceObserver(list => say('observed')).observe({type: 'paint', buffered: true});"
        "new PerformanceObserver(list => say('observed')).observe({entryTypes: ['mark', 'resource']});"
        "performance.mark('c')"
    ),
    "modified": "say(document.lastModified)",
    "machine": (
        "const c = navigator.connection; say([navigator.hardwareConcurrency, navigator.deviceMemory,"
        "c.effectiveType, c.rtt, c.downlink, c.saveData]);"
        "navigator.storage.estimate().then(e => say(JSON.stringify(e)))"
    ),
    "machine of a worker": (
        "new Worker("
        + BLOB.format("'postMessage([navigator.hardwareConcurrency, navigator.deviceMemory].join())'")
        + ")"
        ".onmessage = e => say(e.data)"
    ),
    "delayed tasks": (
        "scheduler.postTask(() => say('task ' + Date.now()), {delay: 50}); scheduler.postTask(() => say('task'));"
        "const off = new AbortController();"
        "scheduler.postTask(() => say('no'), {delay: 20, signal: off.signal}).catch(e => say(e.name)); off.abort()"
    ),
    "idle": "requestIdleCallback(left => say([left.didTimeout, left.timeRemaining(), Date.now()]), {timeout: 40})",
    "channels": (
        "const {port1, port2} = new MessageChannel(); let n = 0;"
        "port1.onmessage = () => { if (++n < 50) port2.postMessage(0); else say(n + ' ' + Date.now()) };"
        "port2.postMessage(0); setTimeout(() => say('timer'), 10)"
    ),
    "busy clock": (
        "let a = 0, b = 0, c = 0; setInterval(() => a++, 0); (function go() { b++; setTimeout(go, 0) })();"
        "(function go() { c++; requestAnimationFrame(go) })(); setTimeout(() => say([a, b, c]), 90)"
    ),
}


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_of_nondeterminism_is_equal_in_three_sessions(live_browser: Room, site: PageSite, source: str) -> None:
    """A page reads the same values in every session."""
    heard = []
    for _ in range(3):
        with worker_desk(live_browser) as desk:
            show(desk, SOURCES[source])
            pass_time(desk, 100, 50)
            heard.append(said(desk))

    assert heard[0] == heard[1] == heard[2]
    assert heard[0]
    assert "observed" not in heard[0]


def test_durations_are_page_time(live_browser: Room, site: PageSite) -> None:
    """No measurement that a page can make shows real time."""
    script = "say(document.lastModified); say(Temporal.Now.instant().epochMilliseconds); say(performance.timeOrigin);"
    with worker_desk(live_browser) as desk:
        show(desk, script + "say(new Intl.DateTimeFormat('en').format())")

        assert said(desk) == ["11/14/2023 22:13:20", str(CLOCK_START_MS), str(CLOCK_START_MS), "11/14/2023"]


TIMER = "setTimeout(() => {}(Date.now()), 1700)"
WORKER = BLOB.format(f"`{TIMER.format('postMessage')}`")
FRAME_TIMER = "setTimeout(() => parent.p.textContent += Date.now(), 1700)"
PLACES = {
    "no timer": ("", [5000]),
    "document": (TIMER.format("say"), [1500, 500, 3000]),
    "frame": (
        (
            "const frame = document.createElement('iframe');"
            f"frame.srcdoc = '<script>{FRAME_TIMER}<' + '/script>'; document.body.append(frame)"
        ),
        [1500, 500, 3000],
    ),
    "worker": (f"new Worker({WORKER}).onmessage = event => say(event.data)", [1500, 500, 3000]),
}


@pytest.mark.parametrize("place", PLACES)
def test_page_time_passes_tick_by_tick_only_where_a_timer_is_due(
    live_browser: Room, site: PageSite, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ticks without any timer pass at once; a timer fires at its time, that of a worker too."""
    script, expected = PLACES[place]
    advance, steps = SteppedClock.advance, []

    async def noting(clock: SteppedClock, duration_ms: float) -> None:
        steps.append(duration_ms)
        await advance(clock, duration_ms)

    with worker_desk(live_browser) as desk:
        show(desk, script)
        monkeypatch.setattr(SteppedClock, "advance", noting)
        desk.portal.call(desk.worker.session.stabilizer.settle, 5000)

        assert steps == expected
        assert said(desk) == ([] if place == "no timer" else [str(CLOCK_START_MS + 1700)])


def test_last_modified_is_the_header_of_the_server(desk: Desk, site: PageSite) -> None:
    """`document.lastModified` follows the `Last-Modified` header."""
    site.answers["/old"] = Answer(body="<p>", headers=(("Last-Modified", "Tue, 02 Jan 2001 03:04:05 GMT"),))

    desk.ok(Navigate(url=f"{site.url}/old"))

    assert desk.js("document.lastModified") == "01/02/2001 03:04:05"


MOVING = {
    "delayed transition": "#t{opacity:1;transition:opacity 3s 9s}#t.on{opacity:.5}",
    "short transition": "#t{width:9px;display:block;transition:width 90ms}#t.on{width:50px}",
    "transition of all": "#t,#t::before{content:'';transition:all 1s;color:red}#t.on,#t.on::before{color:blue}",
}


@pytest.mark.parametrize("style", MOVING)
@pytest.mark.parametrize("place", ["document", "shadow", "declared shadow", "frame"])
def test_a_transition_ends_at_once_with_its_events(desk: Desk, site: PageSite, style: str, place: str) -> None:
    """Wherever the element is, its transition is over after the action that began it, and its events are fired."""
    inner = f"<style>{MOVING[style]}</style><i id=t>t</i>"
    listen = "for (const kind of ['transitionrun', 'transitionend']) t.addEventListener(kind, () => said.push(kind));"
    whole = {
        "document": f"{inner}<script>said = []; {listen} turn = () => t.classList.add('on')</script>",
        "shadow": "<div id=h></div><script>said = []; const r = h.attachShadow({mode: 'closed'});"
        f"r.innerHTML = `{inner}`; const t = r.getElementById('t'); {listen}"
        "turn = () => t.classList.add('on')</script>",
        "declared shadow": f"<div id=h><template shadowrootmode=open>{inner}</template></div><script>said = [];"
        f"const t = h.shadowRoot.getElementById('t'); {listen} turn = () => t.classList.add('on')</script>",
        "frame": f'<iframe id=f srcdoc="{inner}"></iframe><script>said = []; f.onload = () => {{'
        f"const t = f.contentDocument.getElementById('t'); {listen} turn = () => t.classList.add('on') }}</script>",
    }[place]
    desk.ok(Navigate(url=site.put(f"<button id=b onclick=turn()>b</button>{whole}")))

    seen = desk.ok(Click(target=at("#b")))

    told = desk.js("said")
    assert "transitionend" in told
    assert told.count("transitionend") == told.count("transitionrun")
    assert seen.virtual_ms == 100


@pytest.mark.parametrize("place", ["document", "declared shadow"])
def test_a_css_animation_ends_or_is_paused(desk: Desk, site: PageSite, place: str) -> None:
    """A finite animation is over once the page is idle, an endless one is paused, in shadow roots too."""
    inner = "<style>@keyframes k{to{opacity:.2}}#t{animation:k 5s 2s}#u{animation:k 2s infinite}</style>"
    inner += "<i id=t>t</i><i id=u>u</i>"
    inner += "<i id=v style='animation:k 5s 2s!important'>v</i><i id=w style='animation:k 2s infinite!important'>w</i>"
    html = inner if place == "document" else f"<div id=h><template shadowrootmode=open>{inner}</template></div>"

    desk.ok(Navigate(url=site.put(html)))

    root = "(window.h?.shadowRoot ?? document)"
    assert desk.js(
        f"{root}.getAnimations().map(each => [each.effect.target.id, each.playState, each.currentTime])"
    ) == [["w", "paused", 0]]


def test_fetch_later_is_sent_now_and_recorded(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """A request that a page defers to its end goes through the routes, so that a sealed session serves it too."""
    site.answers["/beacon"] = Answer(body="")
    url = site.put(
        SAY.format("const l = fetchLater('/beacon', {method: 'POST', body: 'x', activateAfter: 9e4});say(l.activated)")
    )
    with live_browser.recording(tmp_path) as desk:
        desk.ok(Navigate(url=url))
        recorded = said(desk)
    assert "POST /beacon" in site.paths()
    site.asked.clear()

    with sealed_browser.sealed(tmp_path) as desk:
        desk.ok(Navigate(url=url))

        assert said(desk) == recorded == ["true"]
        assert desk.network().served == 2
        assert desk.network().misses == ()
    assert site.paths() == ()


def test_random_numbers_differ_within_a_session_and_by_seed(live_browser: Room, site: PageSite) -> None:
    """A seed gives a sequence, not a constant, to a page and to its workers."""
    source = "'onmessage = () => postMessage([...Array(9)].map(() => crypto.randomUUID()).join())'"
    with worker_desk(live_browser) as desk:
        show(desk, f"const w = new Worker({BLOB.format(source)}); w.onmessage = e => say(e.data); w.postMessage(0)")
        desk.js(SETTLE_WORKERS)
        drawn = said(desk)[0].split(",")

        assert len(set(drawn)) == 9
