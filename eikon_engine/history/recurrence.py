"""Whether the causes of a triage are new, known or back again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.outcome.triage import UNKNOWN_GROUP, CauseHistory

if TYPE_CHECKING:
    from eikon_engine.history.database import History
    from eikon_engine.outcome.triage import Triage, TriageGroup


def add_recurrence(triage: Triage, history: History) -> Triage:
    """Add to each group, except that of unknown causes, what earlier runs say about its cause.

    Raises:
        HistoryError: the database cannot be read.
    """
    groups = tuple(
        group if group.id == UNKNOWN_GROUP else group.model_copy(update={"history": _cause_history(group, history)})
        for group in triage.groups
    )
    return triage.model_copy(update={"groups": groups})


def _cause_history(group: TriageGroup, history: History) -> CauseHistory:
    """Return how often a cause was seen before; it is back if a mission that it stopped last has passed since then."""
    earlier = history.runs_with(group.id, before=group.first_seen)
    if not earlier:
        return CauseHistory(recurrence="new", runs=0, first_seen=None, last_seen=None)
    last = earlier[-1]
    passed = history.last_pass(last.mission_id, before=group.first_seen)
    return CauseHistory(
        recurrence="back" if passed is not None and passed > last.started_at else "known",
        runs=len(earlier),
        first_seen=earlier[0].started_at,
        last_seen=last.started_at,
    )
