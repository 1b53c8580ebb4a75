"""Compare what pages do in live steps without a baseline: uncaught and console errors, and requests.

The recorder of an agent observes such steps without waiting for the pages, so an error or a request may belong to
another step than in a replay, and an agent may have left a page before it did something. Both have the same page time,
though: a live replay begins each action at its recorded page time at the earliest. That decides what is compared:

* an error that no recorded step has is new if the recorded page stayed open longer than it took, or if it occurs while
  the action is performed, and if the page had received what it had requested by then;
* a request that an action caused in the recording is missing if its page time has passed and no page has sent it.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from eikon_engine.network.exchange import FETCH_TYPES
from eikon_engine.network.unsent import SLACK_MS, has_moments
from eikon_engine.replay.caused_requests import (
    Address,
    CausedRequests,
    SentRequest,
    call_end_ms,
    is_page,
)
from eikon_engine.replay.known_errors import KnownErrors
from eikon_engine.trace.actions import ClosePage, GoBack, GoForward, Navigate, Note, Reload
from eikon_engine.trace.execution import ActionTrace, Blocked, Succeeded
from eikon_engine.trace.steps import begun_ms, has_unsettled_observations

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eikon_engine.browser.worker import PerformedAction
    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.outcome.outcomes import NetworkMiss
    from eikon_engine.replay.caused_requests import CausedRequest
    from eikon_engine.replay.plan import Plan
    from eikon_engine.trace.observation import Observation

MAX_DUE_MS: Final = 5_000.0
"""Page time for which a request is waited for in the step that caused it."""
_NAVIGATIONS: Final = (GoBack, GoForward, Navigate, Reload)
_LOADED_STATES: Final = frozenset({"load", "networkidle"})
"""Load states in which the scripts of a document have run."""
_AWAITED_TYPES: Final = FETCH_TYPES | {"document", "script"}
"""Types of resources whose responses let scripts run."""
_ERRORS_OF_REQUESTS: Final = re.compile(
    "Failed to load resource|Access to |AbortError: |TypeError: (Failed to fetch|network error|Load failed)"
)
"""Start of errors with which the browser reports a failed or cancelled request; these are compared by themselves."""


class UnsettledComparer:
    """Compares the errors and requests of one live replay, step by step; mutable."""

    def __init__(self, plan: Plan) -> None:
        """Start before the first step of a plan; nothing is compared unless its recording is complete."""
        steps = [each.step for subgoal in plan.subgoals for each in subgoal.steps]
        self._steps = [each for each in steps if isinstance(each, ActionTrace)]
        self._positions = {each.id: place for place, each in enumerate(self._steps)}
        seen = [each.observation for each in self._steps if each.observation is not None]
        self._known_errors = KnownErrors(text for each in seen for text in (*each.page_errors, *each.console_errors))
        recording = plan.recorded_network() if _is_complete(plan, self._steps) else None
        self._recording = None if recording is None or not has_moments(recording) else recording.as_recorded
        self._pages = _RecordedPages(self._steps, self._recording)
        rules = () if plan.trace.network is None else plan.trace.network.rules
        self._caused = None if self._recording is None else CausedRequests(self._recording, self._steps, rules)
        self._sent: list[SentRequest] = []
        """What the replay has sent."""
        self._decided: set[CausedRequest] = set()
        """Requests that were due at an earlier step."""
        self._failed_steps: set[int] = set()
        """Positions of the steps that failed in the replay."""

    def compare(
        self, comparison: Comparison, recorded: ActionTrace, performed: PerformedAction, lag_ms: float
    ) -> Comparison:
        """Add the errors and requests that differ to the comparison of a step without a baseline.

        `lag_ms` is the page time by which the replay lags behind the recording.
        """
        observed = performed.observation
        if not self._is_compared(recorded) or observed is None or observed.repeats_pages:
            return comparison
        return replace(
            comparison,
            new_page_errors=self._new_errors(observed.page_errors, recorded, performed, lag_ms),
            new_console_errors=self._new_errors(observed.console_errors, recorded, performed, lag_ms),
            unsent_requests=self._unsent(recorded, performed, lag_ms, comparison.changed_requests),
        )

    def due_in_ms(
        self,
        recorded: ActionTrace,
        performed: PerformedAction,
        lag_ms: float,
        changed_requests: Sequence[NetworkMiss] = (),
    ) -> float:
        """Return the page time until the pages must have sent what this action caused in the recording.

        0 if they have, and if it takes longer than `MAX_DUE_MS`: then a later step decides. `changed_requests` are
        those that the replay sent with other values.
        """
        observed = performed.observation
        has_acted = isinstance(performed.result, Succeeded)
        if not self._is_compared(recorded) or observed is None or observed.repeats_pages or not has_acted:
            return 0.0
        here = self._positions[recorded.id]
        missing = self._missing(observed, here, self._failed_steps, math.inf, changed_requests)
        now_ms = _recorded_now_ms(observed, lag_ms)
        waits = (each.due_ms - now_ms for each in missing if each.step == here)
        return max((0.0, *(math.ceil(wait) + 1.0 for wait in waits if 0 < wait <= MAX_DUE_MS)))  # in whole milliseconds

    def end_step(self, recorded: ActionTrace, performed: PerformedAction, lag_ms: float) -> None:
        """Note what a step did."""
        observed = performed.observation
        if observed is None or not self._is_compared(recorded):
            return
        here = self._positions[recorded.id]
        if not isinstance(performed.result, Succeeded):
            self._failed_steps.add(here)
        self._sent += (SentRequest(here, key) for key in observed.requests)
        self._known_errors.update((*observed.page_errors, *observed.console_errors))
        if not observed.repeats_pages and self._caused is not None:
            self._decided.update(self._caused.due(here, _recorded_now_ms(observed, lag_ms)))

    def _is_compared(self, recorded: ActionTrace) -> bool:
        """Return whether a step belongs to the plan and has no baseline, in a recording that is complete."""
        return self._recording is not None and recorded.baseline is None and recorded.id in self._positions

    def _new_errors(
        self, texts: Sequence[str], recorded: ActionTrace, performed: PerformedAction, lag_ms: float
    ) -> tuple[str, ...]:
        new = (text for text in texts if text not in self._known_errors)
        mine = (text for text in new if not _ERRORS_OF_REQUESTS.match(text))
        return tuple(text for text in mine if self._would_be_recorded(text, recorded, performed, lag_ms))

    def _would_be_recorded(self, text: str, recorded: ActionTrace, performed: PerformedAction, lag_ms: float) -> bool:
        """Return whether an unchanged page that reports an error here would have done so in the recording."""
        seen, observed = recorded.observation, performed.observation
        if seen is None or observed is None:
            return False
        end_ms = observed.begun_ms + observed.virtual_ms
        error_ms = end_ms if performed.captured is None else performed.captured.error_ms.get(text, end_ms)
        here = self._positions[recorded.id]
        left_ms = self._pages.left_ms(here + 1 if observed.documents else here)
        passed_ms = max(0.0, error_ms - observed.begun_ms)
        if error_ms - lag_ms + SLACK_MS <= left_ms and self._pages.was_idle(
            seen.begun_ms, left_ms, passed_ms + SLACK_MS
        ):
            return True
        both_succeeded = isinstance(recorded.result, Succeeded) and isinstance(performed.result, Succeeded)
        is_at_once = not passed_ms and (not observed.documents or _waits_for_load(recorded))
        returned_ms = call_end_ms(recorded)
        return both_succeeded and is_at_once and self._pages.was_idle(returned_ms, returned_ms, 0.0)

    def _unsent(
        self,
        recorded: ActionTrace,
        performed: PerformedAction,
        lag_ms: float,
        changed_requests: Sequence[NetworkMiss],
    ) -> tuple[str, ...]:
        """Return the keys of the requests that are due by now and were not sent."""
        observed = performed.observation
        if observed is None:
            return ()
        here = self._positions[recorded.id]
        failed = self._failed_steps if isinstance(performed.result, Succeeded) else {*self._failed_steps, here}
        missing = self._missing(observed, here, failed, _recorded_now_ms(observed, lag_ms), changed_requests)
        return tuple(dict.fromkeys(each.key for each in missing))

    def _missing(
        self,
        observed: Observation,
        here: int,
        failed: set[int],
        now_ms: float,
        changed_requests: Sequence[NetworkMiss],
    ) -> list[CausedRequest]:
        """Return the requests that the replay should have sent by now, not sooner, and has not."""
        if self._caused is None:
            return []
        due = [each for each in self._caused.due(here, now_ms) if each.step not in failed]
        sent = [*self._sent, *(SentRequest(here, key) for key in observed.requests)]
        missing = self._caused.find_missing(due, sent, changed_requests)
        return [each for each in missing if each not in self._decided]


class _RecordedPages:
    """When the pages of a recording were left, and what they waited for."""

    def __init__(self, steps: Sequence[ActionTrace], recording: NetworkRecording | None) -> None:
        """Read the times of a recording."""
        self._steps = steps
        exchanges = () if recording is None else recording.exchanges
        self._loads = sorted(each.started_ms for each in exchanges if is_page(each))
        closes = (begun_ms(each) for each in steps if isinstance(each.action, ClosePage))
        seen = [each.observation for each in steps if each.observation is not None]
        self._end_ms = max((each.begun_ms + each.virtual_ms for each in seen), default=0.0)
        self._leaves = sorted((*self._loads, *closes, self._end_ms))
        awaited = (each for each in exchanges if each.request.resource_type in _AWAITED_TYPES)
        self._awaited = sorted(awaited, key=lambda each: each.started_ms)

    def left_ms(self, step: int) -> float:
        """Return when the pages shown at the begin of a step, given by its position, were left."""
        if step >= len(self._steps):
            return self._end_ms
        place = bisect_left(self._leaves, begun_ms(self._steps[step]))
        return self._leaves[place] if place < len(self._leaves) else self._end_ms

    def was_idle(self, begin_ms: float, end_ms: float, duration_ms: float) -> bool:
        """Return whether the last page of a period of page time waited for no response, for so long without a pause."""
        place = bisect_left(self._loads, end_ms)
        loaded_ms = self._loads[place - 1] if place else 0.0
        idle_since = max(begin_ms, loaded_ms)
        requested: set[Address] = set()
        for each in self._awaited:
            address = Address.of(each.key)
            if not loaded_ms <= each.started_ms < end_ms or address in requested:
                continue  # of another page, or a poll, whose first response did nothing
            requested.add(address)
            if each.started_ms >= idle_since + duration_ms:
                return True
            idle_since = max(idle_since, math.inf if each.completed_ms is None else each.completed_ms)
        return idle_since + duration_ms <= end_ms


def _is_complete(plan: Plan, steps: Iterable[ActionTrace]) -> bool:
    """Return whether the recording of an agent is complete: from the first page to the end, and not edited."""
    trace = plan.trace
    is_natural = trace.environment is not None and trace.environment.clock == "natural"
    is_observed = all(each.timing is None and (each.observation is not None or _is_skipped(each)) for each in steps)
    return is_natural and is_observed and trace.ended_at is not None and has_unsettled_observations(trace)


def _is_skipped(step: ActionTrace) -> bool:
    return isinstance(step.action, Note) or isinstance(step.result, Blocked)


def _waits_for_load(step: ActionTrace) -> bool:
    return isinstance(step.action, _NAVIGATIONS) and step.action.wait_until in _LOADED_STATES


def _recorded_now_ms(observed: Observation, lag_ms: float) -> float:
    """Return the page time of an observation in the timeline of the recording."""
    return observed.begun_ms + observed.virtual_ms - lag_ms
