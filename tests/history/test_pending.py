"""Where a history is, and what the history keeps of an outcome."""

from __future__ import annotations

from pathlib import Path

import pytest

from eikon_engine.history import find_build, find_history, summarize_run
from eikon_engine.outcome.divergence import Evidence
from eikon_engine.outcome.outcomes import GateResult
from eikon_engine.triage.signature import sign
from tests.report.outcomes import make_outcome
from tests.triage.failures import make_failure

HOME = Path("/home/ada")


@pytest.mark.parametrize(
    ("environ", "url", "is_shared"),
    [
        ({}, "sqlite:////home/ada/.local/state/eikon/history/runs.sqlite3", False),
        ({"XDG_STATE_HOME": "/state"}, "sqlite:////state/eikon/history/runs.sqlite3", False),
        ({"EIKON_HISTORY": "/team/runs.db"}, "sqlite:////team/runs.db", True),
        ({"EIKON_HISTORY": "postgresql://ada:pw@db/runs"}, "postgresql://ada:pw@db/runs", True),
    ],
)
def test_the_environment_names_the_database(environ: dict[str, str], url: str, is_shared: bool) -> None:  # noqa: FBT001 - of the table
    """The files of runs that wait lie in the state folder, apart for each database."""
    place = find_history(HOME, environ)

    assert place is not None
    assert (place.url, place.is_shared) == (url, is_shared)
    assert (
        place.pending.parent
        == (Path("/state/eikon") if "XDG_STATE_HOME" in environ else HOME / ".local/state/eikon") / "history"
    )
    assert "pw" not in place.pending.name


def test_there_may_be_no_history() -> None:
    """With `off`."""
    assert find_history(HOME, {"EIKON_HISTORY": "off"}) is None


def test_the_build_is_that_of_the_user_or_of_the_ci() -> None:
    """In this order."""
    assert find_build({}) == ""
    assert find_build({"GITHUB_SHA": "1f2e"}) == "1f2e"
    assert find_build({"GITHUB_SHA": "1f2e", "EIKON_BUILD": "shop 4.2"}) == "shop 4.2"


def test_a_run_has_the_cause_that_a_triage_names() -> None:
    """With the same id."""
    failed = make_failure(Evidence(kind="answer", title="GET http://a.test/1", text="status: recorded 200, live 500"))

    run = summarize_run(failed, "/runs/1/outcome.json", "1f2e")

    signature = sign(failed).signature
    assert (run.verdict, run.cause, run.signature) == ("diverged", signature.cause, signature.id)
    assert run.signature_text == str(signature)
    assert (run.duration_ms, run.build, run.path) == (2000, "1f2e", "/runs/1/outcome.json")
    assert summarize_run(failed, "elsewhere", "").id == run.id


def test_a_failed_gate_is_a_failure() -> None:
    """However faithful the replay is."""
    gate = GateResult(gate="max_steps", limit=1, observed=2, passed=False, message="2 steps, at most 1")
    outcome = make_outcome().model_copy(update={"verdict": "faithful", "gates": (gate,)})

    run = summarize_run(outcome, "/o", "")

    assert run.verdict == "diverged"
    assert run.signature


def test_what_databases_do_not_store_is_replaced() -> None:
    """NUL, and halves of surrogate pairs."""
    outcome = make_failure().model_copy(update={"mission_id": "a\0b"})

    run = summarize_run(outcome, "/o\0\ud800", "")

    assert (run.mission_id, run.path) == ("a?b", "/o??")
