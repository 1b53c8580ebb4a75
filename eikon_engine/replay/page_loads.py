"""When recorded documents had loaded: the page time that passed until then passed on the page before.

The page clock of a live replay stands while a document loads. If its action acted when the recorded one did, the
scripts of the new document would have as much more page time until the next step as the recorded document took to load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.trace.execution import ActionTrace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eikon_engine.network.exchange import Exchange
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.replay.plan import Plan

SOON_MS: Final = 50.0
"""Within this page time after a document or a script has loaded, scripts on which the page depends are requested."""
_BLOCKING_TYPES: Final = frozenset({"script", "stylesheet"})
"""Types of resources for which the scripts of a document wait."""


def find_page_loads(plan: Plan, recording: NetworkRecording) -> Mapping[str, float]:
    """Return the page time at which the document that an action requested had loaded with its scripts, by step id.

    Steps whose document a timer requested are omitted: there, the page before needs its page time after the action.
    """
    exchanges = sorted(
        (each for each in recording.exchanges if each.completed_ms is not None), key=lambda each: each.started_ms
    )
    steps = (each.step for subgoal in plan.subgoals for each in subgoal.steps)
    found = {}
    for step in steps:
        seen = step.baseline if isinstance(step, ActionTrace) else None
        if seen is None or seen.acted_ms is None or seen.virtual_ms is None:
            continue
        caused = [each for each in exchanges if each.key not in seen.timer_requests]
        loaded_ms = _loaded_ms(caused, seen.acted_ms, seen.begun_ms + seen.virtual_ms)
        if loaded_ms is not None:
            found[step.id] = loaded_ms
    return found


def _loaded_ms(exchanges: Sequence[Exchange], acted_ms: float, end_ms: float) -> float | None:
    """Return when the first document that was requested after a page time had loaded; None if it had not by the end."""
    loaded_ms: float | None = None
    for each in exchanges:
        completed_ms = each.completed_ms or 0.0
        if not acted_ms <= each.started_ms or completed_ms > end_ms:
            continue
        is_document = each.request.is_navigation and not each.request.frame
        if loaded_ms is None and is_document:
            loaded_ms = completed_ms
        elif loaded_ms is not None and each.request.resource_type in _BLOCKING_TYPES:
            if each.started_ms > loaded_ms + SOON_MS:
                break
            loaded_ms = max(loaded_ms, completed_ms)
    return loaded_ms
