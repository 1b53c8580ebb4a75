"""Skills request a model only while recording; replays serve the responses from the bundle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from eikon_engine.certify.options import CertifyOptions
from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.errors import CompletionError, OutputError
from eikon_engine.llm.response_folder import RESPONSES_FOLDER, read_folder
from eikon_engine.trace.execution import Failed
from tests.browser.pages import serve_pages
from tests.record.recorded_page import TWICE, recorded_page
from tests.record.skill_models import PAGE, QUESTION, asking, skills_of
from tests.redact.test_login import left_in
from tests.replay.conftest import replay
from tests.sites.model_server import answer_error, answer_text, serve_model

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


KEY = "zX81-spectrum-4711"


class Recorded(NamedTuple):
    """A bundle, its certification report, and the number of model requests."""

    bundle: Path
    status: str | None
    asked: int


@pytest.fixture(scope="module")
def recorded(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Record an agent whose model returns an answer with a secret, another one, and none; then stop both servers."""
    folder = tmp_path_factory.mktemp("asking") / "b"
    with (
        serve_pages() as site,
        serve_model(answer_text(f"1.20, says {KEY}"), answer_text("one euro twenty"), answer_error(500, KEY)) as model,
    ):
        url = site.put(PAGE)
        options = asking(model, secrets={"SAYER": KEY}, certify=CertifyOptions(runs=2))
        with recorded_page(chromium, folder, options) as agent:
            agent.page.goto(url)
            first = agent.mission.skill("ask_page", parameters=QUESTION)
            agent.mission.skill("ask_page", parameters=QUESTION)
            with pytest.raises(CompletionError):
                agent.mission.skill("ask_page", parameters=QUESTION)
            agent.page.click("button")
        assert first == {"answer": f"1.20, says {KEY}", "cut": False}
        report = agent.mission.report
        return Recorded(folder, None if report is None else report.status, len(model.asked))


def test_an_agent_is_recorded_and_certified_with_one_response_per_prompt(recorded: Recorded) -> None:
    """Certifying replays the mission several times without another model request."""
    assert (recorded.status, recorded.asked) == ("certified", 3)
    assert len(read_folder(recorded.bundle / RESPONSES_FOLDER).responses) == 3


def test_a_replay_without_servers_is_faithful(recorded: Recorded, tmp_path: Path) -> None:
    """The skills run again on the stored pages, with the answers and the failure from the bundle."""
    outcome = replay(recorded.bundle, tmp_path / "run", secrets={})

    assert outcome.verdict == "faithful"
    assert outcome.reasons == ()


def test_the_command_replays_it_without_a_server(recorded: Recorded, tmp_path: Path) -> None:
    """`eikon replay` needs no option for recorded responses."""
    command = ["replay", "--trace", str(recorded.bundle), "--artifacts-dir", str(tmp_path / "run")]

    assert run_command(eikon, command, "eikon") == 0


def test_a_failure_of_the_model_is_one_of_the_skill(recorded: Recorded) -> None:
    """It is recorded with its code and raised to the agent."""
    failed = skills_of(recorded.bundle)[2]

    assert isinstance(failed.result, Failed)
    assert failed.result.code == "completion-server"
    assert not failed.output_recorded


def test_a_secret_in_a_response_is_in_no_file(recorded: Recorded, tmp_path: Path) -> None:
    """The secret is in no response, no output and no file of a replay."""
    replay(recorded.bundle, tmp_path / "run", secrets={})

    assert left_in(recorded.bundle, {"sayer": KEY}) == set()
    assert left_in(tmp_path / "run", {"sayer": KEY}) == set()


def test_another_response_in_the_bundle_diverges(recorded: Recorded, tmp_path: Path) -> None:
    """Skill outputs are compared, so an edited response diverges."""
    kept = recorded.bundle / RESPONSES_FOLDER
    path = next(path for path in sorted(kept.iterdir()) if "twenty" in path.read_text())
    before = path.read_text()
    path.write_text(before.replace("twenty", "thirty"))
    try:
        outcome = replay(recorded.bundle, tmp_path / "run", secrets={})
    finally:
        path.write_text(before)

    assert [each.code for each in outcome.divergences] == ["skill-output-changed"]


def test_recorded_tools_and_completions_do_not_affect_replays(chromium: Browser, tmp_path: Path) -> None:
    """An agent that records tool calls and completions is certified like any other."""
    with serve_pages() as site:
        url = site.put(PAGE)
        with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
            agent.page.goto(url)
            agent.mission.completion(prompt="What now?", response="Press", model="gpt-test")
            agent.mission.tool("store", {"price": 1}, result="stored")
            agent.page.click("button")

    assert not (tmp_path / "b" / RESPONSES_FOLDER).exists()
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified"


def test_responses_of_another_recording_are_not_mixed_in(recorded: Recorded, chromium: Browser, tmp_path: Path) -> None:
    """A folder with responses is refused, and they stay unchanged."""
    kept = tmp_path / "b" / RESPONSES_FOLDER
    kept.mkdir(parents=True)
    for path in (recorded.bundle / RESPONSES_FOLDER).iterdir():
        (kept / path.name).write_bytes(path.read_bytes())

    with (
        pytest.raises(OutputError, match="responses exist already"),
        recorded_page(chromium, tmp_path / "b"),
    ):
        pass

    assert len(read_folder(kept).responses) == 3
