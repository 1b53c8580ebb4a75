"""The first divergence is explained, and the others are related to it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from eikon_engine.divergence.explain import describe_divergence, explain_first_divergence
from eikon_engine.outcome.divergence import Consequence, Divergence, Explanation
from eikon_engine.outcome.outcomes import (
    ActionOutcome,
    NetworkOutcome,
    ResponseChange,
    SubgoalOutcome,
    ValueChange,
    Verdict,
)
from eikon_engine.trace.actions import Reload
from eikon_engine.trace.execution import ActionTrace, Artifact, ExecutionTrace, SubgoalTrace, Succeeded
from eikon_engine.trace.observation import DocumentLoad, Observation, RedirectHop

ATTEMPT = "cart__attempt_1"
BECAUSE = ("GET http://a/cart: body $.count: recorded 2, live 3",)
PICTURE = Artifact(name="page at the end of the step", path="subgoal_1/002_reload_page.png")


def trace(steps: int) -> ExecutionTrace:
    """Record a mission of equal steps."""
    seen = Observation(pages=(), console_errors=("known",))
    taken = tuple(
        ActionTrace(id=f"a{number}", sequence=number, action=Reload(), result=Succeeded(), observation=seen)
        for number in range(1, steps + 1)
    )
    subgoal = SubgoalTrace(id=ATTEMPT, subgoal_id="cart", description="", status="complete", actions_taken=taken)
    began = datetime(2026, 1, 1, tzinfo=UTC)
    return ExecutionTrace(
        id="t", mission_id="m", mission_text="", started_at=began, status="complete", subgoal_traces=(subgoal,)
    )


def divergence(message: str, sequence: int = 1) -> Divergence:
    """Return a difference of a page."""
    return Divergence(
        code="dom-changed", layer="dom", subgoal=ATTEMPT, subgoal_id="cart", sequence=sequence,
        expected="2 items", observed="3 items", message=message, detail="text at html", because=BECAUSE,
    )  # fmt: skip


def step(sequence: int, *, message: str = "", dependents: tuple[Consequence, ...] = ()) -> ActionOutcome:
    """Replay a step; it diverges if there is a message."""
    finding = divergence(message, sequence)
    return ActionOutcome(
        id=f"a{sequence}", sequence=sequence, type="reload", label="reload", expected_result=Succeeded(),
        verdict="diverged" if message else "faithful", result=Succeeded(), artifacts=(PICTURE,) if message else (),
        observation=Observation(pages=(), console_errors=("known", "new")), dependents=dependents,
        divergences=(finding,) if message else (),
    )  # fmt: skip


def explained(*steps: ActionOutcome, changes: tuple[ResponseChange, ...] = ()) -> Explanation | None:
    """Explain a replay of these steps."""
    verdict: Verdict = "diverged" if any(each.divergences for each in steps) else "faithful"
    subgoal = SubgoalOutcome(
        id=ATTEMPT, subgoal_id="cart", description="", number=1, verdict=verdict, steps=steps, steps_recorded=len(steps)
    )
    return explain_first_divergence(trace(len(steps)), (subgoal,), NetworkOutcome(response_changes=changes), "live")


def change(sequence: int) -> ResponseChange:
    """Return a change of a response during a step."""
    value = ValueChange(part="body $.count", recorded="2", live="3")
    return ResponseChange(key="GET http://a/cart", occurrence=0, subgoal=ATTEMPT, sequence=sequence, what=(value,))


def test_what_did_not_diverge_needs_no_explanation() -> None:
    """A replay without divergences has no explanation."""
    assert explained(step(1), step(2)) is None


def test_the_first_divergence_is_explained_by_earlier_responses() -> None:
    """A later response cannot be the cause; the sentence names the response, the change and the reason."""
    found = explained(step(1), step(2, message="It differs."), step(3), changes=(change(2), change(3)))

    assert found is not None
    assert (found.subgoal, found.sequence, found.cause) == (ATTEMPT, 2, "test-data")
    assert found.sentence == (
        "The data of the site has changed: at step 2 of cart, reload, the page showed 3 items instead of 2 items."
    )
    assert [(each.kind, each.text) for each in found.evidence] == [
        ("values", "expected 2 items\nobserved 3 items"),
        ("answer", "body $.count: recorded 2, live 3"),
        ("difference", "text at html"),
        ("console", "new"),
        ("file", PICTURE.path),
    ]


def test_consequences_are_listed_after_the_first_divergence() -> None:
    """Dependent steps are listed first, diverged or not; the other diverged steps follow."""
    expected = [
        Consequence(subgoal=ATTEMPT, subgoal_id="cart", sequence=sequence, label="click", why="its target is gone")
        for sequence in (3, 5)
    ]
    found = explained(
        step(1, message="first", dependents=tuple(expected)),
        step(2),
        step(3, message="third"),
        step(4, message="fourth"),
    )

    assert found is not None
    assert [(each.sequence, each.diverged, each.why) for each in found.consequences] == [
        (3, True, "its target is gone"),
        (5, False, "its target is gone"),
        (4, True, "it diverged later: fourth"),
    ]


@pytest.mark.parametrize(
    ("expected", "observed", "described"),
    [
        ("listening\naction 1\nnotice", "listening\nnotice\naction 1", "showed notice instead of action 1"),
        ("total\n3", "total", "showed no further line instead of 3"),
        ("2 items\nmore", "3 items\nmore", "showed 3 items instead of 2 items"),
        ("total\n3", "total\n", "showed an empty line instead of 3"),
    ],
)
def test_the_line_that_differs_is_shown(expected: str, observed: str, described: str) -> None:
    """Texts of several lines may begin alike."""
    found = divergence("differs").model_copy(update={"expected": expected, "observed": observed})

    assert describe_divergence(found) == f"the page {described}"


def test_what_an_agent_read_is_in_the_sentence() -> None:
    """Both values are, since the message has none."""
    values = {"code": "read-changed", "expected": '"Approved"', "observed": '"Rejected"'}
    found = divergence("The read returned a different value than in the recording.").model_copy(update=values)

    assert describe_divergence(found) == 'it returned "Rejected" instead of "Approved"'


def test_evidence_names_the_request_that_was_redirected_and_where_to() -> None:
    """The response is that of the page to which a form was redirected."""
    hops = (RedirectHop(url="http://a/new", status=302),)
    observed = Observation(pages=(), documents=(DocumentLoad(page=0, url="http://a/tickets/1", status=500, hops=hops),))
    failed = change(1).model_copy(update={"key": "POST http://a/new sha256:0123"})
    because = ("POST http://a/new: body $.count: recorded 2, live 3",)
    first = divergence("It differs.").model_copy(update={"because": because})
    step_failed = step(1).model_copy(update={"divergences": (first,), "observation": observed})

    found = explained(step_failed, changes=(failed,))

    assert found is not None
    titles = [each.title for each in found.evidence if each.kind == "answer"]
    assert titles == ["GET http://a/tickets/1, where POST http://a/new was redirected to"]


def test_other_values_of_a_response_behind_the_divergence_are_no_evidence() -> None:
    """A footer that a mask hides differs in the same response, and caused nothing."""
    footer = ValueChange(part="body line 9", recorded="Rendered in 1 ms", live="Rendered in 2 ms")
    price = change(1)

    found = explained(step(1, message="differs"), changes=(price.model_copy(update={"what": (footer, *price.what)}),))

    assert found is not None
    assert [each.text for each in found.evidence if each.kind == "answer"] == ["body $.count: recorded 2, live 3"]


def test_digests_of_bodies_are_in_no_explanation() -> None:
    """A person learns nothing from them."""
    refused = ResponseChange(
        key=f"POST http://a/cart sha256:{'5016de14' * 8}",
        occurrence=0,
        subgoal=ATTEMPT,
        sequence=1,
        what=(ValueChange(part="status", recorded="201", live="503"),),
    )
    named = divergence("differs").model_copy(update={"because": (f"POST http://a/cart: {refused.what[0]}",)})

    found = explained(step(1, message="differs").model_copy(update={"divergences": (named,)}), changes=(refused,))

    assert found is not None
    assert found.why == "POST http://a/cart returned status 503 instead of 201"
