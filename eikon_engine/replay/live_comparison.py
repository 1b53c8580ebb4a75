"""Compare live steps: what an unchanged site varies, and what its pages have loaded earlier than in the recording."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.present_times import PRESENT_TIME, PresentTimes, without_present_times
from eikon_engine.network.exchange import SAFE_METHODS
from eikon_engine.trace.execution import ActionTrace

if TYPE_CHECKING:
    from datetime import datetime

    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.replay.plan import Plan, PlannedStep
    from eikon_engine.trace.observation import Observation

LOADING_PAGE: Final = "page that was loading"
"""Name under which steps report pages that are not compared, since the agent did not wait for them."""


class LiveComparer:
    """Adapts the comparisons of one live replay; mutable."""

    def __init__(self, plan: Plan, now: datetime) -> None:
        """Compare with the recording of a plan."""
        self._plan = plan
        self._times = PresentTimes(recorded=plan.trace.started_at, observed=now)
        self._early: Counter[str] = Counter()
        """Safe requests that were sent in an earlier action than recorded."""

    def adapt(self, planned: PlannedStep, comparison: Comparison) -> tuple[Comparison, tuple[str, ...]]:
        """Remove from a comparison what is not compared live; return the names of that, too."""
        recorded, observed = comparison.recorded.observation, comparison.observed
        if recorded is None or observed is None:
            return comparison, ()
        names: tuple[str, ...] = ()
        if recorded.is_loading:
            comparison = replace(comparison, observed=_with_pages_of(recorded, observed))
            names = (LOADING_PAGE,)
        later = self._recorded_later(planned) - self._early
        comparison = replace(
            comparison, sent_before=tuple(self._early.elements()), recorded_later=tuple(later.elements())
        )
        comparison, has_times = without_present_times(comparison, self._times)
        return comparison, (*names, PRESENT_TIME) if has_times else names

    def end_step(self, planned: PlannedStep, recorded: ActionTrace, observed: Observation | None) -> None:
        """Note what a step sent earlier than recorded."""
        if recorded.baseline is None or observed is None:
            return
        due, sent = Counter(recorded.baseline.requests), Counter(observed.requests)
        self._early += (sent - due) & (self._recorded_later(planned) - self._early)
        self._early -= due - sent

    def _recorded_later(self, planned: PlannedStep) -> Counter[str]:
        """Return the safe requests of the recorded steps after one."""
        steps = (step for subgoal in self._plan.subgoals for step in subgoal.steps)
        later = (each.step for each in steps if each.position > planned.position)
        keys = (
            key
            for step in later
            if isinstance(step, ActionTrace) and step.baseline is not None
            for key in step.baseline.requests
        )
        return Counter(key for key in keys if key.partition(" ")[0] in SAFE_METHODS)


def _with_pages_of(recorded: Observation, observed: Observation) -> Observation:
    """Return an observation with the recorded content of each page at the recorded URL."""
    known = {page.page: page for page in recorded.pages}
    pages = tuple(
        known[page.page] if page.page in known and known[page.page].url == page.url else page for page in observed.pages
    )
    errors = {"console_errors": recorded.console_errors, "page_errors": recorded.page_errors}
    return observed.model_copy(update={"pages": pages, **errors})
