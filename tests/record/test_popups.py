"""Windows that pages open: what they load, send and tell their openers is recorded and replayed."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser

from eikon_engine.network.store import read_network
from eikon_engine.record import open_recorder
from eikon_engine.trace.actions import Click, Navigate
from tests.browser.desk import at
from tests.browser.pages import Answer, Asked, PageSite
from tests.record.recorded_page import TWICE, recorded_page
from tests.replay.conftest import replay
from tests.replay.shared_browsers import SHARED

pytestmark = pytest.mark.browser

PIECES: Final = tuple(b"%d" % number for number in range(10))
"""Take so long to arrive that a window which does not wait has closed by then."""
OPENER = """<button onclick="window.open('/add', 'add', 'width=400,height=300')">Add</button><p id=chosen></p>
<script>window.choose = name => { document.getElementById('chosen').textContent = name; };</script>"""
ADD = "<form method=post action=/add><input name=name><button>Save</button></form>"
ADDED = "<script>opener.choose('a new one'); window.close();</script>"


@pytest.fixture
def admin(site: PageSite) -> str:
    """Serve a page with a window in which a related object is added."""
    site.answers["/add"] = lambda asked: Answer(body=ADDED if asked.method == "POST" else ADD)
    return site.put(OPENER)


def test_a_window_that_closes_itself_after_its_post_is_recorded(chromium: Browser, admin: str, tmp_path: Path) -> None:
    """The answer of the POST is the last that the window loads; it is kept, and each replay ends as the recording."""
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(admin)
        with agent.page.expect_popup() as opening:
            agent.page.click("button")
        popup = opening.value
        popup.fill("input", "a new one")
        with popup.expect_event("close"):
            popup.click("button", no_wait_after=True)
        agent.page.wait_for_function("document.getElementById('chosen').textContent !== ''")

    network = read_network(tmp_path / "b" / "network")
    post = next(each for each in network.exchanges if each.request.method == "POST")
    assert post.response is not None
    assert post.response.body is not None
    assert network.body(post.response.body).decode() == ADDED
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report
    assert replay(tmp_path / "b", tmp_path / "run").verdict == "faithful"


SOURCES = {
    "a form with a target": (
        "<form method=post action=/add target=_blank><button>Go</button></form>",
        "<h1>added</h1>",
    ),
    "a written document": (
        "<button onclick=\"const made = window.open(''); made.document.write('<h1>added</h1>')\">Go</button>",
        "",
    ),
}


@pytest.mark.parametrize("source", list(SOURCES))
def test_windows_of_forms_and_scripts_are_recorded(
    chromium: Browser, site: PageSite, tmp_path: Path, source: str
) -> None:
    """They are certified without a change."""
    html, answer = SOURCES[source]
    site.answers["/add"] = Answer(body=answer)
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(site.put(html))
        with agent.page.expect_popup() as opening:
            agent.page.click("button")
        opening.value.wait_for_selector("h1")

    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report
    assert replay(tmp_path / "b", tmp_path / "run").verdict == "faithful"


def test_our_own_recorder_keeps_the_last_response_of_a_window_that_closes_itself(
    site: PageSite, tmp_path: Path
) -> None:
    """It is still arriving when the window's script closes it; the replay is faithful.

    What the window has only requested is cancelled, as by any window that closes.
    """
    document = (b"<script>fetch('/never'); window.close()</script>", *PIECES)

    def never(_asked: Asked) -> Answer:
        site.released.wait()
        return Answer()

    site.answers["/add"] = Answer(pieces=document)
    site.answers["/never"] = never
    opener = site.put("<button onclick=\"window.open('/add')\">Add</button>")

    async def record() -> None:
        async with open_recorder(tmp_path / "b", mission_text="Add") as mission, mission.subgoal("Add"):
            await mission.perform(Navigate(url=opener))
            await mission.perform(Click(target=at("button")))

    SHARED.run(record())

    network = read_network(tmp_path / "b" / "network")
    found = next(each.response for each in network.exchanges if each.key.endswith("/add"))
    assert found is not None
    assert found.body is not None
    assert network.body(found.body) == b"".join(document)
    assert replay(tmp_path / "b", tmp_path / "run").verdict == "faithful"
