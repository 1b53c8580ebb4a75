"""After a divergence, a replay waits until the recorded effects have happened, and no longer."""

from __future__ import annotations

import pytest

from eikon_engine.browser.worker import PerformedAction
from eikon_engine.replay.step import has_recorded_effects
from eikon_engine.trace.actions import Click
from eikon_engine.trace.execution import ActionTrace, Failed, Result, Succeeded
from eikon_engine.trace.observation import Observation
from eikon_engine.trace.target import Target

SEEN = Observation(pages=(), requests=("GET http://a/", "GET http://a/"), opened=(1,))
LESS = SEEN.model_copy(update={"requests": ("GET http://a/",)})
OBSERVED = {
    "the same": (SEEN, True),
    "more": (SEEN.model_copy(update={"requests": (*SEEN.requests, "GET http://a/b"), "opened": (1, 2)}), True),
    "one request less": (LESS, False),
    "no page": (SEEN.model_copy(update={"opened": ()}), False),
    "nothing observed": (None, True),
}
MISSING = Failed(code="target-missing", message="none")
ENDED: dict[str, tuple[Result, Result, bool]] = {
    "its target is gone": (Succeeded(), MISSING, True),
    "it failed so when it was recorded": (MISSING, MISSING, False),
    "it failed after it had acted": (Succeeded(), Failed(code="download-missing", message="none"), False),
    "it worked": (Succeeded(), Succeeded(), False),
}


def recorded(observation: Observation | None, result: Result) -> ActionTrace:
    """Make a recorded click."""
    click = Click(target=Target(selector="#a"))
    return ActionTrace(id="a", sequence=1, action=click, result=result, observation=observation)


@pytest.mark.parametrize("case", OBSERVED)
def test_what_was_recorded_has_happened(case: str) -> None:
    """Recorded effects count as done, whatever else happened."""
    observed, happened = OBSERVED[case]
    performed = PerformedAction(result=Succeeded(), observation=observed)

    assert has_recorded_effects(recorded(SEEN, Succeeded()), performed) == happened
    assert has_recorded_effects(recorded(None, Succeeded()), performed)


@pytest.mark.parametrize("case", ENDED)
def test_what_an_action_did_not_do_is_not_waited_for(case: str) -> None:
    """Requests of an action that failed are not awaited; those of one that succeeded may be."""
    before, now, happened = ENDED[case]

    assert has_recorded_effects(recorded(SEEN, before), PerformedAction(result=now, observation=LESS)) == happened
