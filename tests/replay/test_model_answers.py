"""Who answers the model requests of skills, in a replay and when a changed page is judged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from eikon_engine.errors import NoReplayDataError, ResponseFolderError, SkillError
from eikon_engine.llm import EchoClient
from eikon_engine.llm.response_folder import read_complete_folder
from eikon_engine.replay.model_responses import ProbeResponses, completion_client_for, recorded_responses
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.replay.plan import Plan
from eikon_engine.trace.bundle import open_bundle
from tests.error_codes import has_code
from tests.llm.asking import capture, opened, request

PASSING = Path(__file__).resolve().parents[1] / "data" / "traces" / "shop_passing"


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """Plan a mission in which a model was asked `a` twice."""
    capture(tmp_path, "a", "a")
    return Plan(bundle=open_bundle(PASSING), network="sealed", subgoals=(), responses=read_complete_folder(tmp_path))


def test_each_run_has_all_answers_once(plan: Plan) -> None:
    """Several replays of one plan each get all recorded answers."""
    for _ in range(2):
        client = completion_client_for(plan, ReplayOptions())
        assert [client.complete(request("a")).text for _ in range(2)] == ["a 0", "a 1"]
        with pytest.raises(NoReplayDataError, match="A replay calls no model without --debug-dir"):
            client.complete(request("a"))


def test_a_client_that_was_given_answers_alone(plan: Plan) -> None:
    """With a provided client, the responses of the bundle are not read."""
    given = EchoClient()

    assert completion_client_for(plan, ReplayOptions(completion_client=given)) is given
    assert recorded_responses(plan.bundle, ReplayOptions(completion_client=given)) == ()


def test_judging_a_changed_page_uses_no_answer_up(plan: Plan) -> None:
    """Each probe serves the recorded responses from the start; other prompts fail, each with its own message."""
    failures = []
    for text in ("changed", "changed", "other"):
        judge = ProbeResponses(plan)
        assert judge.complete(request("a")).text == "a 0"
        with pytest.raises(SkillError) as caught:
            judge.complete(request(text))
        failures.append(caught.value.message)

    assert failures[0] == failures[1] != failures[2]


def test_incomplete_responses_of_a_bundle_are_refused_before_a_replay_starts(tmp_path: Path) -> None:
    """A bundle with truncated responses is refused, not replayed in part."""
    root = Path(shutil.copytree(PASSING, tmp_path / "bundle"))
    used = opened(root / "responses", EchoClient)
    used.client.complete(request())
    used.close(finished=False)

    with pytest.raises(
        ResponseFolderError, match="responses: incomplete recording", check=has_code("responses-incomplete")
    ):
        recorded_responses(open_bundle(root), ReplayOptions())
