"""Bodies that arrive in pieces, as scripts of a replay see them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from eikon_engine.browser.traffic.capture import NetworkCapture
from eikon_engine.browser.traffic.streams import SPLIT_BYTES, ResponseStream
from eikon_engine.network.exchange import Moment
from eikon_engine.network.store import NetworkWriter, read_network
from eikon_engine.trace.actions import Click, FunctionCondition, Navigate, SwitchPage, WaitFor
from tests.browser.desk import at
from tests.browser.pages import Answer
from tests.browser.test_sealed import both

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.trace.actions import Action
    from tests.browser.desk import Room
    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

READ = """<p id=p></p><button id=b onclick="p.textContent += 'clicked '">Go</button><script>
const read = async url => {
  const reader = (await fetch(url)).body.getReader();
  p.textContent += 'begun ';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    p.textContent += new TextDecoder().decode(value).trim() + ' ';
  }
  p.textContent += 'ended ';
};
read('/lines').catch(() => { p.textContent += 'broken '; });
</script>"""
LINES = (b'{"n":1}\n', b'{"n":2}\n', b'{"n":3}\n')


def shows(text: str) -> WaitFor:
    """Wait until the page shows a text."""
    return WaitFor(condition=FunctionCondition(expression=f"() => p.textContent.includes({text!r})"))


LONG = SPLIT_BYTES
ARRIVALS = {
    "all apart": ([(9, 0.0), (9, 0.1), (9, 0.2)], [9, 9, 9]),
    "an ordinary body, split": ([(9, 0.0), (LONG, 0.001), (9, 0.002)], [LONG + 18]),
    "short ones together after one apart": ([(9, 0.0), (9, 0.1), (9, 0.1), (9, 0.101)], [9, 9, 9, 9]),
    "a long one, split after one apart": ([(9, 0.0), (LONG, 0.1), (9, 0.101)], [9, LONG + 9]),
}


@pytest.mark.parametrize("arrivals", ARRIVALS)
def test_data_is_joined_only_if_the_network_may_have_split_it(arrivals: str) -> None:
    """Short pieces of a body in parts stay apart: a busy page reads them one by one, though soon after each other."""
    received, expected = ARRIVALS[arrivals]
    moments = (Moment(order=order, at_ms=0, phase=1) for order in itertools.count())
    stream = ResponseStream(is_event_stream=False, moments=[(0, next(moments))])

    for length, at_s in received:
        stream.append(length, at_s, lambda: next(moments))

    assert [length for length, _ in stream.moments[1:]] == expected
    assert [moment.order for _, moment in stream.moments] == list(range(len(expected) + 1))


def test_an_unfinished_body_keeps_its_pieces(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """Lines of an endless fetch are replayed, each at its moment, and the body does not end."""
    site.answers["/lines"] = Answer(content_type="application/x-ndjson", pieces=LINES, ending="open")
    actions: list[Action] = [Navigate(url=site.put(READ)), shows("3"), Click(target=at("#b"))]

    both(live_browser, sealed_browser, tmp_path, actions)

    (exchange,) = [each for each in read_network(tmp_path).exchanges if each.key.endswith("/lines")]
    assert exchange.moment is None
    assert sum(piece.length for piece in exchange.pieces) == sum(map(len, LINES))


def test_an_aborted_body_with_a_secret_is_kept(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """Redaction changes the size of the body: it is served in one piece, and breaks off after it."""
    site.answers["/lines"] = Answer(pieces=(b"one ", b"hunter2-and-more ", b"three "), ending="broken")
    actions: list[Action] = [Navigate(url=site.put(READ)), shows("broken")]
    with live_browser.recording(tmp_path) as desk:
        desk.worker.session.redact_typed_secret("hunter2-and-more")
        recorded = [desk.ok(action) for action in actions]

    (exchange,) = [each for each in read_network(tmp_path).exchanges if each.key.endswith("/lines")]
    with sealed_browser.sealed(tmp_path) as desk:
        desk.worker.session.redact_typed_secret("hunter2-and-more")
        seen = [desk.do(*each).observation for each in zip(actions, recorded, strict=True)]
        text = desk.js("p.textContent")

    assert exchange.failure is not None
    assert [piece.length > 0 for piece in exchange.pieces] == [False, True]
    assert "hunter2-and-more three broken" in text
    assert seen[-1] == recorded[-1]


def test_a_broken_body_is_whole_though_the_protocol_reported_less_of_it(
    live_browser: Room, site: PageSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A document that is left takes the reports about its last bytes along; the bytes themselves were read."""
    monkeypatch.setattr(ResponseStream, "append", lambda *_: None)
    site.answers["/lines"] = Answer(pieces=LINES, ending="broken")
    with live_browser.desk() as desk, NetworkWriter(tmp_path) as writer:
        capture = live_browser.portal.call(NetworkCapture, desk.worker.session, writer)
        live_browser.portal.call(capture.start)
        desk.ok(Navigate(url=site.put(READ)))
        desk.ok(shows("broken"))
        live_browser.portal.call(capture.close)

    network = read_network(tmp_path)
    (exchange,) = [each for each in network.exchanges if each.key.endswith("/lines")]
    assert exchange.response is not None
    assert exchange.response.body is not None
    assert network.body(exchange.response.body) == b"".join(LINES)
    assert (capture.lost, capture.warnings) == ((), [])


TELL = """<p id=p></p><script>
const say = text => { p.textContent += text + ' | '; };
const place = url => url.slice(url.indexOf('//') + 2);
const get = async url => {
  const told = await fetch(url), twice = told.clone(), thrice = twice.clone();
  for (const each of [told, twice, thrice]) {
    const names = [...each.headers.keys()].filter(name => name.startsWith('x-')).join();
    const exposed = each.headers.get('access-control-expose-headers');
    say([place(each.url), each.redirected, each.type, names, exposed].join(' '));
    say(await each.text());
  }
  say(Object.keys(told).join());
};
const ask = url => new Promise(done => {
  const x = new XMLHttpRequest();
  x.onload = () => {
    const lines = x.getAllResponseHeaders().split('\\r\\n');
    const names = lines.filter(line => /^(x-|access-control-expose)/.test(line)).join();
    say([place(x.responseURL), names, x.getResponseHeader('access-control-expose-headers'), x.responseText].join(' '));
    done();
  };
  x.open('GET', url);
  say('unsent ' + x.responseURL);
  x.send();
});
(async () => {
  await get('/moved');
  await ask('/moved');
  await get('ELSEWHERE/moved');
  await ask('ELSEWHERE/moved');
  await ask('/plain');
})();
</script>"""


def test_scripts_see_recorded_redirects_and_no_trace_of_us(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """URL, redirection, type and headers of a response, its clones and an XMLHttpRequest are as recorded."""
    anybody = (("Access-Control-Allow-Origin", "*"),)
    exposed = (*anybody, ("Access-Control-Expose-Headers", "X-Shop"), ("X-Shop", "yes"))
    site.answers["/moved"] = Answer(status=302, headers=(("Location", "/end?to#part"), *anybody))
    site.answers["/end"] = Answer(body="end", content_type="text/plain", headers=exposed)
    site.answers["/plain"] = Answer(body="plain", content_type="text/plain")

    page = site.put(TELL.replace("ELSEWHERE", site.elsewhere))
    both(live_browser, sealed_browser, tmp_path, [Navigate(url=page), shows("plain")])


def test_bodies_of_a_worker_are_not_confused_with_those_of_its_page(
    live_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """If a worker requests the same URL, the owner of the pieces is unknown: none are kept, with a warning."""
    numbers = itertools.count()
    site.answers["/lines"] = lambda _: Answer(pieces=(f"body {next(numbers)}".encode(),), ending="open")
    worker = f"fetch('{site.url}/lines').then(() => postMessage(1))"
    page = site.put(
        f"""<p id=p></p><script>
        const first = async () => (await fetch('/lines')).body.getReader().read();
        const read = () => first().then(() => {{ p.textContent += 'read ' }});
        new Worker(URL.createObjectURL(new Blob([`{worker}`]))).onmessage = () => read().then(read);</script>"""
    )
    with live_browser.desk() as desk, NetworkWriter(tmp_path) as writer:
        capture = live_browser.portal.call(NetworkCapture, desk.worker.session, writer)
        live_browser.portal.call(capture.start)
        for action in (Navigate(url=page), shows("read read")):
            desk.ok(action)
        live_browser.portal.call(capture.close)

    exchanges = [each for each in read_network(tmp_path).exchanges if each.key.endswith("/lines")]
    assert [each.is_pending for each in exchanges] == [True] * 3
    assert [warning for warning in capture.warnings if "/lines: 2 of 3 requests" in warning]


def test_pages_that_request_one_url_keep_their_own_pieces(live_browser: Room, site: PageSite, tmp_path: Path) -> None:
    """Bodies that a page and its popup read from one URL are not mixed up."""
    numbers = itertools.count()
    site.answers["/lines"] = lambda _: Answer(pieces=(f"body {next(numbers)}".encode(),), ending="open")
    reads = "fetch('/lines').then(r => r.body.getReader().read()).then(each => { p.textContent = 'read' })"
    popup = site.put(f'<p id=p></p><button id=b onclick="{reads}">Go</button>')
    page = site.put(f"<p id=p></p><script>window.open('{popup}'); {reads}</script>")
    with live_browser.recording(tmp_path) as desk:
        desk.ok(Navigate(url=page))
        desk.ok(shows("read"))
        desk.ok(SwitchPage(page=1))
        desk.ok(Click(page=1, target=at("#b")))
        desk.ok(shows("read").model_copy(update={"page": 1}))

    recording = read_network(tmp_path)
    found = [each.response for each in recording.exchanges if each.key.endswith("/lines")]
    bodies = [recording.body(each.body) for each in found if each is not None and each.body is not None]
    assert bodies == [b"body 0", b"body 1"]
