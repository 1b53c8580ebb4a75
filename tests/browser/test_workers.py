from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from eikon_engine.browser.page_clock import SteppedClock
from eikon_engine.browser.session import SessionOptions
from eikon_engine.browser.stabilizer import IDLE_TIMEOUT_S
from eikon_engine.browser.traffic.live import LiveTraffic
from eikon_engine.browser.worker import open_worker
from eikon_engine.network.store import read_network
from eikon_engine.trace.actions import Navigate
from tests.browser.desk import CLOCK_START_MS, Desk, environment
from tests.browser.pages import Answer
from tests.browser.worker_desk import BLOB, SAY, SETTLE_WORKERS, pass_time, said, show, worker_desk

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.desk import Room
    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

SCRIPT = "text/javascript"
TICKING = "setTimeout(() => postMessage(Date.now()), 3000)"
FEW_STEPS = 4
"""Steps of the clock around one timer; four seconds are eight ticks."""
IMPORTING = "Failed to execute 'importScripts' on 'WorkerGlobalScope'"
CHANCE_AND_TIME = """
const first = [Date.now(), performance.now(), crypto.randomUUID(), crypto.getRandomValues(new Uint8Array(4)).join()];
postMessage(first.join(' '));
postMessage(new Intl.DateTimeFormat('en', {timeStyle: 'medium'}).format());
postMessage(String(new Date()) + Date());
let n = 0;
const tell = () => { postMessage('interval ' + Date.now()); if (++n === 3) clearInterval(ticking); };
const ticking = setInterval(tell, 30);
setTimeout(() => postMessage('late ' + performance.now()), 45);
setTimeout(() => postMessage('never'), 1e6);
requestAnimationFrame(stamp => postMessage('frame ' + stamp));
onmessage = ({data}) => postMessage('got ' + data + ' ' + Date.now());
"""
WAYS = {
    "address": "new Worker('w.js')",
    "module": "new Worker('w.js', {type: 'module'})",
    "blob": f"new Worker({BLOB.format('source')})",
    "blob module": f"new Worker({BLOB.format('source')}, {{type: 'module'}})",
    "data": "new Worker('data:text/javascript,' + encodeURIComponent(source))",
    "data in base64": "new Worker('data:text/javascript;base64,' + btoa(source))",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_worker_uses_the_clock_and_the_seed_of_its_page(live_browser: Room, site: PageSite, way: str) -> None:
    """However a worker is started, it sends the same messages in three sessions, at the same page times."""
    site.answers["/w.js"] = Answer(body=CHANCE_AND_TIME, content_type=SCRIPT)
    start = f"const source = {json.dumps(CHANCE_AND_TIME)}; const w = {WAYS[way]}; w.onmessage = e => say(e.data);"
    heard = []
    for _ in range(3):
        with worker_desk(live_browser) as desk:
            show(desk, start)
            desk.js("w.postMessage('hello')")
            pass_time(desk, 120)
            heard.append(said(desk))

    assert heard[0] == heard[1] == heard[2]
    assert heard[0][0].startswith(f"{CLOCK_START_MS} 0 ")
    assert [line for line in heard[0] if line.startswith(("interval", "late"))] == [
        f"interval {CLOCK_START_MS + 30}",
        "late 45",
        f"interval {CLOCK_START_MS + 60}",
        f"interval {CLOCK_START_MS + 90}",
    ]
    assert f"got hello {CLOCK_START_MS}" in heard[0]


def test_workers_of_one_page_have_different_random_numbers(live_browser: Room, site: PageSite) -> None:
    """Every worker has a seed of its own, nested ones included."""
    nested = f"const w = new Worker({BLOB.format(json.dumps('postMessage(crypto.randomUUID())'))});"
    source = json.dumps(f"postMessage(crypto.randomUUID()); {nested} w.onmessage = e => postMessage(e.data);")
    with worker_desk(live_browser) as desk:
        show(desk, f"for (const n of [1, 2]) new Worker({BLOB.format(source)}).onmessage = e => say(e.data);")
        desk.js(SETTLE_WORKERS)

        assert len(set(said(desk))) == 4
        assert desk.js("crypto.randomUUID()") not in said(desk)


def test_a_nested_worker_is_routed_and_stepped(live_browser: Room, site: PageSite) -> None:
    """A worker of a worker uses the page clock, and its script goes through the routes."""
    outer = "const w = new Worker('inner.js'); w.onmessage = e => postMessage('inner ' + e.data);"
    inner = "importScripts('more.js'); setTimeout(() => postMessage(more + Date.now() + location.pathname), 30);"
    site.answers["/deep/outer.js"] = Answer(body=outer, content_type=SCRIPT)
    site.answers["/deep/inner.js"] = Answer(body=inner, content_type=SCRIPT)
    site.answers["/deep/more.js"] = Answer(body="self.more = 'more ';", content_type=SCRIPT)
    with worker_desk(live_browser) as desk:
        show(desk, "new Worker('/deep/outer.js').onmessage = e => say(e.data);")
        pass_time(desk, 60)

        assert said(desk) == [f"inner more {CLOCK_START_MS + 30}/deep/inner.js"]
        assert desk.network().served == 4


def test_a_worker_sees_its_own_name_and_urls(live_browser: Room, site: PageSite) -> None:
    """A script reads the same values as in a browser without us."""
    script = """"use strict";
    const strict = (function () { return this === undefined })();
    postMessage([self.name, location.href, location.pathname, String(location), location instanceof WorkerLocation,
        strict, self instanceof DedicatedWorkerGlobalScope, Object.keys(self).includes('__eikon__')].join());
    (async () => {
        postMessage(await (await fetch('near')).text());
        postMessage(await (await fetch(new Request('near'))).text());
        const asked = new XMLHttpRequest(); asked.open('GET', 'near', false); asked.send();
        postMessage(asked.responseText + (await import('./m.js')).default);
    })();"""
    site.answers["/deep/w.js"] = Answer(body=script, content_type=SCRIPT)
    site.answers["/deep/m.js"] = Answer(body="export default ' module'", content_type=SCRIPT)
    site.answers["/deep/near"] = Answer(body="near")
    with worker_desk(live_browser) as desk:
        show(desk, "new Worker('/deep/w.js?a#b', {name: 'its name'}).onmessage = e => say(e.data);")
        pass_time(desk, 20)

        href = f"{site.url}/deep/w.js?a#b"
        assert said(desk) == [f"its name,{href},/deep/w.js,{href},true,true,true,false", "near", "near", "near module"]


def test_a_module_worker_runs_its_imports_on_the_same_clock(live_browser: Room, site: PageSite) -> None:
    """A dependency that keeps a timer function at its top level keeps ours."""
    site.answers["/deep/w.js"] = Answer(
        body="import {later} from './dep.js'; postMessage(import.meta.url);"
        "onmessage = e => later(() => postMessage(e.data + Date.now()), 25);",
        content_type=SCRIPT,
    )
    site.answers["/deep/dep.js"] = Answer(body="export const later = setTimeout;", content_type=SCRIPT)
    with worker_desk(live_browser) as desk:
        show(
            desk,
            "const w = new Worker('/deep/w.js', {type: 'module'}); w.onmessage = e => say(e.data);"
            "w.postMessage('at ');",
        )
        pass_time(desk, 40)

        assert said(desk) == [f"{site.url}/deep/w.js", f"at {CLOCK_START_MS + 25}"]


def test_messages_and_transfers_reach_a_starting_worker(live_browser: Room, site: PageSite) -> None:
    """Early messages arrive in order, transferred objects leave the page, and clone errors are raised."""
    site.answers["/w.js"] = Answer(
        body="onmessage = e => { e.ports[0]?.postMessage('by port');"
        " postMessage([e.data.byteLength ?? e.data, e.data instanceof ArrayBuffer].join()) }",
        content_type=SCRIPT,
    )
    script = """
    const w = new Worker('w.js'); w.onmessage = e => say(e.data);
    const bytes = new ArrayBuffer(8), {port1, port2} = new MessageChannel();
    port1.onmessage = e => say(e.data);
    w.postMessage(bytes, [bytes]); w.postMessage('two', {transfer: [port2]}); w.postMessage('three');
    say(bytes.byteLength);
    try { w.postMessage(() => 1) } catch (error) { say(error.name) }
    say([w instanceof Worker, w.constructor === Worker, Worker.name, Object.keys(w).length].join());
    """
    with worker_desk(live_browser) as desk:
        show(desk, script)
        desk.js(SETTLE_WORKERS)

        heard = said(desk)
        assert heard[:3] == ["0", "DataCloneError", "true,true,Worker,0"]
        assert [line for line in heard[3:] if line != "by port"] == ["8,true", "two,false", "three,false"]
        assert "by port" in heard


def test_a_page_knows_when_its_workers_are_idle(live_browser: Room, site: PageSite) -> None:
    """Long work is over when the workers are idle, and its messages have arrived."""
    source = json.dumps("onmessage = e => { let x = 0; for (let i = 0; i < 3e7; i++) x += i; postMessage(e.data); }")
    with worker_desk(live_browser) as desk:
        show(desk, f"const w = new Worker({BLOB.format(source)}); w.onmessage = e => say(e.data);")

        desk.js("(w.postMessage(1), w.postMessage(2), 0)")
        desk.js(SETTLE_WORKERS)

        assert said(desk) == ["1", "2"]


def test_workers_report_how_many_responses_they_wait_for(live_browser: Room, site: PageSite) -> None:
    """A request of a worker is counted before the browser reports it."""
    source = json.dumps(f"fetch('{site.url}/slow').then(() => postMessage('answered'))")

    def slowly(_asked: object) -> Answer:
        site.released.wait(10)
        return Answer(body="x")

    site.answers["/slow"] = slowly
    with worker_desk(live_browser) as desk:
        desk.ok(Navigate(url=site.put(SAY.format(""))))
        desk.js(f"(window.w = new Worker({BLOB.format(source)}), w.onmessage = e => say(e.data), 0)")

        assert desk.js(SETTLE_WORKERS)["fetches"] == 1

        site.released.set()
        desk.portal.call(desk.worker.session.stabilizer.settle, 0)
        assert desk.js(SETTLE_WORKERS)["fetches"] == 0
        site.released.clear()


def test_time_without_timers_of_workers_passes_at_once(live_browser: Room, site: PageSite) -> None:
    """Workers tell when their next timer is due, those of nested ones included: it runs at that time."""
    inner = f"const w = new Worker({BLOB.format(json.dumps(TICKING))}); w.onmessage = e => postMessage(e.data);"
    with worker_desk(live_browser) as desk:
        show(desk, f"new Worker({BLOB.format(json.dumps(inner))}).onmessage = e => say(e.data);")
        desk.js(SETTLE_WORKERS)
        stabilizer = desk.worker.session.stabilizer
        begun_ms = stabilizer.timeline.now_ms
        with patch.object(SteppedClock, "advance", autospec=True, side_effect=SteppedClock.advance) as advance:
            desk.portal.call(stabilizer.settle, 4_000)

        assert said(desk) == [str(CLOCK_START_MS + 3_000)]
        assert stabilizer.timeline.now_ms == begun_ms + 4_000
        assert 2 <= advance.await_count <= FEW_STEPS


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("new Worker('none.js')", ["Event undefined"]),
        ("new Worker('none.js', {type: 'module'})", ["Event undefined"]),
        ("new Worker('throws.js')", ["ErrorEvent Uncaught Error: no /throws.js:2"]),
        ("new Worker('throws.js', {type: 'module'})", ["ErrorEvent Uncaught Error: no /throws.js:2"]),
        (
            "new Worker('wrong.js')",
            [f"ErrorEvent Uncaught SyntaxError: {IMPORTING}: Unexpected token ')' /wrong.js:1"],
        ),
        (
            f"new Worker({BLOB.format(chr(34) + ')' + chr(34))})",
            ["ErrorEvent Uncaught SyntaxError: Unexpected token ')'"],
        ),
        ("new Worker('http://localhost:1/w.js')", ["SecurityError"]),
        ("new Worker()", ["TypeError"]),
        ("Worker('w.js')", ["TypeError"]),
    ],
)
def test_a_failing_worker_fails_as_in_a_browser(
    live_browser: Room, site: PageSite, start: str, expected: list[str]
) -> None:
    """Errors are the events and exceptions that a page sees in any browser, and nothing waits forever."""
    site.answers["/throws.js"] = Answer(body="\nthrow new Error('no');", content_type=SCRIPT)
    site.answers["/wrong.js"] = Answer(body=")", content_type=SCRIPT)
    script = f"""try {{ const w = {start}; w.onerror = e => say([e.constructor.name, e.message,
        e.filename?.startsWith('http') ? new URL(e.filename).pathname + ':' + e.lineno : ''].join(' ').trim());
        }} catch (error) {{ say(error.name) }}"""
    with worker_desk(live_browser) as desk:
        show(desk, script)
        pass_time(desk, 20)

        assert desk.network().notes == ()
        assert [line.removesuffix(" undefined") for line in said(desk)] == [
            line.removesuffix(" undefined") for line in expected
        ]


def test_a_policy_that_forbids_blobs_leaves_the_worker_native(live_browser: Room, site: PageSite) -> None:
    """A page that allows workers by URL only gets its worker, with real time, and we report it."""
    site.answers["/w.js"] = Answer(body="onmessage = e => postMessage('got ' + e.data)", content_type=SCRIPT)
    body = SAY.format(
        "const w = new Worker('w.js'); w.onmessage = e => say(e.data); w.postMessage(1); w.postMessage(2)"
    )
    site.answers["/strict"] = Answer(body=body, headers=(("Content-Security-Policy", "worker-src 'self'"),))
    with worker_desk(live_browser) as desk:
        desk.ok(Navigate(url=f"{site.url}/strict"))
        desk.js(SETTLE_WORKERS)
        pass_time(desk, 40)

        (note,) = desk.network().notes
        assert note.startswith(f"worker: {site.url}/w.js (1 times) could not be attached to the clock of its page")
        assert said(desk) == ["got 1", "got 2"]


def test_a_replay_reports_a_worker_on_the_real_clock(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """A sealed session notes what it cannot step, like the live one."""
    site.answers["/w.js"] = Answer(body="postMessage(1)", content_type=SCRIPT)
    policy = ("Content-Security-Policy", "require-trusted-types-for 'script'; worker-src 'self'")
    body = SAY.format("trustedTypes.createPolicy('default', { createScriptURL: each => each }); new Worker('w.js')")
    site.answers["/strict"] = Answer(body=body, headers=(policy,))
    with live_browser.recording(tmp_path) as desk:
        desk.ok(Navigate(url=f"{site.url}/strict"))
        live = desk.network().notes
    with sealed_browser.sealed(tmp_path) as desk:
        desk.ok(Navigate(url=f"{site.url}/strict"))

        assert [note.split(" could")[0] for note in live] == [f"worker: {site.url}/w.js (1 times)"]
        assert desk.network().notes == live


def test_a_worker_sees_the_recorded_machine(live_browser: Room, site: PageSite) -> None:
    """Processors, memory and languages are the recorded ones, in nested workers too."""
    tell = "postMessage([navigator.hardwareConcurrency, navigator.deviceMemory, navigator.languages].join())"
    nested = f"new Worker('data:text/javascript,{tell}').onmessage = e => {{ {tell}; postMessage(e.data) }}"
    script = f"new Worker({BLOB.format(json.dumps(nested))}).onmessage = e => say(e.data)"
    recorded = environment().model_copy(update={"cpu_count": 3, "device_memory_gb": 2.0})
    options = SessionOptions(environment=recorded, languages=("de-DE", "de"))
    opening = open_worker(live_browser.browser, options, LiveTraffic())
    with live_browser.portal.wrap_async_context_manager(opening) as worker:
        desk = Desk(live_browser.portal, worker, site)
        show(desk, script)
        pass_time(desk, 40)

        assert desk.js("navigator.hardwareConcurrency") == 3
        assert desk.js("[navigator.language, Object.isFrozen(navigator.languages)]") == ["de-DE", True]
        assert said(desk) == ["3,2,de-DE,de", "3,2,de-DE,de"]


def test_a_terminated_worker_is_not_waited_for(live_browser: Room, site: PageSite) -> None:
    """A worker that its page or it itself ended blocks nothing, even with timers left."""
    endless = json.dumps("setInterval(() => postMessage('tick'), 10)")
    closing = json.dumps(
        "setTimeout(() => { postMessage('closing'); close(); }, 10); setTimeout(() => postMessage('no'), 99)"
    )
    script = f"""const w = new Worker({BLOB.format(endless)}); w.onmessage = e => say(e.data);
        new Worker({BLOB.format(closing)}).onmessage = e => say(e.data);
        new Worker({BLOB.format(endless)}).terminate();"""
    with worker_desk(live_browser) as desk:
        show(desk, script)
        pass_time(desk, 20)
        desk.js("w.terminate()")
        pass_time(desk, 120)

        assert said(desk) == ["tick", "tick", "closing"]


def test_timers_of_a_worker_run_in_order_and_errors_do_not_stop_them(live_browser: Room, site: PageSite) -> None:
    """Chained timers, promises, string timers and throwing timers run in order of their times."""
    source = json.dumps(
        "const log = []; setTimeout(() => { log.push('b'); Promise.resolve().then(() => log.push('c')); }, 5);"
        "setTimeout(() => log.push('d'), 5); setTimeout(\"log.push('a')\", 1);"
        "setTimeout(() => { throw new Error('no') }, 6); let n = 0; (function go() { n++; setTimeout(go, 1) })();"
        "setInterval(() => {}, 0); AbortSignal.timeout(7).onabort = e => log.push(e.target.reason.name);"
        "setTimeout(() => postMessage(log.join() + ' ' + n), 20)"
    ).replace("log.push('a')", "globalThis.early = 1")
    with worker_desk(live_browser) as desk:
        show(desk, f"const w = new Worker({BLOB.format(source)}); w.onmessage = e => say(e.data);")
        pass_time(desk, 40)

        assert said(desk) == ["b,c,d,TimeoutError 20"]


def test_an_endless_worker_is_waited_for_once(live_browser: Room, site: PageSite) -> None:
    """It costs some seconds once and is reported; other workers continue."""
    endless, lively = json.dumps("for (;;);"), json.dumps("setInterval(() => postMessage('tick'), 20)")
    with worker_desk(live_browser) as desk:
        show(
            desk,
            f"new Worker({BLOB.format(endless)}); new Worker({BLOB.format(lively)}).onmessage = e => say(e.data);",
        )
        begin = time.monotonic()
        pass_time(desk, 60)

        assert said(desk) == ["tick", "tick", "tick"]
        (note,) = desk.network().notes
        assert note.startswith("worker: blob:... (1 times) did not respond in time")
        assert time.monotonic() - begin < IDLE_TIMEOUT_S


def test_a_shared_worker_becomes_a_worker_of_its_document(live_browser: Room, site: PageSite) -> None:
    """All its ports of one document reach one worker, which is routed and stepped."""
    site.answers["/s.js"] = Answer(
        body="let n = 0; onconnect = e => { const [port] = e.ports; n++;"
        " port.onmessage = m => setTimeout(() => fetch('f').then(r => r.text()).then("
        " t => port.postMessage([m.data, n, t, name, Date.now()].join(' '))), 30) }",
        content_type=SCRIPT,
    )
    site.answers["/f"] = Answer(body="text")
    script = """for (const n of [1, 2]) { const s = new SharedWorker('s.js', 'its name');
        s.port.onmessage = e => say(e.data); s.port.postMessage(n); }"""
    with worker_desk(live_browser) as desk:
        show(desk, script)
        desk.js(SETTLE_WORKERS)
        pass_time(desk, 60)

        assert sorted(said(desk)) == [f"{n} 2 text its name {CLOCK_START_MS + 40}" for n in (1, 2)]
        assert desk.network().served == 4


def test_a_worker_with_the_natural_clock_runs_by_itself(live_browser: Room, site: PageSite) -> None:
    """If the page clock is not stepped, timers run, and time began with the page."""
    source = json.dumps("setTimeout(() => postMessage(Date.now()), 5)")
    with worker_desk(live_browser, stepped=False) as desk:
        show(desk, "")
        late = desk.js(
            "new Promise(done => { const begin = Date.now(); "
            f"new Worker({BLOB.format(source)}).onmessage = e => done(e.data - begin) }})"
        )

        assert 5 <= late < 5000


def test_recorded_workers_are_replayed(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """The original script of a worker is recorded, and a sealed session starts it from the recording."""
    body = "fetch('data').then(r => r.text()).then(t => postMessage(t + crypto.randomUUID()))"
    site.answers["/w.js"] = Answer(body=body, content_type=SCRIPT)
    site.answers["/data"] = Answer(body="from the server ")
    url = site.put(SAY.format("new Worker('w.js').onmessage = e => say(e.data)"))
    heard = []
    for opening in (live_browser.recording, sealed_browser.sealed):
        with opening(tmp_path, settle_ms=0) as desk:
            desk.ok(Navigate(url=url))
            for _ in range(4):
                desk.js(SETTLE_WORKERS)
                desk.portal.call(desk.worker.session.stabilizer.settle, 0)
            heard.append(said(desk))

    assert heard[0] == heard[1]
    assert heard[0][0].startswith("from the server ")
    recorded = read_network(tmp_path)
    kept = [each.response.body for each in recorded.exchanges if each.response is not None]
    assert body.encode() in [recorded.body(each) for each in kept if each is not None]
