"""A replay that does not send what was recorded has not repeated the mission, whatever else it shows."""

from __future__ import annotations

import json
import math
import threading
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, Page

from eikon_engine.certify import certify as certifying
from eikon_engine.certify.options import CertifyOptions
from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.errors import ReplayDivergenceError
from eikon_engine.network.store import read_network
from eikon_engine.network.websocket import SocketAccepted, SocketClosed
from eikon_engine.replay.engine import ReplayEngine
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.trace.actions import Scroll
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.patch import SetTimeline
from eikon_engine.trace.steps import map_actions
from eikon_engine.trace.trace_file import read_trace, write_trace
from tests.browser.pages import Answer, PageSite, serve_pages
from tests.loops import in_a_thread
from tests.record.recorded_page import TWICE, recorded_page, steps
from tests.sites.torture import serve_torture

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.outcome.certification import CertificationReport
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.execution import ActionTrace

pytestmark = pytest.mark.browser

ENDLESS = """<style>#list { height: 300px; overflow: auto } div div { height: 250px }</style>
<button onclick="document.title = 'done'">Done</button>
<div id=list><div>one</div><div>two</div><div>three</div></div><script>
const list = document.getElementById('list');
list.addEventListener('scroll', async () => {
  list.insertAdjacentHTML('beforeend', `<div>${await (await fetch('/items?page=2')).text()}</div>`);
}, { once: true });
</script>"""
WATCH = """<p id=status>none</p><button onclick="watch()">Watch</button><button>Look</button><script>
const watch = () => setInterval(async () => {
  document.getElementById('status').textContent = await (await fetch('/status')).text();
}, 300);
</script>"""

HURRY = """<button id=now>Now</button><button id=save>Save</button><p id=state></p>
<h1 id=title>Wait</h1><script>
save.onclick = async () => { state.textContent = await (await fetch('/save', { method: 'POST' })).text(); };
fetch('/slow').then(r => r.text()).then(t => { now.remove(); title.textContent = t; });
</script>"""

COUNTER = """<button id=send onclick="act()">Send</button>
<button id=look onclick="seen.textContent += '!'">Look</button><p id=seen>seen</p><p id=out></p><script>
const socket = new WebSocket('{url}');
socket.onmessage = () => {{ out.textContent += 'x'; }};
socket.onopen = () => {{ document.title = 'open'; {then} }};
const act = () => {act};
</script>"""
SENDS = {
    "at once": "socket.send('inc')",
    "once nothing more is typed": "setTimeout(() => socket.send('inc'), 200)",
    "after a request": "fetch('/token').then(() => socket.send('inc'))",
}
"""What a click does with the socket."""
PINGS = "setInterval(() => socket.send('ping'), 150);"

USES = {
    "a close": ("socket.close(4001, 'done')", "closed 4001 'done'"),
    "a close without a code": ("socket.close()", "closed without a code"),
    "an opening": ("new WebSocket('{url}/again')", "/again"),
}
"""What a click does with the socket, without an effect on the page, and what names it."""


HELD_S = 20
SAVE = """<button id=save onclick="fetch('/save', {{ method: '{method}', body: 'x' }}).then(r => r.text(), () => 0)">
Save</button><a href=/next>Next</a>"""


def certify(bundle: Path) -> CertificationReport:
    """Certify a bundle without its site."""
    return in_a_thread(certifying.certify(open_bundle(bundle), CertifyOptions(runs=2))).report


def replace_action(bundle: Path, position: int, action: Action) -> None:
    """Replace the action of a step, as if it had been recorded so."""
    step = steps(bundle)[position]
    trace = read_trace(bundle)
    changed = map_actions(
        trace, lambda each: each.model_copy(update={"action": action}) if each.id == step.id else each
    )
    write_trace(changed, bundle)


def scroll_the_list(site: PageSite, page: Page) -> None:
    """Turn the wheel over a list that loads more."""
    site.answers["/items"] = Answer(body="four")
    page.goto(site.put(ENDLESS))
    page.mouse.move(100, 150)
    page.mouse.wheel(0, 400)
    page.get_by_text("four").wait_for()
    page.get_by_role("button").click()


def watch(site: PageSite, page: Page) -> None:
    """Start a poll, and go on when it has brought news."""
    answered = 0

    def status(_asked: object) -> Answer:
        nonlocal answered
        answered += 1
        return Answer(body="pending" if answered < 3 else "approved")

    site.answers["/status"] = status
    page.goto(site.put(WATCH))
    page.get_by_role("button", name="Watch").click()
    page.wait_for_timeout(1300)
    page.get_by_role("button", name="Look").click()
    page.wait_for_timeout(300)


def test_a_wheel_scrolls_what_lies_under_the_pointer(chromium: Browser, tmp_path: Path) -> None:
    """An agent turns the wheel over a list, which loads more in each replay, too."""
    bundle = tmp_path / "bundle"
    with serve_pages() as site, recorded_page(chromium, bundle) as recorded:
        scroll_the_list(site, recorded.page)

    report = certify(bundle)

    wheel = next(step.action for step in steps(bundle) if step.action.type == "mouse" and step.action.event == "wheel")
    assert (wheel.x, wheel.y, wheel.dx, wheel.dy) == (100, 150, 0, 400)
    assert report.status in {"certified", "proposed"}, report.findings
    assert report.certificate is not None


def test_a_list_that_did_not_grow_prevents_certification(chromium: Browser, tmp_path: Path) -> None:
    """A wheel that scrolls the document instead of the list loads nothing, and every replay agrees on that."""
    bundle = tmp_path / "bundle"
    with serve_pages() as site, recorded_page(chromium, bundle) as recorded:
        scroll_the_list(site, recorded.page)
    wheel = next(place for place, step in enumerate(steps(bundle)) if getattr(step.action, "event", "") == "wheel")
    waited = next(place for place, step in enumerate(steps(bundle)) if step.action.type == "wait_for")
    replace_action(bundle, wheel, Scroll(dy=400))
    replace_action(bundle, waited, Scroll(dy=1))

    report = certify(bundle)

    assert report.status == "unverifiable"
    assert {(each.sequence, each.layer) for each in report.findings} & {(wheel + 1, "network"), (waited + 1, "network")}
    assert any(
        "/items?page=2 is in the recording, but a replay did not send it" in each.message for each in report.findings
    )


def test_polls_that_never_came_prevent_certification(chromium: Browser, tmp_path: Path) -> None:
    """The button that starts the poll is not pressed: the status of the recording never arrives."""
    bundle = tmp_path / "bundle"
    with serve_pages() as site, recorded_page(chromium, bundle) as recorded:
        watch(site, recorded.page)
    replace_action(bundle, 1, steps(bundle)[-1].action)

    report = certify(bundle)

    assert report.status == "unverifiable"
    found = [each for each in report.findings if each.layer == "network"]
    assert [each.sequence for each in found[:1]] == [2], report.findings
    assert "/status is in the recording, but a replay did not send it" in found[0].message


def hurry(site: PageSite, page: Page) -> None:
    """Click a button that is gone once the page has loaded, then save."""
    has_clicked = threading.Event()

    def slow(_asked: object) -> Answer:
        has_clicked.wait(10)
        return Answer(body="loaded")

    site.answers |= {"/slow": slow, "/save": Answer(body="saved")}
    page.goto(site.put(HURRY))
    page.get_by_role("button", name="Now").click()
    has_clicked.set()
    page.get_by_text("loaded").wait_for()
    page.get_by_role("button", name="Save").click()
    page.get_by_text("saved").wait_for()


def test_a_hurried_mission_is_certified_with_the_timing_of_the_agent(chromium: Browser, tmp_path: Path) -> None:
    """Waiting for idle pages removes the button, so that its replay fails."""
    bundle = tmp_path / "bundle"
    with serve_pages() as site, recorded_page(chromium, bundle) as recorded:
        hurry(site, recorded.page)

    report = certify(bundle)

    assert report.status == "proposed", report.findings
    assert not any(isinstance(each, SetTimeline) for each in report.patch.operations)


def test_a_save_that_a_hurried_mission_left_out_prevents_certification(chromium: Browser, tmp_path: Path) -> None:
    """With the timing of the agent, too, the baselines are those of replays, which all send nothing."""
    bundle = tmp_path / "bundle"
    with serve_pages() as site, recorded_page(chromium, bundle) as recorded:
        hurry(site, recorded.page)
    saved = next(place for place, step in enumerate(steps(bundle)) if "Save" in str(getattr(step.action, "target", "")))
    for place in (saved, saved + 1):
        replace_action(bundle, place, Scroll(dy=1))

    report = certify(bundle)

    assert report.status == "unverifiable", report.findings
    assert any("/save" in each.message and "did not send it" in each.message for each in report.findings)


def count(page: Page, url: str, *, clicks: int = 3) -> None:
    """Click as regularly as a timer, then look."""
    page.goto(url)
    page.wait_for_function("document.title === 'open'")
    for _ in range(clicks):
        page.locator("#send").click()
        page.wait_for_timeout(700)
    for _ in range(3):
        page.locator("#look").click()
        page.wait_for_timeout(300)


def places_of(bundle: Path, button: str) -> list[int]:
    """Return the positions of the clicks on a button."""
    return [place for place, step in enumerate(steps(bundle)) if button in str(getattr(step.action, "target", ""))]


@pytest.mark.parametrize(
    ("act", "lost"), [*((act, 2) for act in SENDS), ("at once", -1)], ids=[*SENDS, "at the end of the mission"]
)
def test_a_message_of_a_click_is_no_heartbeat(chromium: Browser, tmp_path: Path, act: str, lost: int) -> None:
    """Three clicks send equal messages, at regular intervals; a replay that leaves one out has not repeated them."""
    bundle = tmp_path / "bundle"
    with serve_pages() as site, serve_torture() as torture:
        site.answers["/token"] = Answer(body="token")
        url = site.put(COUNTER.format(url=torture.url.replace("http", "ws") + "/ws/echo", then="", act=SENDS[act]))
        with recorded_page(chromium, bundle) as recorded:
            count(recorded.page, url)
            if lost < 0:
                recorded.page.locator("#send").click()
                recorded.page.wait_for_timeout(300)
    replace_action(bundle, places_of(bundle, "send")[lost], Scroll(dy=1))

    report = certify(bundle)

    assert report.status == "unverifiable", report.findings
    found = [each for each in report.findings if "/ws/echo" in each.message]
    assert found, report.findings
    assert "did not send it" in found[0].message


def record_clicks_between_heartbeats(browser: Browser, bundle: Path, clicks: int) -> None:
    """Record clicks that send a message while a timer sends others."""
    with serve_pages() as site, serve_torture() as torture:
        here = torture.url.replace("http", "ws") + "/ws/echo"
        url = site.put(COUNTER.format(url=here, then=PINGS, act=SENDS["at once"]))
        with recorded_page(browser, bundle) as recorded:
            count(recorded.page, url, clicks=clicks)


def test_messages_of_clicks_between_heartbeats_are_certified(chromium: Browser, tmp_path: Path) -> None:
    """How often a timer sends its message does not matter."""
    bundle = tmp_path / "bundle"
    record_clicks_between_heartbeats(chromium, bundle, clicks=3)

    report = certify(bundle)

    assert report.status in {"certified", "proposed"}, report.findings
    assert report.certificate is not None


def test_a_timer_at_the_end_of_a_step_fires_in_each_run(chromium: Browser, tmp_path: Path) -> None:
    """Recorded times have fractions; runs with a baseline and without it must not differ by one millisecond."""
    bundle = tmp_path / "bundle"
    record_clicks_between_heartbeats(chromium, bundle, clicks=1)
    opened_ms = next(
        each.moment.at_ms for each in read_network(bundle / "network").sockets if isinstance(each, SocketAccepted)
    )
    click = steps(bundle)[places_of(bundle, "send")[0]]

    def ends_with_a_ping(step: ActionTrace) -> ActionTrace:
        if step.id != click.id or step.observation is None or step.observation.acted_ms is None:
            return step
        begun_ms = math.floor(step.observation.begun_ms or 0.0) + 0.655
        pings = math.ceil((step.observation.acted_ms + 100 - opened_ms) / 150)
        timing = {"begun_ms": begun_ms, "virtual_ms": opened_ms + 150 * pings - 0.08 - begun_ms}
        return step.model_copy(update={"observation": step.observation.model_copy(update=timing)})

    write_trace(map_actions(read_trace(bundle), ends_with_a_ping), bundle)

    report = certify(bundle)

    assert report.status == "proposed", report.findings
    assert report.rounds <= 2


def test_a_close_soon_after_its_page_loaded_is_missed(chromium: Browser, tmp_path: Path) -> None:
    """Only a document that is requested while a socket is open makes the browser close it."""
    bundle = tmp_path / "bundle"
    act, name = USES["a close"]
    with serve_pages() as site, serve_torture() as torture:
        here = torture.url.replace("http", "ws") + "/ws/named/a"
        url = site.put(COUNTER.format(url=here, then="", act=act.format(url=here)))
        with recorded_page(chromium, bundle) as recorded:
            count(recorded.page, url, clicks=1)
    replace_action(bundle, places_of(bundle, "send")[0], Scroll(dy=1))
    closed = next(each for each in read_network(bundle / "network").sockets if isinstance(each, SocketClosed))
    index = bundle / "network" / "index.jsonl"
    lines = [json.loads(line) for line in index.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        if line.get("request", {}).get("is_navigation"):
            line["completed_ms"] = float(closed.moment.at_ms)
    index.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")

    report = certify(bundle)

    assert report.status == "unverifiable", report.findings
    assert any(name in each.message for each in report.findings)


@pytest.mark.parametrize("use", list(USES))
def test_a_socket_that_is_not_used_as_recorded_prevents_certification(
    chromium: Browser, tmp_path: Path, use: str
) -> None:
    """The page looks the same whether an action closed a socket, or opened one, or did not."""
    bundle = tmp_path / "bundle"
    act, name = USES[use]
    with serve_pages() as site, serve_torture() as torture:
        here = torture.url.replace("http", "ws") + "/ws/named/a"
        url = site.put(COUNTER.format(url=here, then="", act=act.format(url=here)))
        with recorded_page(chromium, bundle) as recorded:
            count(recorded.page, url, clicks=1)
    replace_action(bundle, places_of(bundle, "send")[0], Scroll(dy=1))

    report = certify(bundle)

    assert report.status == "unverifiable", report.findings
    found = [each for each in report.findings if name in each.message]
    assert [(each.sequence, each.layer) for each in found] == [(3, "network")], report.findings
    assert "did not send it" in found[0].message


def test_sockets_that_end_with_their_pages_are_certified(chromium: Browser, tmp_path: Path) -> None:
    """A browser closes the sockets of a page that is left, or closed: no page has to."""
    bundle = tmp_path / "bundle"
    with serve_pages() as site, serve_torture() as torture:
        url = site.put(COUNTER.format(url=torture.url.replace("http", "ws") + "/ws/echo", then="", act="0"))
        with recorded_page(chromium, bundle) as recorded:
            page = recorded.page
            page.goto(site.put(f"<a target=_blank href='{url}'>Open</a><a href='{url}'>Go</a>"))
            with page.expect_popup() as opened:
                page.get_by_text("Open").click()
            opened.value.locator("#look").click()
            page.wait_for_timeout(500)
            opened.value.close()
            page.wait_for_timeout(700)
            page.get_by_text("Go").click()
            page.locator("#look").click()
            page.wait_for_timeout(500)
            page.go_back()
            page.wait_for_timeout(700)
            page.get_by_text("Go").hover()
            page.wait_for_timeout(700)

    report = certify(bundle)

    assert report.status in {"certified", "proposed"}, report.findings
    assert report.certificate is not None


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
@pytest.mark.parametrize("is_last", [False, True], ids=["cut off", "at the end"])
def test_a_save_without_a_response_must_be_sent(
    chromium: Browser, tmp_path: Path, method: str, *, is_last: bool
) -> None:
    """The site may have saved what the agent did not wait for: it went to another page, or the mission was over."""
    bundle = tmp_path / "bundle"
    with serve_pages() as site:
        site.answers |= {"/next": Answer(body="<h1>Next</h1>"), "/save": lambda _asked: _answer_late(site)}
        with recorded_page(chromium, bundle) as recorded:
            page = recorded.page
            page.goto(site.put(SAVE.format(method=method)))
            page.get_by_role("button").click()
            if not is_last:
                page.get_by_role("link").click()
                page.get_by_role("heading", name="Next").wait_for()
    repeated = certify(bundle)
    replace_action(bundle, 1, Scroll(dy=1))

    report = certify(bundle)

    assert repeated.status in {"certified", "proposed"}, repeated.findings
    assert report.status == "unverifiable", report.findings
    assert [(each.sequence, each.layer) for each in report.findings] == [(2, "network")]
    assert f"{method} {site.url}/save" in report.findings[0].message


@pytest.mark.parametrize("source", ["har", "live"])
def test_other_replays_compare_the_requests_of_each_action(chromium: Browser, tmp_path: Path, source: str) -> None:
    """A certified mission has baselines: a replay from a HAR file, or of the live site, misses a save that was lost."""
    bundle, har = tmp_path / "bundle", tmp_path / "site.har"
    with serve_pages() as site:
        site.answers["/save"] = Answer(body="saved")
        with recorded_page(chromium, bundle, TWICE) as recorded:
            recorded.page.goto(site.put(SAVE.format(method="POST")))
            recorded.page.get_by_role("button").click()
            recorded.page.wait_for_timeout(300)
        assert run_command(eikon, ["export", "har", str(bundle), "--output", str(har)], "eikon") == 0
        options = ReplayOptions(artifacts_dir=tmp_path / "run", har=har)
        if source == "live":
            options = ReplayOptions(artifacts_dir=tmp_path / "run", network="live")
        unchanged = ReplayEngine(options).replay(bundle)
        replace_action(bundle, 1, Scroll(dy=1))
        with pytest.raises(ReplayDivergenceError) as caught:
            ReplayEngine(options).replay(bundle)

    assert unchanged.verdict == "faithful", unchanged.reasons
    assert "request-missing" in str(caught.value), caught.value


def _answer_late(site: PageSite) -> Answer:
    site.released.wait(HELD_S)
    return Answer(body="saved")
