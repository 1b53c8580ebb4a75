from __future__ import annotations

import asyncio
import gc
import itertools
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from eikon_engine.browser import stabilizer as rest
from eikon_engine.browser.traffic.sealed import SealedTraffic
from eikon_engine.network.store import read_network
from eikon_engine.trace.actions import (
    Action,
    Click,
    FunctionCondition,
    GoBack,
    Navigate,
    Press,
    Reload,
    SwitchPage,
    WaitFor,
)
from eikon_engine.trace.observation import RedirectHop
from tests.browser.desk import at, comparable
from tests.browser.pages import Answer, Asked, PageSite, redirect

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from playwright.async_api import Request, Route

    from eikon_engine.outcome.outcomes import NetworkOutcome
    from eikon_engine.replay.step import IsExpected
    from eikon_engine.trace.observation import Observation
    from tests.browser.desk import Room

pytestmark = pytest.mark.browser

FETCH = """const say = t => p.textContent += t + ' ';
const get = u => fetch(u).then(r => r.text()).then(say, () => say('failed'))"""


SIDE = 7
SQUARE = f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIDE}" height="{SIDE}"></svg>'


def page(script: str, body: str = "") -> str:
    """Return a document that shows its fetched texts."""
    return f"<p id=p></p>{body}<script>{FETCH};{script}</script>"


def record(room: Room, folder: Path, actions: Iterable[Action]) -> list[Observation]:
    """Perform actions on the live site, and keep its network."""
    with room.recording(folder) as desk:
        return [desk.ok(action) for action in actions]


def shows(expected: Observation) -> IsExpected:
    """Return a check that compares a whole observation."""
    return lambda performed: comparable(performed.observation) == expected


def replay(
    room: Room, folder: Path, actions: Iterable[Action], recorded: list[Observation]
) -> tuple[list[Observation], NetworkOutcome]:
    """Replay actions from the recording; the site must not receive requests."""
    asked = len(room.site.asked)
    with room.sealed(folder) as desk:
        seen = []
        for action, expected in zip(actions, recorded, strict=True):
            performed = desk.do(action, expected, agrees=shows(expected))
            assert performed.observation is not None
            assert performed.error is None, performed.error
            seen.append(performed.observation)
        network = desk.network()
    assert len(room.site.asked) == asked
    return seen, network


def both(live: Room, sealed: Room, folder: Path, actions: list[Action]) -> tuple[list[Observation], NetworkOutcome]:
    """Record actions and replay them: every observation is equal, and every response is recorded."""
    recorded = record(live, folder, actions)
    seen, network = replay(sealed, folder, actions, recorded)
    assert seen == recorded
    assert network.misses == ()
    return seen, network


def test_requests_of_one_url_get_their_responses_in_order(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """The n-th request gets the n-th response."""
    site.answers["/n"] = lambda _: Answer(body=str(len(site.asked)))
    url = site.put(page("(async () => { for (let i = 0; i < 4; i++) await get('/n') })()", "<button id=b>Go</button>"))

    seen, network = both(live_browser, sealed_browser, tmp_path, [Navigate(url=url), Reload()])

    assert network.served >= 10
    assert seen[0].pages[0].frames != seen[1].pages[0].frames


READ = "then(r => r.blob()).then(b => say(b.size))"
READ_OFTEN = "Promise.all(Array.from({length: 40}, () => r.clone().blob())).then(b => say(b.length))"
SLOW = "fetch('/slow').then(r => say(r.status))"


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(f"fetch('/blob').{READ}; {SLOW}", id="at once"),
        pytest.param(f"fetch('/moved').{READ}; {SLOW}", id="redirected"),
        pytest.param(f"fetch('/blob').then(r => {{ Promise.resolve(r).{READ}; {SLOW} }})", id="while reading"),
        pytest.param(f"fetch('/parts').then(r => {{ {SLOW}; {READ_OFTEN} }})", id="in parts"),
    ],
)
def test_no_response_overtakes_a_body_that_a_script_still_reads(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path, script: str
) -> None:
    """A blob is read some time after its request ended, on the way to the page through another process.

    The live site answers the second request after the page read the blob, also on a busy machine.
    """

    def slow(_: Asked) -> Answer:
        threading.Event().wait(1)
        return Answer(body="slow")

    site.answers |= {"/blob": Answer(body="blob" * 50_000), "/moved": redirect("/blob"), "/slow": slow}
    site.answers["/parts"] = Answer(pieces=(b"blob" * 110_000,) * 2)
    url = site.put(page(script))
    recorded = record(live_browser, tmp_path, [Navigate(url=url)])

    for _ in range(5):
        seen, network = replay(sealed_browser, tmp_path, [Navigate(url=url)], recorded)
        assert (seen, network.notes) == (recorded, ())


@pytest.mark.parametrize(
    "send",
    [
        pytest.param("fetch('/n#x', {method: 'put'})", id="fetch"),
        pytest.param("fetch(new Request('/n', {method: 'PUT'}))", id="request"),
        pytest.param("(r => (r.open('put', '/n'), r.send()))(new XMLHttpRequest())", id="xhr"),
    ],
)
def test_a_request_of_a_timer_is_no_effect_of_a_response_at_the_same_page_time(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path, send: str
) -> None:
    """A route may be called only after a response was delivered; the document reports what its timer sent."""

    def slow(_: Asked) -> Answer:
        threading.Event().wait(0.3)
        return Answer(body="slow")

    site.answers |= {"/slow": slow, "/n": Answer(body="n")}
    url = site.put(
        page(f"get('/slow'); let n = 0, t = setInterval(() => {{ if (n++ == 20) clearInterval(t); {send} }}, 20)")
    )
    record(live_browser, tmp_path, [Navigate(url=url)])
    network = read_network(tmp_path)
    tick_ms = max(each.moment.at_ms for each in network.exchanges if each.moment)
    at_tick = {"completion": 3, "completed_ms": float(tick_ms)}
    exchanges = tuple(
        each.model_copy(update=at_tick) if each.request.url.endswith("/slow") else each for each in network.exchanges
    )
    traffic = SealedTraffic(replace(network, exchanges=exchanges))

    has_answer = asyncio.Event()

    def note_end(request: Request) -> None:
        if request.url.endswith("/slow"):
            has_answer.set()

    async def call_late(route: Route) -> None:
        await has_answer.wait()
        await route.fallback()

    with sealed_browser.sealed(tmp_path, traffic=traffic) as desk:
        desk.portal.call(desk.worker.session.context.on, "requestfinished", note_end)
        desk.portal.call(desk.worker.session.context.route, "**/n", call_late)
        observation = desk.portal.call(desk.worker.execute, Navigate(url=url), None).observation

    assert observation is not None
    sent = [each for each in observation.requests if each.startswith("PUT")]
    assert len(sent) > 3
    assert list(observation.timer_requests) == sent


FORM = "<form method=post action=/post><input name=q value=1><button id=b>Send</button></form>"


@pytest.mark.parametrize("status", [302, 303, 307, 308])
def test_a_redirected_form_is_replayed_with_its_hops(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path, status: int
) -> None:
    """A chain after a POST ends on its page, with the cookies of all hops, and the history is as recorded."""
    site.answers["/post"] = redirect("/middle", status=status, cookie="first=1; Path=/")
    site.answers["/middle"] = redirect("/end", status=status, cookie="second=2; Path=/")

    def end(asked: Asked) -> Answer:
        text = f"{asked.method} {asked.body.decode()} {asked.header('cookie')}"
        return Answer(
            body=f"<p>{text}</p><pre id=c></pre><script>c.textContent = document.cookie + history.length</script>"
        )

    site.answers["/end"] = end
    actions: list[Action] = [Navigate(url=site.put(FORM)), Click(target=at("#b")), GoBack(), Reload()]

    seen, _ = both(live_browser, sealed_browser, tmp_path, actions)

    hops = tuple(RedirectHop(url=f"{site.url}/{name}", status=status) for name in ("post", "middle"))
    assert seen[1].documents[0].hops == hops
    assert seen[1].pages[0].url == f"{site.url}/end"


def test_a_redirected_navigation_is_replayed(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """An action may navigate to a chain of redirects."""
    site.answers |= {"/a": redirect("/b", cookie="a=1"), "/b": redirect("/c"), "/c": Answer(body="<p>end")}

    seen, _ = both(
        live_browser, sealed_browser, tmp_path, [Navigate(url=f"{site.url}/a"), Navigate(url=f"{site.url}/a")]
    )

    assert [hop.status for hop in seen[1].documents[0].hops] == [302, 302]


@pytest.mark.parametrize("place", ["popup", "frame", "link in frame"])
def test_a_redirect_in_another_page_or_frame_is_replayed(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path, place: str
) -> None:
    """A redirected document of a popup or an inner frame is followed in its place."""
    site.answers |= {"/a": redirect("/b"), "/b": redirect("/c"), "/c": Answer(body="<h1 id=h>end</h1>")}
    link = site.put("<a id=b href=/a>Go</a>")
    html = {
        "popup": "<a id=b target=_blank href=/a>Go</a>",
        "frame": "<button id=b onclick=\"f.src = '/a'\">Go</button><iframe id=f></iframe>",
        "link in frame": f"<iframe id=f src={link}></iframe>",
    }[place]
    target = at("#b", "#f") if place == "link in frame" else at("#b")

    seen, _ = both(live_browser, sealed_browser, tmp_path, [Navigate(url=site.put(html)), Click(target=target)])

    shown = seen[1].pages[1].url if place == "popup" else seen[1].pages[0].frames[1].url
    assert shown == f"{site.url}/c"


def test_redirected_subresources_are_replayed(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """Redirected scripts and fetches end with the last response and the cookies of the hops."""
    site.answers |= {
        "/s": redirect("/t.js", cookie="hop=1; Path=/"),
        "/t.js": Answer(body="window.loaded = 'script'", content_type="text/javascript"),
        "/f": redirect("/g", status=307),
        "/g": lambda asked: Answer(body=f"{asked.method} {asked.body.decode()} {asked.header('cookie')}"),
    }
    url = site.put(
        "<script src=/s></script>"
        + page(
            "fetch('/f', {method: 'POST', body: 'x'}).then(r => r.text())"
            ".then(t => say(t + window.loaded + document.cookie))"
        )
    )

    both(live_browser, sealed_browser, tmp_path, [Navigate(url=url)])


def test_an_unrecorded_request_is_blocked_and_reported(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """The page sees a failure, and the summary has a miss with the nearest recorded request."""
    site.answers["/data"] = Answer(body="yes")
    actions = [
        Navigate(url=site.put(page("get('/data?a=1')", "<button id=b onclick=\"get('/data?a=2')\">Go</button>")))
    ]
    recorded = record(live_browser, tmp_path, actions)
    asked = len(site.asked)

    with sealed_browser.sealed(tmp_path) as desk:
        desk.do(actions[0], recorded[0])
        desk.ok(Click(target=at("#b")))
        text, network = desk.js("p.textContent"), desk.network()

    assert text == "yes failed "
    assert [miss.key for miss in network.misses] == [f"GET {site.url}/data?a=2"]
    assert "a=1" in (network.misses[0].nearest or "")
    assert len(site.asked) == asked


@pytest.mark.parametrize(
    "escape",
    [
        "new WebSocket('ws://HOST/socket').onerror = () => say('failed')",
        "navigator.sendBeacon('http://HOST/beacon', 'x')",
        "document.body.append(Object.assign(new Image(), {src: 'http://HOST/picture.png'}))",
        "new EventSource('http://HOST/events').onerror = () => say('failed')",
        "document.head.insertAdjacentHTML('beforeend', '<link rel=preconnect href=http://HOST><link rel=prefetch href=http://HOST/p>')",
        "new Worker(URL.createObjectURL(new Blob([`fetch('http://HOST/worker')`])))",
        "window.open('http://HOST/window')",
        "navigator.serviceWorker?.register('/worker.js').catch(() => say('refused'))",
        "document.body.insertAdjacentHTML('beforeend', '<iframe src=http://HOST/frame></iframe>')",
    ],
)
def test_nothing_leaves_a_sealed_session(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path, escape: str
) -> None:
    """The real server gets no request, whatever a page tries."""
    script = escape.replace("HOST", site.url.removeprefix("http://"))
    actions: list[Action] = [Navigate(url=site.put(page("", f'<button id=b onclick="{script}">Go</button>')))]
    recorded = record(live_browser, tmp_path, actions)
    asked = len(site.asked)

    with sealed_browser.sealed(tmp_path) as desk:
        desk.do(actions[0], recorded[0])
        desk.ok(Click(target=at("#b")))

    assert site.paths()[asked:] == ()


def test_a_picture_that_the_browser_had_in_its_memory_is_served_again(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """Only in the replay does the second document request it from the network; that is counted."""
    site.answers["/picture"] = Answer(body=SQUARE, content_type="image/svg+xml")
    first, second = site.put('<img src="/picture">'), site.put("<p>second</p>")
    record(live_browser, tmp_path, (Navigate(url=first), Navigate(url=second)))

    with sealed_browser.sealed(tmp_path) as desk:
        desk.ok(Navigate(url=first))
        desk.ok(Navigate(url=second))
        width = desk.js(
            "new Promise(done => { i = new Image(); i.onload = i.onerror = () => done(i.width); i.src = '/picture' })"
        )
        network = desk.network()

    assert width == SIDE
    assert (network.misses, network.repeats) == ((), 1)


def test_a_picture_that_is_requested_again_while_it_arrives_is_served_at_its_moment(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """A second document does not get it before the server had sent it."""
    site.answers["/picture"] = Answer(body=SQUARE, content_type="image/svg+xml")
    script = "i.onload = () => { document.title = 1 }; setTimeout(() => { i.src = '/picture' }, 50)"
    url = site.put(f"<title>-</title><img id=i><iframe id=f></iframe><button id=b>Go</button><script>{script}</script>")
    record(live_browser, tmp_path, (Navigate(url=url), Click(target=at("#b"))))

    with sealed_browser.sealed(tmp_path) as desk:
        desk.ok(Navigate(url=url))
        desk.js("f.srcdoc = '<img src=/picture onload=\"parent.document.title += 2\">', 0")
        desk.ok(Click(target=at("#b")))
        title, network = desk.js("document.title"), desk.network()

    assert title == "12"
    assert (network.misses, network.repeats) == ((), 1)


def test_a_failure_is_replayed_as_a_failure(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """A refused connection is refused again, with the same error in the page."""
    url = site.put(page("get('http://127.0.0.1:9/closed')"))

    seen, _ = both(live_browser, sealed_browser, tmp_path, [Navigate(url=url)])

    assert "ERR_" in seen[0].console_errors[-1]


def test_error_statuses_are_replayed(live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path) -> None:
    """500 with a body, 204 without one, and an image."""
    site.answers |= {
        "/500": Answer(status=500, body="oops"),
        "/204": Answer(status=204),
        "/i.svg": Answer(
            body="<svg xmlns='http://www.w3.org/2000/svg' width='7' height='7'/>", content_type="image/svg+xml"
        ),
    }
    url = site.put(
        page("get('/500').then(() => fetch('/204')).then(r => say(r.status + i.naturalWidth))", "<img id=i src=/i.svg>")
    )

    both(live_browser, sealed_browser, tmp_path, [Navigate(url=url)])


ORDER = (3, 1, 5, 0, 2, 4)


def test_parallel_responses_keep_their_recorded_order(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """Six responses, appended as they arrive, arrive in ten replays as in the recording."""
    turns = {number: threading.Event() for number in ORDER}
    following = dict(itertools.pairwise(ORDER))
    turns[ORDER[0]].set()

    def answer(asked: Asked) -> Answer:
        number = int(asked.path.rpartition("=")[2])
        turns[number].wait(30)
        threading.Timer(0.2, lambda: turns[following[number]].set() if number in following else None).start()
        return Answer(body=str(number))

    site.answers["/part"] = answer
    actions: list[Action] = [Navigate(url=site.put(page("for (let i = 0; i < 6; i++) get('/part?n=' + i)")))]
    with live_browser.recording(tmp_path) as desk:
        recorded = [desk.ok(actions[0])]
        assert desk.js("p.textContent").split() == [str(number) for number in ORDER]

    runs = [replay(sealed_browser, tmp_path, actions, recorded)[0] for _ in range(10)]

    assert [run for run in runs if run != recorded] == []


def test_a_request_that_never_ended_stays_pending(
    live_browser: Room,
    sealed_browser: Room,
    site: PageSite,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Without a response in the recording there is none in the replay, no miss, and no task that waits for it later."""
    held = threading.Event()
    site.answers["/held"] = lambda _: Answer(body=str(held.wait(30)))
    actions: list[Action] = [
        Navigate(url=site.put(page("const source = new EventSource('/held'); source.onerror = () => say('failed')")))
    ]
    with monkeypatch.context() as patch:
        patch.setattr(rest, "IDLE_TIMEOUT_S", 5.0)  # the recording waits for the whole timeout here
        recorded = record(live_browser, tmp_path, actions)
    held.set()
    begin = time.monotonic()

    seen, network = replay(sealed_browser, tmp_path, actions, recorded)

    assert seen == recorded
    assert network.misses == ()
    assert time.monotonic() - begin < rest.IDLE_TIMEOUT_S
    gc.collect()
    assert "Task was destroyed" not in caplog.text


def test_timers_and_responses_interleave_as_recorded(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """A response arrives between the same two steps of the clock."""
    site.answers["/d"] = Answer(body="data")
    script = "setInterval(() => say('tick'), 30); get('/d').then(() => setTimeout(() => get('/d?2'), 40))"
    actions: list[Action] = [
        Navigate(url=site.put(page(script))),
        WaitFor(condition=FunctionCondition(expression="p.textContent.split('data').length > 2")),
    ]
    recorded = record(live_browser, tmp_path, actions)

    runs = [replay(sealed_browser, tmp_path, actions, recorded)[0] for _ in range(5)]

    assert [run for run in runs if run != recorded] == []


def test_a_popup_with_its_subresources_is_replayed(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """A second page is served like the first."""
    site.answers["/d"] = Answer(body="data")
    popup = site.put(page("get('/d')", "<form action=/d><input name=q id=q></form>"))
    actions: list[Action] = [
        Navigate(url=site.put(f"<a id=b target=_blank href={popup}>Go</a>")),
        Click(target=at("#b")),
        SwitchPage(page=1),
        Press(page=1, target=at("#q"), key="Enter"),
    ]

    both(live_browser, sealed_browser, tmp_path, actions)
