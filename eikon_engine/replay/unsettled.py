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
from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from eikon_engine.network.exchange import FETCH_TYPES, SAFE_METHODS
from eikon_engine.network.rules import find_telemetry_rule
from eikon_engine.network.unsent import SLACK_MS, explain_unsent, has_moments, is_loading_page, is_unsafe
from eikon_engine.trace.actions import (
    AnswerDialog,
    Assert,
    ClosePage,
    Evaluate,
    Expect,
    ExtractDom,
    GoBack,
    GoForward,
    Navigate,
    Note,
    Read,
    Reload,
    Screenshot,
    SwitchPage,
    WaitFor,
)
from eikon_engine.trace.execution import ActionTrace, Blocked, Succeeded
from eikon_engine.trace.steps import has_unsettled_observations

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eikon_engine.browser.worker import PerformedAction
    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.network.exchange import Exchange
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.replay.plan import Plan
    from eikon_engine.trace.observation import Observation

CAUSED_MS: Final = 1_000.0
"""Page time after an action, or after the end of a request that it caused, within which a request counts as caused by
it. A timer may have sent it then, too; in a replay it does so by the same page time."""
MAX_DUE_MS: Final = 5_000.0
"""Page time for which a request is waited for in the step that caused it."""
_WITHOUT_REQUESTS: Final = (AnswerDialog, Assert, Expect, ExtractDom, Note, Read, Screenshot, SwitchPage, WaitFor)
"""Actions that cause no requests; a note stands for a call that replays skip."""
_NAVIGATIONS: Final = (GoBack, GoForward, Navigate, Reload)
_LOADED_STATES: Final = frozenset({"load", "networkidle"})
"""Load states in which the scripts of a document have run."""
_AWAITED_TYPES: Final = FETCH_TYPES | {"document", "script"}
"""Types of resources whose responses let scripts run."""
_ERRORS_OF_REQUESTS: Final = re.compile(
    "Failed to load resource|Access to |AbortError: |TypeError: (Failed to fetch|network error|Load failed)"
)
"""Start of errors with which the browser reports a failed or cancelled request; these are compared by themselves."""
_VARYING: Final = re.compile(r"[0-9a-fA-F-]{8,}|\d+")
"""Ids and numbers in errors."""


@dataclass(frozen=True, slots=True)
class _Address:
    """Method and URL of a request, without the query and the body."""

    method: str
    url: str

    @classmethod
    def of(cls, key: str) -> _Address:
        method, url, *_ = key.split(" ")
        return cls(method, url.partition("?")[0])

    @property
    def site(self) -> tuple[str, str]:
        """Method and host."""
        return self.method, urlsplit(self.url).netloc


@dataclass(frozen=True, slots=True)
class _CausedRequest:
    """A recorded request that an action caused."""

    key: str
    started_ms: float
    step: int
    """Position of that action among the steps."""
    number: int
    """How many requests to this address were caused by then, with this one."""


class UnsettledComparer:
    """Compares the errors and requests of one live replay, step by step; mutable."""

    def __init__(self, plan: Plan) -> None:
        """Start before the first step of a plan; nothing is compared unless its recording is complete."""
        steps = [each.step for subgoal in plan.subgoals for each in subgoal.steps]
        self._steps = [each for each in steps if isinstance(each, ActionTrace)]
        self._positions = {each.id: place for place, each in enumerate(self._steps)}
        seen = [each.observation for each in self._steps if each.observation is not None]
        self._known_errors = {_normalize(text) for each in seen for text in (*each.page_errors, *each.console_errors)}
        recording = plan.recorded_network() if _is_complete(plan, self._steps) else None
        self._recording = None if recording is None or not has_moments(recording) else recording.as_recorded
        self._pages = _RecordedPages(self._steps, self._recording)
        rules = () if plan.trace.network is None else plan.trace.network.rules
        exchanges = () if self._recording is None else self._recording.exchanges
        self._recorded_addresses = {_Address.of(each.key) for each in exchanges}
        self._due = [
            each
            for each in _caused_requests(self._recording, self._steps)
            if find_telemetry_rule(each.key, rules) is None
        ]
        self._sent: list[tuple[int, str]] = []
        """Position of the step and key of each request that the replay has sent."""
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
            unsent_requests=self._unsent(recorded, performed, lag_ms),
        )

    def due_in_ms(self, recorded: ActionTrace, performed: PerformedAction, lag_ms: float) -> float:
        """Return the page time until the pages must have sent what this action caused in the recording.

        0 if they have, and if it takes longer than `MAX_DUE_MS`: then a later step decides.
        """
        observed = performed.observation
        has_acted = isinstance(performed.result, Succeeded)
        if not self._is_compared(recorded) or observed is None or observed.repeats_pages or not has_acted:
            return 0.0
        here = self._positions[recorded.id]
        sent = [*self._sent, *((here, key) for key in observed.requests)]
        missing = (each for each in self._due if each.step == here and not _was_sent(each, sent))
        waits = (each.started_ms + SLACK_MS - _recorded_now_ms(observed, lag_ms) for each in missing)
        return max((0.0, *(math.ceil(wait) + 1.0 for wait in waits if 0 < wait <= MAX_DUE_MS)))  # in whole milliseconds

    def end_step(self, recorded: ActionTrace, performed: PerformedAction, lag_ms: float) -> None:
        """Note what a step did."""
        observed = performed.observation
        if observed is None or not self._is_compared(recorded):
            return
        here = self._positions[recorded.id]
        if not isinstance(performed.result, Succeeded):
            self._failed_steps.add(here)
        self._sent += [(here, key) for key in observed.requests]
        self._known_errors |= {_normalize(text) for text in (*observed.page_errors, *observed.console_errors)}
        if not observed.repeats_pages:
            self._due = [each for each in self._due if not _is_due(each, here, observed, lag_ms)]

    def _is_compared(self, recorded: ActionTrace) -> bool:
        """Return whether a step belongs to the plan and has no baseline, in a recording that is complete."""
        return self._recording is not None and recorded.baseline is None and recorded.id in self._positions

    def _new_errors(
        self, texts: Sequence[str], recorded: ActionTrace, performed: PerformedAction, lag_ms: float
    ) -> tuple[str, ...]:
        new = (text for text in texts if _normalize(text) not in self._known_errors)
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
        call_end_ms = _call_end_ms(recorded)
        return both_succeeded and is_at_once and self._pages.was_idle(call_end_ms, call_end_ms, 0.0)

    def _unsent(self, recorded: ActionTrace, performed: PerformedAction, lag_ms: float) -> tuple[str, ...]:
        """Return the keys of the requests that are due by now and were not sent."""
        observed = performed.observation
        if observed is None:
            return ()
        here = self._positions[recorded.id]
        failed = self._failed_steps if isinstance(performed.result, Succeeded) else {*self._failed_steps, here}
        sent = [*self._sent, *((here, key) for key in observed.requests)]
        due = [each for each in self._due if each.step not in failed and _is_due(each, here, observed, lag_ms)]
        missing = [each for each in due if not _was_sent(each, sent)]
        new = Counter(
            address.site
            for step, key in sent
            if missing and step >= missing[0].step and (address := _Address.of(key)) not in self._recorded_addresses
        )
        unsent = []
        for each in missing:
            site = _Address.of(each.key).site
            new[site] -= 1
            if new[site] < 0:  # no other request was sent in its place
                unsent.append(each.key)
        return tuple(dict.fromkeys(unsent))


class _RecordedPages:
    """When the pages of a recording were left, and what they waited for."""

    def __init__(self, steps: Sequence[ActionTrace], recording: NetworkRecording | None) -> None:
        """Read the times of a recording."""
        self._steps = steps
        exchanges = () if recording is None else recording.exchanges
        self._loads = sorted(each.started_ms for each in exchanges if _is_page(each))
        closes = (_begun_ms(each) for each in steps if isinstance(each.action, ClosePage))
        seen = [each.observation for each in steps if each.observation is not None]
        self._end_ms = max((each.begun_ms + each.virtual_ms for each in seen), default=0.0)
        self._leaves = sorted((*self._loads, *closes, self._end_ms))
        awaited = (each for each in exchanges if each.request.resource_type in _AWAITED_TYPES)
        self._awaited = sorted(awaited, key=lambda each: each.started_ms)

    def left_ms(self, step: int) -> float:
        """Return when the pages shown at the begin of a step, given by its position, were left."""
        if step >= len(self._steps):
            return self._end_ms
        place = bisect_left(self._leaves, _begun_ms(self._steps[step]))
        return self._leaves[place] if place < len(self._leaves) else self._end_ms

    def was_idle(self, begin_ms: float, end_ms: float, duration_ms: float) -> bool:
        """Return whether the last page of a period of page time waited for no response, for so long without a pause."""
        place = bisect_left(self._loads, end_ms)
        loaded_ms = self._loads[place - 1] if place else 0.0
        idle_since = max(begin_ms, loaded_ms)
        requested: set[_Address] = set()
        for each in self._awaited:
            address = _Address.of(each.key)
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


def _begun_ms(step: ActionTrace) -> float:
    return 0.0 if step.observation is None else step.observation.begun_ms


def _call_end_ms(step: ActionTrace) -> float:
    """Return the page time at which the agent's call returned; recorded page time is wall time."""
    if step.started_at is None or step.ended_at is None:
        return _begun_ms(step)
    return _begun_ms(step) + (step.ended_at - step.started_at).total_seconds() * 1000


def _waits_for_load(step: ActionTrace) -> bool:
    return isinstance(step.action, _NAVIGATIONS) and step.action.wait_until in _LOADED_STATES


def _is_page(exchange: Exchange) -> bool:
    return exchange.request.is_navigation and not exchange.request.frame


def _caused_requests(recording: NetworkRecording | None, steps: Sequence[ActionTrace]) -> Iterator[_CausedRequest]:
    """Yield the requests that actions caused and that matter: unsafe ones, fetches and pages."""
    if recording is None:
        return
    acting = [(_acted_ms(each), place) for place, each in enumerate(steps) if _may_cause_requests(each)]
    pages = [each for each in recording.exchanges if _is_page(each)]
    own_sites = {_site(each.request.url) for each in pages}
    caused_until: dict[int, float] = {}
    """Page time until which an action causes requests, by its position."""
    requested: set[_Address] = set()
    counts: Counter[_Address] = Counter()
    for exchange in sorted(recording.exchanges, key=lambda each: each.started_ms):
        before = bisect_right(acting, (exchange.started_ms, len(steps)))
        if not before:
            continue
        acted_ms, step = acting[before - 1]
        until_ms = max(acted_ms + CAUSED_MS, _call_end_ms(steps[step]))
        if exchange.started_ms > caused_until.setdefault(step, until_ms):
            continue
        address, is_safe = _Address.of(exchange.key), exchange.request.method in SAFE_METHODS
        if not (is_safe and address in requested):  # a poll may have been sent by a timer, as what follows it
            ended_ms = exchange.started_ms if exchange.completed_ms is None else exchange.completed_ms
            caused_until[step] = max(caused_until[step], ended_ms + CAUSED_MS)
        requested.add(address)
        is_loading = any(acted_ms <= page.started_ms < exchange.started_ms for page in pages)
        if is_loading and _site(exchange.request.url) not in own_sites:
            continue  # what other sites add to a page, such as advertisements, varies from visit to visit
        if _matters(exchange, recording) and isinstance(steps[step].result, Succeeded):
            counts[address] += 1
            yield _CausedRequest(exchange.key, exchange.started_ms, step, counts[address])


def _site(url: str) -> str:
    """Return the last two labels of a host name, or an IP address: pages and their servers mostly share these."""
    host = urlsplit(url).hostname or ""
    return host if not host.rpartition(".")[2].isalpha() else ".".join(host.split(".")[-2:])


def _acted_ms(step: ActionTrace) -> float:
    seen = step.observation
    return 0.0 if seen is None else seen.acted_ms if seen.acted_ms is not None else seen.begun_ms


def _may_cause_requests(step: ActionTrace) -> bool:
    is_poll = isinstance(step.action, Evaluate) and step.action.is_poll
    return step.observation is not None and not is_poll and not isinstance(step.action, _WITHOUT_REQUESTS)


def _matters(exchange: Exchange, recording: NetworkRecording) -> bool:
    """Return whether the mission may depend on a request."""
    request = exchange.request
    is_effect = is_unsafe(request.method, request.resource_type)
    if not is_effect and not _is_page(exchange) and request.resource_type not in FETCH_TYPES:
        return False
    if explain_unsent(exchange, recording, ()):
        return False
    if exchange.response is not None:
        return True
    is_leaving = any(is_loading_page(each, exchange.started_ms) for each in recording.exchanges if each is not exchange)
    return is_effect and not is_leaving


def _is_due(caused: _CausedRequest, here: int, observed: Observation, lag_ms: float) -> bool:
    """Return whether a replay that follows the recording would have sent a request by the end of a step."""
    return caused.step <= here and caused.started_ms + SLACK_MS <= _recorded_now_ms(observed, lag_ms)


def _recorded_now_ms(observed: Observation, lag_ms: float) -> float:
    """Return the page time of an observation in the timeline of the recording."""
    return observed.begun_ms + observed.virtual_ms - lag_ms


def _was_sent(caused: _CausedRequest, sent: Iterable[tuple[int, str]]) -> bool:
    """Return whether a replay has sent a request, or one to the same address in its place.

    A safe request may have been sent in any step, since pages keep what they loaded. An unsafe one was sent if its
    action, or a later one, has sent it; or if so many were sent before as the recording has.
    """
    address = _Address.of(caused.key)
    steps = [step for step, key in sent if _Address.of(key) == address]
    if address.method in SAFE_METHODS:
        return bool(steps)
    return any(step >= caused.step for step in steps) or len(steps) >= caused.number


def _normalize(error: str) -> str:
    return _VARYING.sub("#", error.strip())
