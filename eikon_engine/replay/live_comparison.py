"""Compare live steps: what an unchanged site varies, and what its pages have loaded earlier than in the recording."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from functools import cache, partial
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.present_times import (
    ELAPSED_TOLERANCE,
    PRESENT_TIME,
    PresentTimes,
    find_elapsed,
    page_zone,
    response_without_present_times,
    without_present_times,
)
from eikon_engine.dom.tree import HTML_WHITESPACE
from eikon_engine.network.exchange import SAFE_METHODS
from eikon_engine.trace.actions import Expect, Read, WaitFor
from eikon_engine.trace.bundle import load_page
from eikon_engine.trace.execution import ActionTrace

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.outcome.outcomes import ResponseChange
    from eikon_engine.replay.plan import Plan
    from eikon_engine.trace.observation import Observation

READING_ACTIONS: Final = (Expect, Read, WaitFor)
"""Actions that change no page."""
PAGE_AHEAD: Final = "page that was ahead of the recording"
"""Name under which steps report pages that already showed what the agent saw when it read them next."""
_LOADING_PAGE: Final = "page that was loading"
"""Name under which steps report pages that are not compared, since the agent did not wait for them."""


class LiveComparer:
    """Adapts the comparisons of one live replay, step by step; mutable."""

    def __init__(self, plan: Plan, now: Callable[[], datetime]) -> None:
        """Compare with the recording of a plan."""
        self._trace = plan.trace
        self._now = now
        self._zone = page_zone(plan.trace.environment)
        self._recorded: Counter[str] = Counter()
        """The requests of all steps, with how often they were recorded."""
        for subgoal in plan.subgoals:
            for each in subgoal.steps:
                if isinstance(each.step, ActionTrace) and each.step.baseline is not None:
                    self._recorded.update(each.step.baseline.requests)
        self._later = Counter({key: count for key, count in self._recorded.items() if _is_safe(key)})
        """Safe requests of the steps that were not replayed yet."""
        self._early: Counter[str] = Counter()
        """Those of them that were sent already."""
        self._reads_after = _reads_after(plan)
        self._counting_texts = cache(partial(_counting_texts, plan))

    def adapt(self, comparison: Comparison) -> tuple[Comparison, tuple[str, ...]]:
        """Remove from a comparison what is not compared live; return the names of that, too."""
        action = comparison.recorded
        recorded, observed = action.observation, comparison.observed
        if recorded is None or observed is None:
            return comparison, ()
        names: tuple[str, ...] = ()
        if recorded.loading_pages:
            comparison = replace(comparison, observed=_with_loading_pages_of(recorded, observed))
            names = (_LOADING_PAGE,)
        repeated = Counter(key for key in recorded.timer_requests if _is_safe(key) or self._recorded[key] > 1)
        known = Counter(key for key in observed.timer_requests if key in self._recorded)
        later = self._later - Counter(recorded.requests) - self._early
        comparison = replace(
            comparison,
            optional_requests=tuple((repeated + self._early).elements()),
            known_requests=tuple((known + later).elements()),
        )
        times = replace(
            self._times(action),
            page_shift=_page_time(observed) - _page_time(recorded),
            counting_texts=self._counting_texts,
        )
        comparison, has_times = without_present_times(comparison, times)
        return comparison, (*names, PRESENT_TIME) if has_times else names

    def adapt_response(self, change: ResponseChange, recorded: ActionTrace) -> ResponseChange:
        """Remove present times from what differs in a response to a step."""
        return response_without_present_times(change, self._times(recorded))

    def _times(self, recorded: ActionTrace) -> PresentTimes:
        begin = self._trace.started_at
        return PresentTimes(
            begin=begin,
            recorded=recorded.ended_at or recorded.started_at or begin,
            observed=self._now(),
            zone=self._zone,
        )

    def later_states(self, recorded: ActionTrace) -> tuple[ActionTrace, ...]:
        """Return the recorded steps after one that only read pages: what their pages had come to meanwhile."""
        return self._reads_after.get(recorded.id, ())

    def end_step(self, recorded: ActionTrace, observed: Observation | None) -> None:
        """Note what a step sent, and what it sent earlier than recorded."""
        if recorded.baseline is None:
            return
        due = Counter(recorded.baseline.requests)
        self._later -= due
        if observed is not None:
            sent = Counter(observed.requests)
            self._early += (sent - due) & (self._later - self._early)
            self._early -= due - sent


def _reads_after(plan: Plan) -> dict[str, tuple[ActionTrace, ...]]:
    """Return the steps between each step and the next one that acts, by its id."""
    steps = [each.step for subgoal in plan.subgoals for each in subgoal.steps if isinstance(each.step, ActionTrace)]
    found: dict[str, tuple[ActionTrace, ...]] = {}
    reads: tuple[ActionTrace, ...] = ()
    for step in reversed(steps):
        found[step.id] = reads
        is_read = isinstance(step.action, READING_ACTIONS) and step.baseline is not None
        reads = (step, *reads) if is_read else ()
    return found


def _page_time(seen: Observation) -> timedelta:
    """Return the time of the page at an observation."""
    return timedelta(milliseconds=seen.begun_ms + seen.virtual_ms)


def _counting_texts(plan: Plan) -> frozenset[str]:
    """Return the texts, with 0 for their number, that showed elapsed times and counted those of the page."""
    shown: dict[str, list[tuple[timedelta, timedelta, timedelta]]] = {}
    steps = (each.step for subgoal in plan.subgoals for each in subgoal.steps if isinstance(each.step, ActionTrace))
    for step in steps:
        seen = step.baseline
        if seen is None:
            continue
        for snapshot in (load_page(plan.bundle.dom, page) for page in seen.pages):
            nodes = (node for frame in snapshot.frames for node in frame.root.walk()) if snapshot is not None else ()
            for text in {node.text.strip(HTML_WHITESPACE) for node in nodes if node.text is not None}:
                if (found := find_elapsed(text)) is not None:
                    shown.setdefault(found[0], []).append((_page_time(seen), *found[1:]))
    return frozenset(text for text, times in shown.items() if _counts(times))


def _counts(times: list[tuple[timedelta, timedelta, timedelta]]) -> bool:
    """Return whether times of the page and what was shown then, with its unit, passed alike, and did pass."""
    (begin, first, unit), *later = times
    passed = [(time - begin, shown - first) for time, shown, _ in later]
    return any(shown for _, shown in passed) and all(
        abs(shown - time) <= unit + ELAPSED_TOLERANCE for time, shown in passed
    )


def _is_safe(key: str) -> bool:
    return key.partition(" ")[0] in SAFE_METHODS


def _with_loading_pages_of(recorded: Observation, observed: Observation) -> Observation:
    """Return an observation with the recorded content of each page that was loading, if it has the recorded URL."""
    known = {page.page: page for page in recorded.pages if page.page in recorded.loading_pages}
    pages = tuple(
        known[page.page] if page.page in known and known[page.page].url == page.url else page for page in observed.pages
    )
    return observed.model_copy(update={"pages": pages})
