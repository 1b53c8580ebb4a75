"""The recording block around an agent: what it records, how it ends, and what it rejects."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error

from eikon_engine.errors import OutputError, SkillError, UsageError
from eikon_engine.record import record_mission
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.execution import Failed, Succeeded
from tests.browser.pages import PageSite
from tests.record.recorded_page import QUICK, TWICE, kinds, recorded_actions, recorded_page, steps, warnings
from tests.replay.conftest import replay
from tests.sites.shop import serve_shop

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]


WIDGETS = """<input id=text aria-label=Name> <input type=file id=file aria-label=File>
<button id=choose onclick="file.click()">Choose</button> <p class=item>first</p><p class=item id=second>second</p>
<div id=here draggable=true>take me</div>
<div id=there ondragover="event.preventDefault()" ondrop="this.textContent = 'got it'">put it here</div>
<script>second.onclick = () => second.textContent = text.value + ' clicked'</script>"""


def test_calls_on_handles_and_coordinates_replay(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Keys, mouse buttons, handles and file choosers are replayed on the same elements."""
    file = tmp_path / "list.csv"
    file.write_bytes(b"name\n")
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        page = agent.page
        page.goto(site.put(WIDGETS))
        page.focus("#text")
        page.keyboard.type("ab")
        page.query_selector_all(".item")[1].click()
        with page.expect_file_chooser() as choosing:
            page.click("#choose")
        choosing.value.set_files(file)
        page.hover("#here")
        page.mouse.down()
        page.hover("#there")
        page.hover("#there", position={"x": 3, "y": 3})
        page.mouse.up()
        assert page.inner_text("#second") == "ab clicked"
        assert page.inner_text("#there") == "got it"

    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified"
    assert replay(tmp_path / "b", tmp_path / "run").verdict == "faithful"


def test_subgoals_group_their_steps(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Actions inside a subgoal belong to it; actions outside belong to the mission."""
    page_url = site.put("<button>Go</button>")
    with recorded_page(chromium, tmp_path / "b") as agent:
        page, mission = agent.page, agent.mission
        page.goto(page_url)
        with mission.subgoal("Press it", subgoal_id="press"):
            page.click("button")
        page.reload()
        with mission.subgoal("Press it again", subgoal_id="press"):
            page.click("button")
            page.click("button")

    attempts = open_bundle(tmp_path / "b").trace.subgoal_traces
    assert [(each.description, [step.action.type for step in each.actions_taken]) for each in attempts] == [
        ("Try it", ["navigate"]),
        ("Press it", ["click"]),
        ("Try it", ["reload"]),
        ("Press it again", ["click", "click"]),
    ]
    assert [each.id for each in attempts if each.subgoal_id == "press"] == ["press__attempt_1", "press__attempt_2"]
    assert open_bundle(tmp_path / "b").trace.status == "complete"


def test_tools_completions_and_extractions_are_recorded(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Skill outputs, tool calls, completions, extractions, warnings and the end are recorded."""
    table = "<table id=t><tr><th>Name</th></tr><tr><td>Banana</td></tr></table>"
    with recorded_page(chromium, tmp_path / "b") as agent:
        mission = agent.mission
        agent.page.goto(site.put(table))
        rows = mission.skill("extract_table", parameters={"selector": "#t"})
        mission.tool("price", {"of": "banana"}, result=3)
        mission.tool("price", {"of": "cherry"}, error="no such fruit")
        mission.completion(prompt=[{"role": "user", "content": "What next?"}], response="stop", model="small-1")
        mission.extraction("rows", rows)
        mission.warn("the shop was slow")
        mission.finish("failed")

    trace = open_bundle(tmp_path / "b").trace
    (attempt,) = trace.subgoal_traces
    assert "Banana" in str(rows)
    assert [skill.output for skill in attempt.skills_used] == [rows]
    assert [(tool.arguments, tool.output, tool.result) for tool in attempt.tools_used] == [
        ({"of": "banana"}, 3, Succeeded()),
        ({"of": "cherry"}, None, Failed(code="tool-failed", message="no such fruit")),
    ]
    assert [completion.model for completion in attempt.completions] == ["small-1"]
    assert [extraction.value for extraction in trace.extractions] == [rows]
    assert "the shop was slow" in trace.warnings
    assert trace.status == "failed"


def test_a_skill_that_fails_is_recorded_and_raised(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The agent gets the skill's error, and the trace its message."""
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put("<p>no table"))
        with pytest.raises(SkillError):
            agent.mission.skill("extract_table", parameters={"selector": "#t"})
        with pytest.raises(UsageError, match="page 0 has no frame 'x'; its frames: ''"):
            agent.mission.skill("extract_table", frame="x", parameters={"selector": "#t"})

    (used,) = open_bundle(tmp_path / "b").trace.subgoal_traces[0].skills_used
    assert isinstance(used.result, Failed)
    assert used.result.code == "skill-failed"


def test_an_error_of_the_agent_is_recorded_and_reraised(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The exception leaves the block unchanged; the mission is failed, and its actions are kept."""
    error = RuntimeError("the model gave up")
    page_url = site.put("<button>Go</button>")

    def give_up() -> None:
        with recorded_page(chromium, tmp_path / "b") as agent:
            agent.page.goto(page_url)
            with agent.mission.subgoal("Press it"):
                agent.page.click("button")
                raise error

    with pytest.raises(RuntimeError) as raised:
        give_up()

    trace = open_bundle(tmp_path / "b").trace
    assert raised.value is error
    assert trace.status == trace.subgoal_traces[-1].status == "failed"
    assert "RuntimeError: the model gave up" in [failure.message for failure in trace.failures]
    assert kinds(tmp_path / "b") == ["click"]


def test_a_successful_attempt_may_follow_a_failed_one(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """An error that leaves only a subgoal fails that attempt; the next attempt decides."""
    page_url = site.put("<button>Go</button>")
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(page_url)
        with pytest.raises(Error), agent.mission.subgoal("Press it", subgoal_id="press"):
            agent.page.click("#none", timeout=100)
        with agent.mission.subgoal("Press it", subgoal_id="press"):
            agent.page.click("button")

    trace = open_bundle(tmp_path / "b").trace
    assert [each.status for each in trace.subgoal_traces] == ["complete", "failed", "complete"]
    assert trace.status == "complete"


def test_subgoals_do_not_nest(chromium: Browser, tmp_path: Path) -> None:
    """A nested subgoal is refused in one line that names both."""
    with (
        recorded_page(chromium, tmp_path / "b") as agent,
        agent.mission.subgoal("outer"),
        pytest.raises(UsageError, match=r"^subgoal 'inner' started inside subgoal subgoal_1; end that subgoal first$"),
    ):
        agent.mission.subgoal("inner").__enter__()


def test_the_base_url_of_the_context_applies(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """A relative URL is recorded as an absolute one."""
    url = site.put("<p>here")
    with recorded_page(chromium, tmp_path / "b", base_url=site.url) as agent:
        agent.page.goto(url.removeprefix(site.url))

    action = steps(tmp_path / "b")[0].action
    assert action.type == "navigate"
    assert action.url == url


@pytest.mark.parametrize("what", ["page", "context"])
def test_a_browser_may_be_closed_inside(chromium: Browser, site: PageSite, tmp_path: Path, what: str) -> None:
    """A recording whose page or context the agent closed opens with all its actions."""
    url = site.put("<button>Go</button>")
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(url)
        agent.page.click("button")
        (agent.page if what == "page" else agent.page.context).close()

    assert kinds(tmp_path / "b")[0] == "click"
    assert open_bundle(tmp_path / "b").trace.status == "complete"


def test_a_page_with_a_document_is_rejected(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """A page with a loaded document is rejected in one line, and no files are left behind."""
    url = site.put("<p>here")
    page = chromium.new_page()
    page.goto(url)

    with (
        pytest.raises(UsageError, match=rf"^page {re.escape(url)} is already loaded; start recording"),
        record_mission(page, mission_text="Late", directory=tmp_path / "b", options=QUICK),
    ):
        pass

    page.close()
    assert not (tmp_path / "b").exists()


def test_existing_files_stay_in_the_folder(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """A recording that fails to start removes only its own files, and the folder can be used again."""
    (tmp_path / "b" / "network").mkdir(parents=True)
    (tmp_path / "b" / "network" / "notes.txt").write_text("mine")
    page = chromium.new_page()
    page.goto(site.put("<p>here"))

    with pytest.raises(UsageError), record_mission(page, mission_text="Late", directory=tmp_path / "b", options=QUICK):
        pass

    page.close()
    files = [each.relative_to(tmp_path / "b").as_posix() for each in (tmp_path / "b").rglob("*") if each.is_file()]
    assert files == ["network/notes.txt"]
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(site.put("<p>again"))


def test_an_object_that_is_no_page_is_rejected(chromium: Browser, tmp_path: Path) -> None:
    """The error for anything other than a context or page names what is expected."""
    for wrong, name in ((chromium, "Browser"), ("page", "str")):
        with pytest.raises(UsageError, match=rf"^cannot record {name}: expected a Playwright BrowserContext or Page$"):
            record_mission(wrong, mission_text="Wrong", directory=tmp_path / "b", options=QUICK)


def test_the_block_must_match_the_api_of_the_agent(chromium: Browser, tmp_path: Path) -> None:
    """`async with` around a synchronous agent is refused before anything is written."""
    context = chromium.new_context()
    block = record_mission(context, mission_text="Wrong", directory=tmp_path / "b", options=QUICK)

    with pytest.raises(
        UsageError, match=r"^the agent uses Playwright's synchronous API; use `with record_mission\(…\)`"
    ):
        block.__aenter__().send(None)

    context.close()
    assert not (tmp_path / "b").exists()


def test_a_recording_is_never_overwritten(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """The existing recording stays unchanged, and the agent's page stays usable."""
    url = site.put("<p>here")
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(url)
    before = (tmp_path / "b" / "trace.json").read_bytes()

    with pytest.raises(OutputError, match="already"), recorded_page(chromium, tmp_path / "b"):
        pass

    assert (tmp_path / "b" / "trace.json").read_bytes() == before


def test_a_killed_process_leaves_its_completed_actions(tmp_path: Path) -> None:
    """The journal of a killed process opens as a bundle with every completed action."""
    with serve_shop() as shop:
        command = [sys.executable, str(ROOT / "tests" / "record" / "walk_forever.py"), str(tmp_path / "b"), shop.url]
        environ = {**os.environ, "PYTHONPATH": str(ROOT)}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as process:
            assert process.stdout is not None
            for _ in range(4):
                assert process.stdout.readline() == "walked\n"
            process.send_signal(signal.SIGKILL)

    assert open_bundle(tmp_path / "b").trace.status == "aborted"
    assert set(kinds(tmp_path / "b")) == {"click"}
    assert len(recorded_actions(tmp_path / "b")) >= 3
    assert "ended early" in warnings(tmp_path / "b")
