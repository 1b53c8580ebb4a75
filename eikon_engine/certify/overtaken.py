"""Find actions that the agent performed before a response that replays wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.browser.worker import PASSIVE_ACTIONS
from eikon_engine.network.moment import PHASES_PER_ACTION_WITH_LOOKUP
from eikon_engine.network.store import read_network
from eikon_engine.replay.label import action_label
from eikon_engine.trace.actions import GoBack, GoForward, Navigate, OpenPage, Reload, WaitFor
from eikon_engine.trace.bundle_path import resolve_inside

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eikon_engine.trace.execution import ActionTrace, ExecutionTrace

RELEVANT_RESOURCE_TYPES: Final = frozenset({"document", "fetch", "script", "xhr"})
"""Resource types whose responses can change a page."""
ACTIONS_WITHOUT_EFFECT: Final = (*PASSIVE_ACTIONS, GoBack, GoForward, Navigate, OpenPage, Reload, WaitFor)
"""Actions without effect on the current document, or that replace it."""
SHOWN_REQUESTS: Final = 2
"""Number of requests listed per action."""


def find_early_actions(root: Path, trace: ExecutionTrace) -> tuple[str, ...]:
    """Return a line for each action that the agent performed before a response that replays deliver first.

    Replays compare idle pages with idle pages, so they cannot show what the agent saw while they were loading.

    Raises:
        TraceError: the recorded network cannot be read.
    """
    if trace.network is None or not trace.network.timeline:
        return ()
    recording = read_network(resolve_inside(root, trace.network.folder, "network.folder"))
    moved = {each.was: each.phase for each in trace.network.timeline}
    answers = [
        (moved[end.order], end.phase, exchange.key)
        for exchange in recording.exchanges
        if exchange.request.resource_type in RELEVANT_RESOURCE_TYPES
        and (end := exchange.moment) is not None
        and end.order in moved
    ]
    lines = []
    for place, (attempt, action) in enumerate(_performed_actions(trace)):
        acted = PHASES_PER_ACTION_WITH_LOOKUP * place + PHASES_PER_ACTION_WITH_LOOKUP - 1
        keys = [key for given, came, key in answers if given < acted <= came]
        if keys and not isinstance(action.action, ACTIONS_WITHOUT_EFFECT):
            lines.append(_early_action_note(attempt, action, keys))
    return tuple(lines)


def _performed_actions(trace: ExecutionTrace) -> Iterator[tuple[str, ActionTrace]]:
    for subgoal in trace.subgoal_traces:
        for action in sorted(subgoal.actions_taken, key=lambda each: each.sequence):
            if action.result.kind != "blocked":
                yield subgoal.id, action


def _early_action_note(attempt: str, action: ActionTrace, keys: list[str]) -> str:
    more = f" and {len(keys) - SHOWN_REQUESTS} more" if len(keys) > SHOWN_REQUESTS else ""
    return (
        f"{attempt}, sequence {action.sequence} ({action_label(action.action)}): the agent acted before "
        f"{', '.join(keys[:SHOWN_REQUESTS])}{more} finished. Replays wait for it, so a race here would go unnoticed"
    )
