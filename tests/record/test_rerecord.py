"""A mission recorded again keeps the steps of its recording and warns about those it cannot keep."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.errors import CompletionError, NoReplayDataError, UsageError
from eikon_engine.files.blobs import blob_ref
from eikon_engine.llm.openai_client import OpenAIClient
from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.record.rerecord import find_skill_page, rerecord, with_recorded_environment
from eikon_engine.trace.actions import Navigate
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.environment import Viewport
from eikon_engine.trace.execution import SkillInputRef, SkillUsage, Succeeded
from eikon_engine.trace.masks import Mask, SubtreePart
from eikon_engine.trace.observation import Observation, PageObservation
from eikon_engine.trace.rules import QueryKeyRule
from eikon_engine.trace.trace_file import TRACE_FILE, read_trace, write_trace
from tests.browser.pages import Answer, serve_pages
from tests.record.skill_models import QUESTION, skills_of
from tests.sites.model_server import answer_error, answer_text, serve_model

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import JsonValue

    from tests.sites.model_server import ModelServer

pytestmark = pytest.mark.browser

TABLE = "<!doctype html><title>Prices</title><table><tr><th>Fruit<th>Price<tr><td>Plum<td>{price}</table>"
SCREEN = RecordOptions(
    viewport=Viewport(width=700, height=500), timezone="Asia/Tokyo", locale="ja-JP", color_scheme="dark", random_seed=7
)
MASK = Mask(name="prices", reason="they change", part=SubtreePart(path="html > body > aside"))
RULE = QueryKeyRule(name="key", reason="it changes")


def rows_of(usage: SkillUsage) -> JsonValue:
    """Return the rows of an extracted table."""
    assert isinstance(usage.output, dict)
    return usage.output["rows"]


async def _record(folder: Path, url: str) -> None:
    recorder = open_recorder(folder, mission_text="Read prices", mission_id="prices", options=SCREEN)
    async with recorder as mission, mission.subgoal("Read", subgoal_id="read"):
        await mission.perform(Navigate(url=url))
        await mission.skill("extract_table", parameters={"selector": "table"})
        mission.tool("search", {"for": "plum"}, result="none")
        mission.extraction("price", "3")


def test_masks_rules_environment_and_skills_are_those_of_the_recording(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The skill reads the current page; an omitted tool call and extraction are warnings."""
    first, again = tmp_path / "first", tmp_path / "again"
    with serve_pages() as site:
        site.answers["/"] = Answer(body=TABLE.format(price=3))
        asyncio.run(_record(first, site.url))
        before = read_trace(first)
        assert before.network is not None
        network = before.network.model_copy(update={"rules": (RULE,)})
        write_trace(before.model_copy(update={"masks": (MASK,), "network": network}), first / TRACE_FILE)
        site.answers["/"] = Answer(body=TABLE.format(price=4))

        status = run_command(eikon, ["record", "--trace", str(first), "-o", str(again)], "eikon")

    assert status == 0, capsys.readouterr().err
    after = read_trace(again)
    assert after.environment == before.environment
    assert after.masks == (MASK,)
    assert after.network == network
    (attempt,) = after.subgoal_traces
    assert [rows_of(each) for each in attempt.skills_used] == [[{"Fruit": "Plum", "Price": "4"}]]
    omitted = [each for each in after.warnings if each.startswith("not recorded again: ")]
    assert len(omitted) == 2
    assert "1 tool call" in omitted[0]
    assert "1 extraction" in omitted[1]


async def _ask(folder: Path, url: str, model: ModelServer) -> None:
    options = RecordOptions(completion_client=OpenAIClient(api_key="none", base_url=model.url))
    recorder = open_recorder(folder, mission_text="Ask", mission_id="ask", options=options)
    async with recorder as mission, mission.subgoal("Ask", subgoal_id="ask"):
        await mission.perform(Navigate(url=url))
        await mission.skill("ask_page", parameters=QUESTION)
        with pytest.raises(CompletionError):
            await mission.skill("ask_page", parameters=QUESTION)


def test_skills_get_the_recorded_responses_of_their_model(tmp_path: Path) -> None:
    """Without the model, the same page gets its recorded response or failure; another page has none."""
    first = tmp_path / "first"
    with serve_pages() as site:
        site.answers["/"] = Answer(body=TABLE.format(price=3))
        with serve_model(answer_text("three"), answer_error(500, "busy")) as model:
            asyncio.run(_ask(first, site.url, model))
        bundle = open_bundle(first)

        asyncio.run(rerecord(bundle, tmp_path / "again", with_recorded_environment(bundle, RecordOptions())))
        site.answers["/"] = Answer(body=TABLE.format(price=4))
        with pytest.raises(NoReplayDataError):
            asyncio.run(rerecord(bundle, tmp_path / "other", with_recorded_environment(bundle, RecordOptions())))

    before, after = (skills_of(tmp_path / name) for name in ("first", "again"))
    assert [(each.output, each.result) for each in after] == [(each.output, each.result) for each in before]
    assert after[0].output == {"answer": "three", "cut": False}


def test_a_skill_whose_page_is_ambiguous_is_not_rerun() -> None:
    """A page is identified by a unique address; two similar pages are ambiguous."""
    pages = tuple(PageObservation(page=number, url=url, title="") for number, url in enumerate(("a:1", "a:2", "a:2")))
    seen = Observation(pages=pages)

    def used(url: str | None) -> SkillUsage:
        source = None if url is None else SkillInputRef(snapshot=blob_ref(b"page"), url=url)
        return SkillUsage(id="read", sequence=1, skill="extract_table", result=Succeeded(), source=source)

    assert find_skill_page(used("a:1"), seen) == 0
    assert find_skill_page(used(None), Observation(pages=pages[2:])) == 2
    for unknown in (used("a:2"), used("a:3"), used(None)):
        with pytest.raises(UsageError, match=r"extract_table \(read\): 3 pages were open"):
            find_skill_page(unknown, seen)
