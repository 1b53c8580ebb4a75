"""Certify recordings of agents that did not wait for their pages.

What an agent sees of a loading page depends on timing. Replays compare idle pages, so the mission is replayed once with
responses served on request, and all later replays deliver them at the moments found there: unless an action failed in
that replay, or a recorded request was not sent, and a replay with the timing of the agent does better.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.worker import PASSIVE_ACTIONS
from eikon_engine.certify.compare_runs import compare_runs
from eikon_engine.certify.learn import replay_and_learn
from eikon_engine.files.paths import resolve_inside
from eikon_engine.network.exchange import PHASES_PER_ACTION_WITH_LOOKUP
from eikon_engine.network.retiming import derive_timeline
from eikon_engine.network.store import read_network
from eikon_engine.outcome.certification import CertificationFinding
from eikon_engine.replay.context import recorded_network
from eikon_engine.trace.actions import (
    GoBack,
    GoForward,
    Navigate,
    OpenPage,
    Reload,
    ScrollIntoViewIfNeeded,
    WaitFor,
)
from eikon_engine.trace.labels import action_label

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from eikon_engine.certify.compare_runs import ActionComparison
    from eikon_engine.certify.draft import Draft
    from eikon_engine.certify.learn import LearningRun
    from eikon_engine.certify.options import CertifyOptions
    from eikon_engine.certify.runs import ReplayedRun
    from eikon_engine.network.exchange import Moment
    from eikon_engine.outcome.outcomes import UnsentRequest
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import ActionTrace, ExecutionTrace, MovedDelivery


async def replay_idle_pages(bundle: Bundle, draft: Draft, options: CertifyOptions) -> IdleReplay | None:
    """Replay until the pages are idle after each action, and add learned rules to the draft.

    Returns None if no network was recorded.

    Raises:
        EikonError: the trace cannot be read, or a run did not complete.
    """
    recording = recorded_network(bundle)
    if recording is None:
        return None
    given: dict[int, Moment] = {}
    learning = await replay_and_learn(
        replace(bundle, trace=draft.trace, dom=draft.dom),
        options,
        given.__setitem__,
        may_get_rules=draft.may_get_rules,
    )
    draft.learn(learning.rules, options)
    if learning.run is None:
        return IdleReplay()
    comparisons = compare_runs(draft.trace, (learning.run,))
    failed = find_failed_action(comparisons)
    if failed is not None:
        return IdleReplay(failed_action=failed)
    timeline = derive_timeline(recording, given)
    return IdleReplay(run=learning.run, comparisons=comparisons, timeline=timeline, unsent=learning.unsent)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedAction:
    """An action whose target or result differs from the recording."""

    subgoal: str
    sequence: int
    codes: frozenset[str]
    """Codes of the differences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleReplay:
    """A replay that waited for idle pages."""

    failed_action: FailedAction | None = None
    run: ReplayedRun | None = None
    """None if an action failed, or the replay ended early."""
    comparisons: tuple[ActionComparison, ...] = ()
    timeline: tuple[MovedDelivery, ...] = ()
    """When it delivered what was recorded."""
    unsent: tuple[UnsentRequest, ...] = ()
    """Recorded requests that it did not send."""

    @property
    def problem(self) -> str:
        """What a replay with another timing may do better; empty if nothing."""
        if self.failed_action is not None:
            return "an action differed"
        if self.run is None:
            return "a request is not in the recording"
        return "a recorded request was not sent" if self.unsent else ""

    def is_better_than(self, learning: LearningRun | None) -> bool:
        """Whether it is kept: a replay with the timing of the agent, if any, did not repeat the mission either."""
        if self.run is None or not self.problem or learning is None or learning.run is None or learning.has_diverged:
            return self.run is not None
        return bool(learning.unsent)


def find_failed_action(comparisons: Iterable[ActionComparison]) -> FailedAction | None:
    """Return the first action that failed in the first run, and not in the recording, or the other way round."""
    for each in comparisons:
        codes = frozenset(found.code for found in each.diverged if each.is_failure(found))
        if codes:
            return FailedAction(subgoal=each.place.subgoal, sequence=each.place.sequence, codes=codes)
    return None


def unsent_request_findings(runs: Sequence[ReplayedRun]) -> tuple[CertificationFinding, ...]:
    """Find what was sent in the recording and not in a replay: the agent did something that is not replayed.

    No other check finds it, because recordings of agents have no baselines of their own.
    """
    counts = Counter(each for run in runs for each in dict.fromkeys(run.outcome.network.unsent))
    return tuple(
        CertificationFinding(
            kind="unverifiable",
            subgoal=each.subgoal,
            sequence=each.sequence,
            step=each.step,
            layer="network",
            runs=count,
            message=f"{each.key} is in the recording, but a replay did not send it: "
            "the agent did something that is not replayed, or the page behaves differently",
        )
        for each, count in counts.items()
    )


RELEVANT_RESOURCE_TYPES: Final = frozenset({"document", "fetch", "script", "xhr"})
"""Resource types whose responses can change a page."""
ACTIONS_WITHOUT_EFFECT: Final = (
    *PASSIVE_ACTIONS,
    GoBack,
    GoForward,
    Navigate,
    OpenPage,
    Reload,
    ScrollIntoViewIfNeeded,
    WaitFor,
)
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
        keys = [key for given, received, key in answers if given < acted <= received]
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
