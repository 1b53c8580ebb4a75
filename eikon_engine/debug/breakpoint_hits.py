"""Evaluate the breakpoints of a session before and after each step; pure."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, assert_never

from eikon_engine.debug.breakpoints import (
    SEARCH_TIMEOUT_S,
    AtDivergence,
    AtError,
    AtIteration,
    AtPattern,
    AtRequest,
    AtSelector,
    AtSubgoal,
    AtTool,
    SearchResult,
    search_texts,
)
from eikon_engine.network.keys import BODY_MARK
from eikon_engine.outcome.debug_events import BreakpointContext, BreakpointHit
from eikon_engine.outcome.events import ActionPerformed, DivergenceFound, ObservationMade, SkillRun
from eikon_engine.trace.execution import ActionTrace, Failed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydantic import JsonValue

    from eikon_engine.debug.breakpoints import Breakpoint, BreakpointTable, RequestPattern, StopCondition, TextPattern
    from eikon_engine.debug.selector_watch import SelectorChange
    from eikon_engine.outcome.events import Event
    from eikon_engine.replay.plan import PlannedStep
    from eikon_engine.trace.observation import Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A breakpoint that stops the session."""

    breakpoint: Breakpoint
    """With this hit counted."""
    cause: str | None = None
    """The error, divergence, request or change that caused the hit; None if the next step is the cause."""


def hits_before(table: BreakpointTable, step: PlannedStep, observation: Observation | None) -> tuple[Hit, ...]:
    """Return the breakpoints hit before a step; `seen` is the last observation."""
    coming = _UpcomingStep(step, observation)
    return _evaluate(table, lambda stop: _cause_before(stop, coming))


def hits_after(
    table: BreakpointTable,
    step: PlannedStep,
    events: Sequence[Event],
    changed: Mapping[str, SelectorChange] | None = None,
) -> tuple[Hit, ...]:
    """Return the breakpoints hit after a step, given its events, and before the next one.

    `changed` maps selectors to their changes, as returned by `selector_watch.find_changes`.
    """
    done = _FinishedStep(step, events, changed or {})
    return _evaluate(table, lambda stop: _cause_after(stop, done))


def hit_event(hit: Hit, next_step: PlannedStep | None, iteration: int, branch: str) -> BreakpointHit:
    """Return the event of a hit after `iteration` steps; `following` is None at the end of the mission."""
    coming = None if next_step is None else _UpcomingStep(next_step, None)
    return BreakpointHit(
        breakpoint=hit.breakpoint.event_reference,
        context=BreakpointContext(
            tool_name=coming.tool if coming else None,
            tool_input=coming.input if coming else None,
            iteration=iteration + 1,
            error=hit.cause,
        ),
        hit_count=hit.breakpoint.hit_count,
        branch=branch,
    )


class _UpcomingStep:
    """The next step, as breakpoints see it."""

    def __init__(self, planned: PlannedStep, seen: Observation | None) -> None:
        self.planned = planned
        self._step = planned.step
        self._seen = seen

    @property
    def tool(self) -> str:
        return self._step.action.type if isinstance(self._step, ActionTrace) else self._step.skill

    @cached_property
    def input(self) -> JsonValue:
        if isinstance(self._step, ActionTrace):
            return self._step.action.model_dump(mode="json")
        return dict(self._step.parameters)

    @cached_property
    def input_text(self) -> str:
        return json.dumps(self.input, ensure_ascii=False)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Return the texts that patterns search: input, page URLs and recorded requests."""
        return (self.input_text, *self._urls(), *map(_without_digest, self.requests))

    @cached_property
    def requests(self) -> tuple[str, ...]:
        """Return the keys of the requests made during recording."""
        return _requests(self._step.observation if isinstance(self._step, ActionTrace) else None)

    @property
    def begins_subgoal(self) -> bool:
        subgoal = self.planned.subgoal
        return self._step.sequence == subgoal.steps[0].sequence

    def _urls(self) -> tuple[str, ...]:
        if self._seen is None or not isinstance(self._step, ActionTrace):
            return ()
        return tuple(page.url for page in self._seen.pages if page.page == self._step.action.page)


class _FinishedStep:
    """A finished step, as breakpoints see it."""

    def __init__(self, planned: PlannedStep, events: Sequence[Event], changed: Mapping[str, SelectorChange]) -> None:
        self.changed = changed
        self.divergences = [each.divergence for each in events if isinstance(each, DivergenceFound)]
        self._planned = planned
        self._events = events

    @property
    def failure(self) -> str | None:
        """Return how the step failed; None if it did not."""
        for each in self._events:
            if isinstance(each, ActionPerformed | SkillRun) and isinstance(each.outcome.result, Failed):
                return f"{each.outcome.result.code}: {each.outcome.result.message}"
        return None

    @cached_property
    def new_requests(self) -> tuple[str, ...]:
        """Return the keys of requests that are not in the step's recording."""
        step = self._planned.step
        recorded = set(_requests(step.observation if isinstance(step, ActionTrace) else None))
        observed = [each.observation for each in self._events if isinstance(each, ObservationMade)]
        return tuple(key for each in observed for key in _requests(each) if key not in recorded)


def _evaluate(table: BreakpointTable, cause_of: Callable[[StopCondition], str | None]) -> tuple[Hit, ...]:
    causes = ((each, cause_of(each.condition)) for each in table.enabled)
    return tuple(
        Hit(breakpoint=replace(each, hit_count=each.hit_count + 1), cause=cause or None)
        for each, cause in causes
        if cause is not None
    )


def _cause_before(stop_condition: StopCondition, upcoming: _UpcomingStep) -> str | None:  # noqa: PLR0911 - one case a kind
    """Return why to stop before a step: empty if the step itself is the cause, None to continue."""
    match stop_condition:
        case AtTool(name=name) if name != upcoming.tool:
            return None
        case AtTool(condition=condition):
            return "" if condition is None else _search(condition, (upcoming.input_text,), "")
        case AtIteration(number=number):
            return "" if number == upcoming.planned.position else None
        case AtPattern(pattern=pattern):
            return _search(pattern, upcoming.texts, "")
        case AtSubgoal(id=name):
            named = name in {upcoming.planned.subgoal.subgoal_id, upcoming.planned.subgoal.id}
            return "" if named and upcoming.begins_subgoal else None
        case AtRequest(pattern=request):
            return _search(request, upcoming.requests, "recorded request")
        case AtError() | AtDivergence() | AtSelector():
            return None
        case _:
            assert_never(stop_condition)


def _cause_after(condition: StopCondition, finished: _FinishedStep) -> str | None:
    match condition:
        case AtError():
            return finished.failure
        case AtDivergence():
            return "; ".join(f"{each.code}: {each.message}" for each in finished.divergences) or None
        case AtRequest(pattern=request):
            return _search(request, finished.new_requests, "request not in the recording of the step")
        case AtSelector(selector=selector):
            changed = finished.changed.get(selector)
            return None if changed is None else str(changed)
        case AtTool() | AtIteration() | AtPattern() | AtSubgoal():
            return None
        case _:
            assert_never(condition)


def _search(pattern: TextPattern | RequestPattern, texts: Sequence[str], description: str) -> str | None:
    found, text = search_texts(pattern, texts)
    match found:
        case SearchResult.NO:
            return None
        case SearchResult.YES:
            return f"{description}: {_without_digest(text)}" if description else ""
        case SearchResult.UNDECIDED:
            return f"{pattern.source!r} was not decided within {SEARCH_TIMEOUT_S * 1000:.0f} ms; simplify the pattern"


def _requests(seen: Observation | None) -> tuple[str, ...]:
    return () if seen is None else seen.requests


def _without_digest(key: str) -> str:
    return key.partition(BODY_MARK)[0]
