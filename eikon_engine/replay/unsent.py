"""Find the recorded requests that a complete replay never sent, and the steps at which they were recorded."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from eikon_engine.browser.traffic.sealed import SealedTraffic
from eikon_engine.divergence.masks import unmasked_keys
from eikon_engine.files.text import pluralize
from eikon_engine.network.exchange import PHASES_PER_ACTION, PHASES_PER_ACTION_WITH_LOOKUP
from eikon_engine.outcome.outcomes import UnsentRequest
from eikon_engine.trace.actions import InsertText, TypeText
from eikon_engine.trace.execution import ActionTrace, Blocked
from eikon_engine.trace.labels import action_label
from eikon_engine.trace.steps import is_agent_recording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eikon_engine.browser.session import Session
    from eikon_engine.network.unsent import Unsent
    from eikon_engine.outcome.outcomes import NetworkOutcome
    from eikon_engine.replay.plan import Plan
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.masks import Mask


def add_unsent(outcome: NetworkOutcome, plan: Plan, session: Session, masks: Sequence[Mask]) -> NetworkOutcome:
    """Add what the pages sent in the recording and not in a complete sealed replay, to what the outcome holds.

    Edited missions, and recordings without moments, are not checked. Neither are actions with a recorded observation,
    whose requests are compared.
    """
    traffic = session.traffic
    actions = _performed_actions(plan)
    if not isinstance(traffic, SealedTraffic) or plan.other_network is not None or not actions:
        return outcome
    if any(action.timing is not None for _, action in actions):
        return outcome
    per_action = PHASES_PER_ACTION_WITH_LOOKUP if session.timeline.has_acting_phase else PHASES_PER_ACTION
    is_from_agent = is_agent_recording(plan.trace)
    explained: Counter[str] = Counter()
    left = []
    for each in traffic.unsent():
        attempt, action = _step_of(each, actions, per_action)
        is_compared = each.is_observed and action.baseline is not None and not is_from_agent
        explanation = each.explanation
        if each.is_superseded and _is_typing_without_pauses(action.action):
            explanation = explanation or "sent between two keys, which a replay presses without pauses"
        if explanation:
            explained[explanation] += 1
        elif not is_compared and unmasked_keys([each.key], masks):
            left.append(
                UnsentRequest(key=each.key, subgoal=attempt, sequence=action.sequence, step=action_label(action.action))
            )
    notes = tuple(
        f"{pluralize(count, 'recorded request')} not sent by the replay: {why}" for why, count in explained.items()
    )
    return outcome.model_copy(update={"unsent": tuple(left), "notes": (*outcome.notes, *notes)})


def _is_typing_without_pauses(action: Action) -> bool:
    """Whether an action presses keys without a delay; the agent may have paused between them, unlike a replay."""
    match action:
        case TypeText(delay_ms=0) | InsertText(key_by_key=True, delay_ms=0):
            return True
        case _:
            return False


def _performed_actions(plan: Plan) -> list[tuple[str, ActionTrace]]:
    steps = ((subgoal.subgoal.id, planned.step) for subgoal in plan.subgoals for planned in subgoal.steps)
    return [
        (attempt, step)
        for attempt, step in steps
        if isinstance(step, ActionTrace) and not isinstance(step.result, Blocked)
    ]


def _step_of(unsent: Unsent, actions: list[tuple[str, ActionTrace]], per_action: int) -> tuple[str, ActionTrace]:
    """Return the action during which, or after which, something was sent."""
    place = max(0, (unsent.phase - 1) // per_action)
    return actions[min(place, len(actions) - 1)]
