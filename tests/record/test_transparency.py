"""Recording is transparent: listeners, routes and expectations of the agent behave as without it."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, Route, expect

from eikon_engine.browser.playwright_internals import connection_of, impl_of
from eikon_engine.record import record_mission
from tests.browser.pages import Answer, PageSite
from tests.record.recorded_page import QUICK, kinds, recorded_page, warnings

pytestmark = pytest.mark.browser

Agent = Callable[[Page, str, list[str]], None]
"""Drive a page of a site, and return what the agent observes."""

PAGE = """<button id=go onclick="console.log('went'); fetch('/data').then(got => got.text()).then(text => {
  out.textContent = text; console.log(text); })">Go</button><p id=out></p>
<button id=ask onclick="out.textContent = String(confirm('Sure?'))">Ask</button>
<button id=break onclick="throw new Error('broken')">Break</button>
<button id=open onclick="window.open('/other')">Open</button>"""


def listen(page: Page, url: str, noticed: list[str]) -> None:
    """Listen to all events of a page and its context."""
    for kind in ("request", "response", "requestfinished", "requestfailed"):
        page.on(kind, lambda event, kind=kind: noticed.append(f"{kind} {event.url}"))
    page.on("console", lambda message: noticed.append(f"console {message.type} {message.text}"))
    page.on("pageerror", lambda error: noticed.append(f"error {error}"))
    page.on("framenavigated", lambda frame: noticed.append(f"navigated {frame.url}"))
    page.on("load", lambda _: noticed.append("load"))
    page.context.on("page", lambda opened: noticed.append(f"page {opened is not page}"))
    page.goto(url)
    page.click("#go")
    expect(page.locator("#out")).to_have_text("data")
    page.click("#break")
    with page.expect_popup() as opening:
        page.click("#open")
    opening.value.close()


def answer_dialogs(page: Page, url: str, noticed: list[str]) -> None:
    """Answer dialogs with a handler that is added and removed again."""

    def answer(dialog: Dialog) -> None:
        noticed.append(f"{dialog.type} {dialog.message} {dialog.default_value}")
        dialog.accept()

    page.goto(url)
    page.on("dialog", answer)
    page.click("#ask")
    noticed.append(page.inner_text("#out"))
    page.remove_listener("dialog", answer)
    page.click("#ask")
    noticed.append(page.inner_text("#out"))


def route(page: Page, url: str, noticed: list[str]) -> None:
    """Answer one request, change another, and remove the routes."""

    def fulfill(route: Route) -> None:
        noticed.append(f"{route.request.method} {route.request.resource_type}")
        route.fulfill(body="made up")

    page.route("**/data", fulfill)
    page.goto(url)
    page.click("#go")
    expect(page.locator("#out")).to_have_text("made up")
    page.unroute("**/data")
    page.click("#go")
    expect(page.locator("#out")).to_have_text("data")


def look_around(page: Page, url: str, noticed: list[str]) -> None:
    """Inspect everything by which a page could detect a recording."""
    page.goto(url)
    noticed.append(str(page.evaluate("Object.keys(window).filter(each => each.includes('eikon'))")))
    noticed.append(str(page.evaluate("[Math.random.toString(), Date.now.toString(), navigator.webdriver]")))
    noticed.append(f"{len(page.context.pages)} {len(page.frames)} {page.viewport_size} {page.context.cookies()}")
    noticed.append(page.content())


@pytest.mark.parametrize("agent", [listen, answer_dialogs, route, look_around])
def test_an_agent_sees_the_same_pages_with_and_without_recording(
    chromium: Browser, site: PageSite, tmp_path: Path, agent: Agent
) -> None:
    """The same script, recorded or not, observes the same events in the same order."""
    site.answers["/data"] = Answer(body="data", content_type="text/plain")
    site.answers["/other"] = Answer(body="<p>other")
    site.answers["/favicon.ico"] = Answer(status=204)
    url = site.put(PAGE)
    alone: list[str] = []
    recorded: list[str] = []

    page = chromium.new_page()
    agent(page, url, alone)
    page.close()
    with recorded_page(chromium, tmp_path / "b") as watching:
        agent(watching.page, url, recorded)

    assert recorded == alone
    assert "CDPSession" not in warnings(tmp_path / "b")
    assert "click" in kinds(tmp_path / "b") or agent is look_around


def test_the_responses_of_a_route_are_recorded(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """A response from the agent's own route is recorded and replayed."""
    site.answers["/data"] = Answer(body="data", content_type="text/plain")
    url = site.put(PAGE)
    with recorded_page(chromium, tmp_path / "b") as agent:
        route(agent.page, url, [])

    index = (tmp_path / "b" / "network" / "index.jsonl").read_text(encoding="utf-8")
    assert index.count('/data"') >= 2
    assert "the recorder failed" not in warnings(tmp_path / "b")


def test_reads_and_waits_are_recorded_and_waits_for_a_time_are_not(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """Expectations, values and waits for a URL are recorded; waits for a time leave nothing, which is no warning."""
    url = site.put("<h1>Here</h1>")
    with recorded_page(chromium, tmp_path / "b") as agent:
        page = agent.page
        page.goto(url)
        expect(page.get_by_role("heading")).to_have_text("Here")
        expect(page).to_have_url(url)
        page.wait_for_url(url)
        page.wait_for_timeout(10)
        page.locator("h1").count()
        page.title()
        page.locator("h1").bounding_box()

    assert kinds(tmp_path / "b") == ["expect", "expect", "wait_for", "read", "read"]
    assert warnings(tmp_path / "b") == (
        "ElementHandle.boundingBox was called once: replays do not compare what it returned"
    )


def test_tracing_of_the_agent_continues(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """An agent's own trace contains its own calls and none of ours."""
    url = site.put("<button>Go</button>")
    with recorded_page(chromium, tmp_path / "b") as agent:
        tracing = agent.page.context.tracing
        tracing.start(snapshots=True)
        agent.page.goto(url)
        agent.page.click("button")
        tracing.stop(path=tmp_path / "trace.zip")

    with zipfile.ZipFile(tmp_path / "trace.zip") as archive:
        trace_text = archive.read("trace.trace").decode()
    assert '"method":"click"' in trace_text
    assert "__eikon__" not in trace_text.replace("\\", "")
    assert '"method":"evalOnSelector' not in trace_text
    assert '"method":"queryCount"' not in trace_text
    assert "eikon-probe" not in trace_text


def listener_counts(source: BrowserContext | Page) -> dict[str, int]:
    """Count the listeners to each event of a context or page."""
    emitter = impl_of(source)
    counts = {event: len(emitter.listeners(event)) for event in emitter.event_names()}
    return {event: count for event, count in counts.items() if count}


def test_nothing_is_recorded_after_the_block(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The agent's page stays usable after the recording, and its later actions are in no file."""
    url = site.put("<button>Go</button>")
    context = chromium.new_context()
    page = context.new_page()
    connection = connection_of(page)
    sends = connection.send_message_to_server
    listeners = listener_counts(context), listener_counts(page)
    with record_mission(page, mission_text="Try it", directory=tmp_path / "b", options=QUICK):
        page.goto(url)
        assert (listener_counts(context), listener_counts(page)) != listeners
    assert (listener_counts(context), listener_counts(page)) == listeners
    before = sorted((path, path.read_bytes()) for path in (tmp_path / "b").rglob("*") if path.is_file())
    page.click("button")
    page.goto(url + "?later")
    context.close()

    assert connection.send_message_to_server == sends

    assert sorted((path, path.read_bytes()) for path in (tmp_path / "b").rglob("*") if path.is_file()) == before


def test_two_recordings_observe_the_agent_and_not_each_other(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Both bundles have the same actions, without warnings about the other recording."""
    url = site.put("<button>Go</button>")
    with (
        recorded_page(chromium, tmp_path / "outer") as agent,
        record_mission(agent.page, mission_text="Try it", directory=tmp_path / "inner", options=QUICK),
    ):
        agent.page.goto(url)
        agent.page.click("button")

    assert kinds(tmp_path / "outer") == kinds(tmp_path / "inner") == ["click"]
    assert warnings(tmp_path / "outer") == warnings(tmp_path / "inner") == ""
