"""Whether the causes of a triage are new, known or back again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.history import find_history, summarize_run
from eikon_engine.history.database import open_history
from eikon_engine.history.recurrence import add_recurrence
from eikon_engine.outcome.divergence import Evidence
from eikon_engine.triage.groups import triage
from tests.report.outcomes import make_outcome
from tests.triage.failures import make_failure

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.outcome.outcomes import ReplayOutcome

PRICE = Evidence(kind="answer", title="GET http://a.test/api/items/1", text="body $.price: recorded 12, live 13")


def passed(minute: int, mission: str = "order") -> ReplayOutcome:
    """Make a faithful replay."""
    made = make_failure(PRICE, minute=minute, mission=mission)
    return made.model_copy(update={"verdict": "faithful", "subgoals": (), "explanation": None})


@pytest.mark.parametrize(
    ("earlier", "expected"),
    [
        pytest.param([], ("new", 0), id="no run before"),
        pytest.param([passed(1)], ("new", 0), id="another verdict before"),
        pytest.param([make_failure(PRICE, minute=1)], ("known", 1), id="in the last run"),
        pytest.param([make_failure(PRICE, minute=1), passed(2)], ("back", 1), id="before the mission passed"),
        pytest.param([make_failure(PRICE, minute=1), passed(2, "cart")], ("known", 1), id="before another passed"),
        pytest.param(
            [make_failure(PRICE, minute=1), passed(2), make_failure(PRICE, minute=3)], ("known", 2), id="again before"
        ),
        pytest.param([make_failure(PRICE, minute=20), make_failure(PRICE, minute=10)], ("new", 0), id="not earlier"),
    ],
)
def test_a_cause_is_new_known_or_back(tmp_path: Path, earlier: list[ReplayOutcome], expected: tuple[str, int]) -> None:
    """Runs of the triage itself, and later ones, do not count."""
    now = make_failure(PRICE, minute=10)
    place = find_history(tmp_path, {})
    assert place is not None

    with open_history(place) as history:
        history.add([summarize_run(each, "/o", "") for each in earlier])
        (group,) = add_recurrence(triage([("now", now)]), history).groups

    assert group.history is not None
    assert (group.history.recurrence, group.history.runs) == expected
    assert (group.history.last_seen is None) == (expected[0] == "new")


def test_unknown_causes_have_no_history(tmp_path: Path) -> None:
    """They may be several."""
    place = find_history(tmp_path, {})
    assert place is not None
    error = make_failure(Evidence(kind="console", title="New console error", text="x"), cause="unknown")

    with open_history(place) as history:
        found = add_recurrence(triage([("a", error), ("b", make_outcome())]), history)

    assert [each.history for each in found.groups if each.id == "unknown"] == [None]
