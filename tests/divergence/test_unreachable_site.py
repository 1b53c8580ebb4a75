"""A missing document is explained by its unreachable site."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.divergence.causes import DivergenceCase
from eikon_engine.divergence.comparison import Comparison, StepPosition
from eikon_engine.divergence.detect import detect_divergences
from eikon_engine.divergence.explain import explain_divergence
from eikon_engine.outcome.outcomes import ResponseChange, ValueChange
from eikon_engine.trace.actions import Click
from eikon_engine.trace.execution import ActionTrace, Succeeded
from eikon_engine.trace.observation import DocumentLoad, Observation, RedirectHop
from eikon_engine.trace.target import Target

if TYPE_CHECKING:
    from eikon_engine.outcome.divergence import Divergence

LOAD = DocumentLoad(
    page=0, url="http://a/end#top", status=200, hops=(RedirectHop(url="http://a/begin?x=1", status=302),)
)
REFUSED = "net::ERR_CONNECTION_REFUSED"


def changed(key: str = "GET http://a/begin?x=1", *, sequence: int = 2, live: str = REFUSED) -> ResponseChange:
    """Return a response whose outcome differs from the recording."""
    what = (ValueChange(part="ending", recorded="status 302", live=live),)
    return ResponseChange(
        key=key, resource_type="image", occurrence=0, subgoal="s__attempt_1", sequence=sequence, what=what
    )


def found(*changes: ResponseChange) -> Divergence:
    """Replay a click whose recorded document is not loaded."""
    recorded = ActionTrace(
        id="a",
        sequence=2,
        action=Click(target=Target(selector="a")),
        result=Succeeded(),
        observation=Observation(pages=(), documents=(LOAD,)),
    )
    place = StepPosition(subgoal="s__attempt_1", subgoal_id="s", sequence=2)
    seen = Comparison(
        position=place, recorded=recorded, result=Succeeded(), observed=Observation(pages=()), response_changes=changes
    )
    return detect_divergences(seen)[0]


@pytest.mark.parametrize("key", ["GET http://a/begin?x=1", "POST http://a/begin?x=1 sha256:00", "GET http://a/end"])
def test_an_unreachable_site_is_named(key: str) -> None:
    """The finding, its message and the explanation name the site, however the document was requested."""
    change = changed(key)
    first = found(change)

    no_response = f"{key} got no response: {REFUSED}"
    assert (first.code, first.observed) == ("document-missing", f"no document: {no_response}")
    assert first.message == f"No document was loaded: {no_response}."
    explained = explain_divergence(
        DivergenceCase(first=first, changes=(change,), related_changes=(change,), network_mode="live"), "click a"
    )
    assert explained.cause == "network"
    assert explained.sentence.startswith(
        "The network failed: at step 2 of s, click a, expected http://a/begin?x=1 (302)"
    )
    shown = no_response.replace(" sha256:00", "")
    assert explained.sentence.endswith(f" to load, got no document: {shown}.")


@pytest.mark.parametrize("change", [changed("GET http://a/picture"), changed(sequence=1), changed(live="status 200")])
def test_a_site_that_may_have_responded_is_not_blamed(change: ResponseChange) -> None:
    """Other requests, those of earlier actions and those with a response are no reason."""
    first = found(change)

    assert first.observed == "no document"
    assert first.message == "No document was loaded; the recording loaded one."
