"""Skills that call a model do not block the agent's event loop."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from eikon_engine.certify.certify import certify
from eikon_engine.certify.options import CertifyOptions
from eikon_engine.errors import UsageError
from eikon_engine.llm import OpenAIClient
from eikon_engine.llm.response_folder import RESPONSES_FOLDER
from eikon_engine.record import RecordOptions, open_recorder, record_mission
from eikon_engine.trace.actions import Navigate
from eikon_engine.trace.bundle import open_bundle
from tests.browser.pages import serve_pages
from tests.record.skill_models import PAGE, QUESTION, asking, skills_of
from tests.record.test_asynchronous_recording import opened_page
from tests.replay.conftest import replay
from tests.sites.model_server import answer_text, serve_model

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.pages import PageSite
    from tests.sites.model_server import ModelServer

pytestmark = pytest.mark.browser

PROMPT_S = 20.0
"""Timeout for steps that do not depend on the model."""


def test_a_slow_model_does_not_block_an_asynchronous_agent(tmp_path: Path) -> None:
    """The agent clicks while the response is pending; the response arrives after the click."""
    answers = threading.Event()
    too_late = threading.Timer(PROMPT_S, answers.set)

    async def work(url: str, model: ModelServer) -> str:
        model.script.append(replace(answer_text("1.20"), waits=answers))
        async with (
            opened_page() as page,
            record_mission(page, mission_text="Ask", directory=tmp_path / "b", options=asking(model)) as mission,
            mission.subgoal("Look"),
        ):
            await page.goto(url)
            question = asyncio.ensure_future(mission.skill("ask_page", parameters=QUESTION))
            while not model.asked:  # noqa: ASYNC110 - a server in another thread
                await asyncio.sleep(0.01)
            await page.click("button")
            shown = await page.inner_text("button")
            assert not answers.is_set()
            answers.set()
            await question
            return shown

    with serve_pages() as site, serve_model() as model:
        too_late.start()
        shown = asyncio.run(work(site.put(PAGE), model))
        too_late.cancel()

    assert shown == "Pressed"
    assert [each.output for each in skills_of(tmp_path / "b")] == [{"answer": "1.20", "cut": False}]


def test_a_skill_that_outlives_its_subgoal_is_refused(tmp_path: Path) -> None:
    """The awaiting caller gets the error, and the recording can be read."""
    answers = threading.Event()

    async def work(url: str, model: ModelServer) -> None:
        model.script.append(replace(answer_text("1.20"), waits=answers))
        async with (
            opened_page() as page,
            record_mission(page, mission_text="Ask", directory=tmp_path / "b", options=asking(model)) as mission,
        ):
            with mission.subgoal("Look"):
                await page.goto(url)
                question = asyncio.ensure_future(mission.skill("ask_page", parameters=QUESTION))
                while not model.asked:  # noqa: ASYNC110 - as above
                    await asyncio.sleep(0.01)
            answers.set()
            with pytest.raises(UsageError, match="await the skill"):
                await question

    with serve_pages() as site, serve_model() as model:
        asyncio.run(work(site.put(PAGE), model))

    assert skills_of(tmp_path / "b") == []


def test_the_mission_recorder_stores_responses(tmp_path: Path) -> None:
    """A mission of `open_recorder`, which also records a tool call, is certified without its servers."""

    async def work(site: PageSite, model: ModelServer) -> None:
        options = RecordOptions(completion_client=OpenAIClient(api_key="none", base_url=model.url))
        async with (
            open_recorder(tmp_path / "b", mission_text="Ask", options=options) as mission,
            mission.subgoal("Look"),
        ):
            await mission.perform(Navigate(url=site.put(PAGE)))
            mission.tool("store", {"price": 1}, result="stored")
            await mission.skill("ask_page", parameters=QUESTION)

    with serve_pages() as site, serve_model(answer_text("1.20")) as model:
        asyncio.run(work(site, model))

    assert asyncio.run(certify(open_bundle(tmp_path / "b"), CertifyOptions(runs=2))).report.status == "certified"


@pytest.mark.parametrize("before", [0, 1], ids=["the first", "a later one"])
def test_a_cancelled_completion_leaves_a_complete_recording(tmp_path: Path, before: int) -> None:
    """If the agent cancels a model call, its mission is recorded without it, and the late response is ignored."""
    answers = threading.Event()

    async def work(site: PageSite, model: ModelServer) -> None:
        model.script += [answer_text("1.20")] * before + [replace(answer_text("too late"), waits=answers)]
        options = RecordOptions(completion_client=OpenAIClient(api_key="none", base_url=model.url))
        async with (
            open_recorder(tmp_path / "b", mission_text="Ask", options=options) as mission,
            mission.subgoal("Look"),
        ):
            await mission.perform(Navigate(url=site.put(PAGE)))
            for _ in range(before):
                await mission.skill("ask_page", parameters=QUESTION)
            question = asyncio.ensure_future(mission.skill("ask_page", parameters=QUESTION))
            while len(model.asked) <= before:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.01)
            question.cancel()
            await asyncio.wait([question])
        answers.set()

    with serve_pages() as site, serve_model() as model:
        asyncio.run(work(site, model))

    assert len(skills_of(tmp_path / "b")) == before
    assert (tmp_path / "b" / RESPONSES_FOLDER).exists() == bool(before)
    assert replay(tmp_path / "b", tmp_path / "run", secrets={}).verdict == "faithful"
