"""Skills that ask a model, where the loop of an agent has other work meanwhile."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from eikon_engine.attach import record_mission
from eikon_engine.certify.certify import certify
from eikon_engine.certify.options import CertifyOptions
from eikon_engine.completions import OpenAIClient
from eikon_engine.completions.folder import RESPONSES_FOLDER
from eikon_engine.errors import UsageError
from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.trace.actions import Navigate
from eikon_engine.trace.bundle import open_bundle
from tests.attach.asking import PAGE, QUESTION, asking, skills_of
from tests.attach.test_recording_asynchronously import opened_page
from tests.browser.pages import serve_pages
from tests.replay.conftest import replay
from tests.sites.model_server import answer_text, serve_model

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.pages import PageSite
    from tests.sites.model_server import ModelServer

PROMPT_S = 20.0
"""How long an agent may wait for what does not depend on the model."""


def test_a_model_that_thinks_does_not_hold_up_an_asynchronous_agent(tmp_path: Path) -> None:
    """The agent clicks while the answer is on its way: the loop is free, and the answer comes after the click."""
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
    """It says so to whoever awaits it, and the recording can be read."""
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
            with pytest.raises(UsageError, match="await the skill before that"):
                await question

    with serve_pages() as site, serve_model() as model:
        asyncio.run(work(site.put(PAGE), model))

    assert skills_of(tmp_path / "b") == []


def record_by_steps(folder: Path, site: PageSite, model: ModelServer, *, asks: bool) -> None:
    """Record with `open_recorder`, tools and completions noted."""

    async def work() -> None:
        options = RecordOptions(ask=OpenAIClient(api_key="none", base_url=model.url))
        async with open_recorder(folder, mission_text="Ask", options=options) as mission, mission.subgoal("Look"):
            await mission.perform(Navigate(url=site.put(PAGE)))
            mission.tool("store", {"price": 1}, result="stored")
            if asks:
                await mission.skill("ask_page", parameters=QUESTION)
            await mission.skill("extract_metadata")

    asyncio.run(work())


def test_the_recorder_keeps_answers_too(tmp_path: Path) -> None:
    """A mission of `open_recorder` replays and certifies without its servers."""
    with serve_pages() as site, serve_model(answer_text("1.20")) as model:
        record_by_steps(tmp_path / "b", site, model, asks=True)

    outcome = replay(tmp_path / "b", tmp_path / "run", secrets={})
    report = asyncio.run(certify(open_bundle(tmp_path / "b"), CertifyOptions(runs=2))).report

    assert (outcome.verdict, report.status) == ("faithful", "certified")


def test_a_mission_that_asks_nothing_has_no_responses(tmp_path: Path) -> None:
    """Tools and completions that are only noted need none, and neither does the replay."""
    with serve_pages() as site, serve_model() as model:
        record_by_steps(tmp_path / "b", site, model, asks=False)

    assert not (tmp_path / "b" / RESPONSES_FOLDER).exists()
    assert replay(tmp_path / "b", tmp_path / "run", secrets={}).verdict == "faithful"
