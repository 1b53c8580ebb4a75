"""Certifying an agent's recording whose actions did not wait for responses."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, TimeoutError  # noqa: A004 - what Playwright raises

from eikon_engine.certify.certify import certify
from eikon_engine.certify.options import CertifyOptions
from eikon_engine.dom import render_plain_html
from eikon_engine.network.store import read_network
from eikon_engine.outcome.certification import CertificationReport
from eikon_engine.record import AttachOptions, record_mission
from eikon_engine.trace.actions import Read, ReadValue
from eikon_engine.trace.bundle import load_page, open_bundle
from eikon_engine.trace.execution import MovedDelivery, NetworkPart
from eikon_engine.trace.steps import map_actions
from eikon_engine.trace.trace_file import read_trace, write_trace
from tests.browser.pages import Answer, PageSite
from tests.record.recorded_page import TWICE, steps
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.pages import Asked

pytestmark = pytest.mark.browser

QUIET = "no message"
LATE_S = 2.0
KEPT_MS = 1500
"""How long the agent waits before it sends something; the poll is pending all the time."""
CHAT = """<p>no message</p><button onclick="fetch('/say', {method: 'POST'})">Say</button>
<script>
fetch('/poll').then(answer => answer.text()).then(text => document.querySelector('p').textContent = text);
</script>"""


BUY = "<button onclick='document.title = 1'>Buy</button>"
TOTAL = """<button onclick="document.querySelector('p').textContent = price">Total</button><button>Again</button><p></p>
<script>
let price = '0';
fetch('/price').then(answer => answer.text()).then(text => { price = text });
</script>"""


def shown(folder: Path, step: int) -> str:
    """Return what the page shows after a step, according to the certification."""
    bundle = open_bundle(folder)
    baseline = steps(folder)[step].baseline
    snapshot = None if baseline is None else load_page(bundle.dom, baseline.pages[0])
    assert snapshot is not None
    return render_plain_html(snapshot.main)


@pytest.fixture
def chat(site: PageSite) -> str:
    """Serve a page that receives messages by a long poll; each visit starts with none."""
    said = threading.Event()

    def page(_asked: Asked) -> Answer:
        said.clear()
        return Answer(body=f"<!doctype html>{CHAT}")

    def say(_asked: Asked) -> Answer:
        said.set()
        return Answer(body="ok")

    def poll(_asked: Asked) -> Answer:
        said.wait(timeout=60)
        return Answer(body="a message arrived")

    site.answers.update({"/chat": page, "/say": say, "/poll": poll})
    return f"{site.url}/chat"


def test_the_response_to_a_long_poll_arrives_after_its_cause(chromium: Browser, chat: str, tmp_path: Path) -> None:
    """The poll is pending from page load; replays do not show its response before the message was sent."""
    page = chromium.new_page()

    with record_mission(page, mission_text="Speak", directory=tmp_path / "b", options=TWICE) as mission:
        page.goto(chat)
        page.wait_for_timeout(KEPT_MS)
        page.get_by_role("button", name="Say").click()
        page.get_by_text("a message arrived").wait_for()

    page.context.close()
    assert mission.report is not None
    assert mission.report.status == "certified"
    assert [QUIET in shown(tmp_path / "b", number) for number in range(3)] == [True, False, False]


@pytest.mark.parametrize(
    "source",
    [
        "fetch('/late').then(r => r.text()).then(t => document.body.innerHTML = t)",
        "setTimeout(() => { document.body.innerHTML = document.querySelector('template').innerHTML }, 2000)",
    ],
    ids=["an answer", "a timer"],
)
def test_an_action_that_was_too_early_fails_again(
    chromium: Browser, site: PageSite, tmp_path: Path, source: str
) -> None:
    """An action that failed at first and succeeded on a retry fails and succeeds in replays too."""

    def late(_asked: Asked) -> Answer:
        site.released.wait(LATE_S)
        return Answer(body=BUY)

    site.answers["/late"] = late
    page = chromium.new_page()

    with record_mission(page, mission_text="Buy", directory=tmp_path / "b", options=TWICE) as mission:
        page.goto(site.put(f"<template>{BUY}</template><script>{source}</script>"))
        for _ in range(2):
            with pytest.raises(TimeoutError):
                page.get_by_role("button").click(timeout=500)
        page.get_by_role("button").click()

    page.context.close()
    assert mission.report is not None
    assert mission.report.status == "certified"
    assert [(step.result.kind, step.baseline is not None) for step in steps(tmp_path / "b")] == [
        ("ok", True),
        ("failed", True),
        ("failed", True),
        ("ok", True),
    ]


def add_up(chromium: Browser, site: PageSite, folder: Path, *, reads: bool) -> CertificationReport:
    """Let an agent add up before the price has arrived; it may read the total."""

    def late(_asked: Asked) -> Answer:
        site.released.wait(LATE_S)
        return Answer(body="42")

    site.answers["/price"] = late
    page = chromium.new_page()

    with record_mission(page, mission_text="Sum up", directory=folder, options=TWICE) as mission:
        page.goto(site.put(TOTAL))
        page.get_by_role("button", name="Total").click()
        if reads:
            assert page.locator("p").inner_text() == "0"
        page.wait_for_function("price === '42'")
        page.get_by_role("button", name="Again").click()

    page.context.close()
    assert mission.report is not None
    assert mission.report.certificate is not None
    return mission.report


def test_an_action_before_a_response_that_replays_await_is_a_note(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """The agent got a total of 0, replays show one of 42: that they are equal does not prove what the agent did."""
    report = add_up(chromium, site, tmp_path / "b", reads=False)

    assert report.certificate is not None
    assert len(report.notes) == 1
    assert "sequence 2 (click" in report.notes[0]
    assert "the agent acted before GET" in report.notes[0]
    assert "/price finished. Replays wait for it" in report.notes[0]
    assert report.certificate.notes == report.notes


def test_what_an_agent_reads_before_a_response_decides_when_replays_deliver_it(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """The agent read a total of 0, so replays that show one of 42 are wrong: they follow the times of the agent."""
    report = add_up(chromium, site, tmp_path / "b", reads=True)

    assert report.status == "certified"
    assert report.notes == ()
    read = next(step.action for step in steps(tmp_path / "b") if step.action.type == "read")
    assert isinstance(read, Read)
    assert read.value == ReadValue(value="0")


WRAPPED = """<form><fieldset><textarea id=text></textarea></fieldset></form><script>
const derive = async () => {
  const key = await crypto.subtle.importKey('raw', new Uint8Array(16), 'PBKDF2', false, ['deriveBits']);
  const how = { name: 'PBKDF2', hash: 'SHA-512', salt: new Uint8Array(16), iterations: 2_000_000 };
  return crypto.subtle.deriveBits(how, key, 256);
};
derive().then(() => {
  const box = document.createElement('div'), field = document.getElementById('text');
  field.replaceWith(box);
  box.append(field);
  document.title = 'Ready';
});</script>"""


def test_a_field_that_a_script_wraps_later_is_the_recorded_one(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """The agent fills it while the browser works for the script; replays wait for it, however they are timed."""
    page = chromium.new_page()

    with record_mission(page, mission_text="Write", directory=tmp_path / "b", options=TWICE) as mission:
        page.goto(site.put(WRAPPED))
        page.fill("#text", "Roses")
        page.wait_for_function("document.title === 'Ready'")

    page.context.close()
    assert mission.report is not None
    assert mission.report.status == "certified", mission.report.findings


STYLED = """<p id=order></p><button onclick="this.remove()">Done</button><script>
const note = name => { document.getElementById('order').textContent += `${name} `; };
addEventListener('load', () => {
  const style = document.createElement('link'), frame = document.createElement('iframe');
  Object.assign(style, { rel: 'stylesheet', href: '/skin.css', onload: () => note('style') });
  document.head.append(style);
  Object.assign(frame, { srcdoc: '<p>word</p>'.repeat(20_000), onload: () => note('frame') });
  document.body.append(frame);
});</script>"""


def test_a_style_sheet_does_not_overtake_a_frame_that_a_script_fills(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """The document of the frame comes without a request, in real time; replays have the style sheet at once."""

    def late(_asked: Asked) -> Answer:
        site.released.wait(LATE_S)
        return Answer(body="p { color: red }", content_type="text/css")

    site.answers["/skin.css"] = late
    page = chromium.new_page()

    with record_mission(page, mission_text="Look", directory=tmp_path / "b", options=TWICE) as mission:
        page.goto(site.put(STYLED))
        page.wait_for_function("document.getElementById('order').textContent.includes('style')")
        page.get_by_role("button").click()

    page.context.close()
    assert mission.report is not None
    assert mission.report.status == "certified", mission.report.findings
    seen = steps(tmp_path / "b")[-1].observation
    assert seen is not None
    page_seen = load_page(open_bundle(tmp_path / "b").dom, seen.pages[0])
    assert page_seen is not None
    assert "frame style" in render_plain_html(page_seen.frames[0])


def test_an_element_of_another_namespace_is_no_frame(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """A drawing may have an element named `iframe`, which has no document and no address."""
    page = chromium.new_page()
    with record_mission(page, mission_text="Look", directory=tmp_path / "b", options=TWICE) as mission:
        page.goto(site.put("<svg><iframe></iframe></svg><button>Look</button>"))
        page.get_by_role("button").click()
    page.context.close()
    assert mission.report is not None
    assert mission.report.status == "certified", mission.report.findings


COVERED = """<button id=go>Go</button><p id=out></p><div style='height: 3000px'></div><button id=late>Late</button>
<script>
go.onclick = () => {
  const cover = document.createElement('div');
  cover.style = 'position: fixed; inset: 0';
  document.body.append(cover);
  setTimeout(() => cover.remove(), 400);
};
addEventListener('scroll', () => { out.textContent = performance.now(); }, { once: true });
</script>"""


def test_replays_look_for_a_target_when_the_first_one_did(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """To look for a target scrolls to it, however long it is covered then."""
    page = chromium.new_page()
    with record_mission(page, mission_text="Wait", directory=tmp_path / "b", options=AttachOptions(certify=None)):
        page.goto(site.put(COVERED))
        page.click("#go")
        page.click("#late")
        page.wait_for_timeout(200)
    page.context.close()
    late = steps(tmp_path / "b")[-1]
    assert late.observation is not None
    assert late.observation.begun_ms is not None
    early = late.observation.model_copy(update={"acted_ms": late.observation.begun_ms + 10})
    trace = map_actions(
        read_trace(tmp_path / "b"),
        lambda each: each.model_copy(update={"observation": early}) if each.id == late.id else each,
    )
    moment = next(each.moment for each in read_network(tmp_path / "b" / "network").exchanges if each.moment is not None)
    as_recorded = MovedDelivery(was=moment.order, order=moment.order, at_ms=moment.at_ms, phase=moment.phase)
    network = NetworkPart(timeline=(as_recorded,))  # the agent's timing is kept
    write_trace(trace.model_copy(update={"network": network}), tmp_path / "b")

    report = SHARED.run(certify(open_bundle(tmp_path / "b"), CertifyOptions(runs=2))).report

    assert (report.status, report.rounds) == ("proposed", 2), report.findings
