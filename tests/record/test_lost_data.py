"""What could not be recorded is named, and the bundle is not certified; a slow download is waited for."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

import pytest
from playwright.async_api import Error, Request, Response
from playwright.sync_api import Browser

from eikon_engine.network.exchange import ABORTED_ERROR
from eikon_engine.network.store import read_network
from eikon_engine.record import action_log as timeline
from eikon_engine.record.agent_recorder import AgentRecorder
from eikon_engine.trace.bundle import open_bundle
from tests.browser.pages import Answer, PageSite
from tests.record.recorded_page import TWICE, recorded_page, steps, warnings

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("link", ["<a href=/slow>Get it</a>", "<a href=/slow download>Get it</a>"])
def test_a_slow_last_download_is_waited_for(chromium: Browser, site: PageSite, tmp_path: Path, link: str) -> None:
    """A download still running when the mission ends is recorded completely and certified."""
    site.answers["/slow"] = Answer(
        content_type="application/octet-stream",
        headers=(("Content-Disposition", "attachment; filename=slow.bin"),),
        pieces=tuple(bytes([number]) * 1000 for number in range(75)),
    )
    url = site.put(link)
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(url)
        agent.page.click("a")

    assert warnings(tmp_path / "b") == ""
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified"
    seen = steps(tmp_path / "b")[-1].observation
    assert seen is not None
    assert [(each.name, each.size, each.failure) for each in seen.downloads] == [("slow.bin", 75_000, None)]


def test_a_download_that_takes_too_long_is_lost(
    chromium: Browser, site: PageSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bundle says so, and is not certified."""
    monkeypatch.setattr(timeline, "DOWNLOAD_TIMEOUT_S", 0.3)
    site.answers["/endless"] = Answer(
        content_type="application/octet-stream",
        headers=(("Content-Disposition", "attachment; filename=endless.bin"),),
        pieces=(bytes(100_000),),
        ending="open",
    )
    url = site.put("<a href=/endless>Get it</a>")
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(url)
        agent.page.click("a")

    network = open_bundle(tmp_path / "b").trace.network
    assert network is not None
    (lost,) = network.incomplete
    assert f"{site.url}/endless" in lost.what
    assert lost.why == "it was still running 0.3 s after the mission"
    assert f"{lost.what} was lost: {lost.why}" in warnings(tmp_path / "b")
    assert agent.mission.report is not None
    assert agent.mission.report.status == "unverifiable"


def test_a_failing_recorder_makes_the_recording_incomplete(
    chromium: Browser, site: PageSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent does not notice, but a step may be missing."""

    def fail(*_arguments: object) -> None:
        message = "no such call"
        raise RuntimeError(message)

    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(site.put("<p>Here</p>"))
        with monkeypatch.context() as patched:
            patched.setattr(AgentRecorder, "_read_of", fail)
            assert agent.page.locator("p").count() == 1
        for _ in range(2):
            agent.page.locator("p").click()
        copytree(tmp_path / "b", tmp_path / "killed")  # what a killed process leaves

    for folder in ("b", "killed"):
        network = open_bundle(tmp_path / folder).trace.network
        assert network is not None
        assert [each.why for each in network.incomplete] == ["the recorder failed: RuntimeError: no such call"]
    assert agent.mission.report is not None
    assert agent.mission.report.status == "unverifiable"


LEAVING = """<p>Grace</p><button>Delete</button><script>
document.querySelector("button").onclick = () => {
  const request = new XMLHttpRequest();
  request.open("DELETE", "/customers/2");
  request.onload = () => { location.href = request.responseText; };
  request.send();
};</script>"""


@pytest.mark.parametrize("is_readable", [True, False])
def test_a_response_by_which_a_script_leaves_its_page_is_kept(
    chromium: Browser,
    site: PageSite,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_readable: bool,  # noqa: FBT001 - of the test
) -> None:
    """Playwright calls it cancelled if the next document comes before its end is reported; a loss is named."""
    failure, body = Request.failure, Response.body

    def cancelled(request: Request) -> str | None:
        return ABORTED_ERROR if request.method == "DELETE" else failure.__get__(request)

    async def unreadable(response: Response) -> bytes:
        if response.request.method == "DELETE":
            raise Error("No data found for resource with given identifier")
        return await body(response)

    monkeypatch.setattr(Request, "failure", property(cancelled))
    if not is_readable:
        monkeypatch.setattr(Response, "body", unreadable)
    site.answers |= {
        "/customers/2": Answer(body="/customers"),
        "/customers": Answer(body="<title>Customers</title>Ada"),
    }
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(site.put(LEAVING))
        agent.page.click("button")
        agent.page.wait_for_url("**/customers")
    monkeypatch.undo()

    assert agent.mission.report is not None
    lost = open_bundle(tmp_path / "b").trace.network
    assert lost is not None
    assert [each.what for each in lost.incomplete] == (
        [] if is_readable else [f"the response to DELETE {site.url}/customers/2"]
    )
    assert agent.mission.report.status == ("certified" if is_readable else "unverifiable"), (
        agent.mission.report.findings
    )


@pytest.mark.parametrize("closes", ["its tab", "its context"])
def test_a_response_that_arrives_when_the_agent_closes_its_page_is_kept(
    chromium: Browser, site: PageSite, tmp_path: Path, closes: str
) -> None:
    """The page closes a moment later: the browser has no response of a page that is gone."""
    script = tuple(f"window.piece = {number};".encode() for number in range(9))
    site.answers["/late.js"] = Answer(content_type="text/javascript", pieces=script)
    url = site.put("<button onclick=\"import('/late.js')\">Load</button>")
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(url)
        other = agent.page.context.new_page()
        other.goto(url)
        with other.expect_response("**/late.js"):
            other.click("button")
        if closes == "its tab":
            other.close()
            agent.page.click("button")
        else:
            agent.page.context.close()

    network = read_network(tmp_path / "b" / "network")
    kept = [each.response for each in network.exchanges if each.request.url.endswith("/late.js")]
    assert [each and each.body and network.body(each.body) for each in kept[:1]] == [b"".join(script)]
    assert agent.mission.report is not None
    if closes == "its tab":
        assert agent.mission.report.status == "certified", agent.mission.report
