"""What a summary, a page and the console say about what to do after a divergence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, get_args

import pytest

from eikon_engine.divergence.next_step import next_step
from eikon_engine.outcome.divergence import Cause, Divergence
from eikon_engine.report.html_report import render_report
from eikon_engine.report.replay_summary import render_summary
from tests.report.outcomes import make_divergence, make_outcome

if TYPE_CHECKING:
    from eikon_engine.outcome.divergence import Refusal
    from eikon_engine.outcome.outcomes import ReplayOutcome

RUN = Path("runs/my order")
ACCEPT = "`eikon accept traces/Save 'runs/my order'`"
CERTIFY = "`eikon certify traces/Save --network live`"


def diverged(cause: Cause, first: Divergence | None = None, **fields: str | bool) -> ReplayOutcome:
    """Make an outcome with a cause, whose first divergence is a changed page by default."""
    found = first or make_divergence(2, "Save").model_copy(update={"code": "dom-changed", "layer": "dom"})
    outcome = make_outcome()
    (subgoal,) = outcome.subgoals
    steps = tuple(
        each.model_copy(update={"divergences": (found,)}) if each.divergences else each for each in subgoal.steps
    )
    assert outcome.explanation is not None
    explanation = outcome.explanation.model_copy(update={"cause": cause, "settle": fields.pop("settle", "")})
    changed = {"subgoals": (subgoal.model_copy(update={"steps": steps}),), "explanation": explanation}
    return outcome.model_copy(update={**changed, **fields})


def test_a_change_of_a_live_site_is_accepted_learned_or_fixed() -> None:
    """What is likelier comes first: a changed page is accepted, data that change by themselves are learned."""
    changed, data = (next_step(diverged(each), RUN) for each in ("site-changed", "test-data"))

    assert changed.split("; ") == [
        f"if the change is intended, {ACCEPT}",
        f"if the site varies there by itself, {CERTIFY}",
        "otherwise fix the site",
    ]
    assert data.index(CERTIFY) < data.index(ACCEPT)


def test_a_replay_without_the_reset_of_the_certification_says_so() -> None:
    """Data that an earlier run left behind look like a change; an error of the server does not."""
    left = {each: next_step(diverged(each, certified_with_reset=True), RUN) for each in ("test-data", "unknown")}
    error = next_step(diverged("site-error", certified_with_reset=True), RUN)
    unreset = next_step(diverged("test-data"), RUN)

    assert all(each.startswith("reset the site and replay again: it was reset before") for each in left.values())
    assert ACCEPT in left["test-data"]
    changed = next_step(diverged("site-changed", certified_with_reset=True), RUN)
    assert changed.startswith(f"if the change is intended, {ACCEPT}; ")
    assert "; if an earlier run left data behind, reset the site and replay again: " in changed
    assert error == "look for the error in the log of the server"
    assert unreset.startswith("if an earlier run left data behind, reset the site; ")


def test_what_cannot_be_accepted_is_not_proposed_for_it() -> None:
    """A lost target needs another mission; an error belongs in no baseline; sealed replays have no accepted ones."""
    lost = next_step(diverged("site-changed", make_divergence(2, "Save")), RUN)
    error = make_divergence(2, "Save").model_copy(update={"code": "status-changed", "layer": "lifecycle"})
    failed = next_step(diverged("site-changed", error), RUN)
    sealed = next_step(diverged("site-changed", network_mode="sealed"), RUN)

    assert lost == "if the change is intended, `eikon fix trace traces/Save --output NEW`; otherwise fix the site"
    assert failed == "fix the site: no baseline should contain an error"
    assert sealed == "if the change is intended, record the mission again; otherwise fix the site"


@pytest.mark.parametrize("cause", sorted(set(get_args(Cause)) - {"unknown"}))
def test_each_known_cause_has_a_next_step(cause: Cause) -> None:
    """In a live replay; of an unknown cause, the explanation says how to find it instead."""
    assert next_step(diverged(cause), RUN)
    assert not next_step(diverged("unknown", settle="run `eikon certify`"), RUN)


@pytest.mark.parametrize(
    ("refusal", "following"),
    [("sign-in", "check the secrets"), ("address", "restore what was at this address"), (None, "look for the error")],
)
def test_what_the_site_refused_is_in_no_log_of_an_error(refusal: Refusal | None, following: str) -> None:
    """A wrong password or a page that is gone is looked for elsewhere."""
    outcome = diverged("site-error")
    assert outcome.explanation is not None
    refused = outcome.explanation.model_copy(update={"refusal": refusal})

    assert next_step(outcome.model_copy(update={"explanation": refused}), RUN).startswith(following)


def test_the_summary_and_the_page_have_it(tmp_path: Path) -> None:
    """Beside the explanation."""
    outcome = diverged("site-error")

    summary, page = render_summary(outcome, tmp_path), render_report(outcome, tmp_path)

    assert "\nNext         look for the error in the log of the server\n" in summary
    assert "<p>Next: look for the error in the log of the server</p>" in page
