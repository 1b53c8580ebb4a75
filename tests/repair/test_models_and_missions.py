"""A model is asked last, may only patch the lost target, and its patch must be verified."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from eikon_engine.errors import FixError
from eikon_engine.llm import Completion
from eikon_engine.repair.options import RepairOptions
from eikon_engine.repair.proposers.ask_model import read_patch_answer
from eikon_engine.repair.repair import repair_trace
from eikon_engine.trace.actions import Click
from eikon_engine.trace.execution import ActionTrace, Succeeded
from tests.error_codes import has_code
from tests.fix.test_generate import Scripted
from tests.missions.shop import css
from tests.repair.test_five_missions import clicked, run_fix_trace
from tests.replay.shared_browsers import SHARED
from tests.sites.model_server import answer_text, serve_model

if TYPE_CHECKING:
    from pathlib import Path

    from tests.repair.small_site import SmallSite

pytestmark = pytest.mark.browser

STEP = ActionTrace(id="do__attempt_1_action_002", sequence=2, action=Click(target=css("#add")), result=Succeeded())


def answer(selector: object, step: str = STEP.id, **more: object) -> str:
    """Return a patch as a model writes it."""
    edit = {"kind": "set_fields", "step": step, "fields": {"action.target.selector": selector, **more}, "reason": "it"}
    return json.dumps({"patch_version": 1, "operations": [edit]})


def test_a_model_finds_an_element_without_similar_properties(small: SmallSite, tmp_path: Path) -> None:
    """A button with a new id and label is found by the model, recorded again and certified."""
    bundle, output = small.bundle("order"), tmp_path / "mended"
    small.change(button="pay", label="Buy the lot")
    step = "order__attempt_1_action_002"
    model = Scripted(Completion(text=f"```json\n{answer('#pay', step)}\n```", model="test-1"))

    options = RepairOptions(runs=2, output=output, client=model)
    report = SHARED.run(repair_trace(bundle, options))

    assert (report.status, report.refusal) == ("repaired", "")
    assert [each.proposer for each in report.repairs] == ["model"]
    assert report.repairs[0].reason == "model test-1: it"
    assert clicked(output).selector == "#pay"
    prompt = model.asked[0].messages[-1].content
    assert "<button id=\"pay\"> button 'Buy the lot'" in prompt
    assert '"#order"' in prompt


def test_recorded_responses_are_replayed_without_a_server(small: SmallSite, tmp_path: Path) -> None:
    """The second run sends the same prompt and gets the stored response; an answer without a fix ends the repair."""
    bundle, kept = small.bundle("order"), tmp_path / "responses"
    small.change(button="pay", label="Buy the lot")
    with serve_model(answer_text("NO FIX FOUND: nothing buys any more")) as model:
        where = ("--model", "gpt-test", "--model-url", model.url, "--debug-dir", str(kept))
        first = run_fix_trace(bundle, *where, OPENAI_API_KEY="key")
        assert len(model.asked) == 1
    second = run_fix_trace(bundle, *where, OPENAI_API_KEY="key")

    for done in (first, second):
        assert done.returncode == 1, done.stderr
        assert "nothing buys any more" in done.stderr
        assert done.stderr.splitlines()[-1].endswith("(code fix-refused)")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The button is #buy-now.",
        "[]",
        answer("#buy-now", step="another"),
        answer(""),
        answer(3),
        answer("#buy-now", **{"action.type": "hover"}),
        json.dumps({"operations": [{"kind": "delete_step", "step": STEP.id, "reason": "it"}]}),
        json.dumps({"operations": []}),
    ],
)
def test_an_answer_other_than_a_patch_of_the_target_is_refused(text: str) -> None:
    """Free text, a patch of another step, and a patch that deletes the step are refused."""
    with pytest.raises(FixError, match="model response: expected", check=has_code("proposal-malformed")):
        read_patch_answer(text, STEP)
