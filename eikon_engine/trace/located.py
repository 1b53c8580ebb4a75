"""Find steps and attempts of a trace by id, and replace them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from eikon_engine.errors import TraceFieldError
from eikon_engine.trace.execution import ActionTrace, SkillUsage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eikon_engine.trace.execution import ExecutionTrace, SubgoalTrace

Step: TypeAlias = ActionTrace | SkillUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLocation:
    """An attempt, or a step and its attempt."""

    attempt: SubgoalTrace
    step: Step | None
    """None for the attempt itself."""


def locate_step(trace: ExecutionTrace, name: str) -> StepLocation:
    """Find the step or attempt with an id.

    Raises:
        TraceFieldError: the id is missing or not unique.
    """
    found = [each for each in _locations(trace) if (each.step or each.attempt).id == name]
    if len(found) != 1:
        message = (
            f"patch: expected one step or attempt with the id {name!r} in the trace, got {len(found)}; "
            "`eikon trace show` lists them"
        )
        raise TraceFieldError(message)
    return found[0]


def locate_attempt(trace: ExecutionTrace, name: str) -> SubgoalTrace:
    """Find the attempt with an id.

    Raises:
        TraceFieldError: there is none.
    """
    found = next((each for each in trace.subgoal_traces if each.id == name), None)
    if found is None:
        known = ", ".join(each.id for each in trace.subgoal_traces) or "none"
        message = f"patch: expected the id of an attempt of the trace, got {name!r}; its attempts are {known}"
        raise TraceFieldError(message)
    return found


def iter_steps(trace: ExecutionTrace) -> Iterator[tuple[SubgoalTrace, Step]]:
    """Yield all steps in order, each with its attempt."""
    for attempt in trace.subgoal_traces:
        for step in attempt.steps:
            yield attempt, step


def map_actions(trace: ExecutionTrace, change: Callable[[ActionTrace], ActionTrace]) -> ExecutionTrace:
    """Return a trace with `change` applied to each action."""
    attempts = tuple(
        attempt.model_copy(update={"actions_taken": tuple(map(change, attempt.actions_taken))})
        for attempt in trace.subgoal_traces
    )
    return trace.model_copy(update={"subgoal_traces": attempts})


def map_steps(trace: ExecutionTrace, change: Callable[[Step], Step]) -> ExecutionTrace:
    """Return a trace with `change` applied to each action and skill."""

    def changed(attempt: SubgoalTrace) -> SubgoalTrace:
        update = {
            "actions_taken": tuple(change(each) for each in attempt.actions_taken),
            "skills_used": tuple(change(each) for each in attempt.skills_used),
        }
        return attempt.model_copy(update=update)

    return map_attempts(trace, lambda attempt: (changed(attempt),))


def map_attempts(trace: ExecutionTrace, change: Callable[[SubgoalTrace], tuple[SubgoalTrace, ...]]) -> ExecutionTrace:
    """Return a trace with each attempt replaced by the result of `change`."""
    attempts = tuple(new for attempt in trace.subgoal_traces for new in change(attempt))
    return trace.model_copy(update={"subgoal_traces": attempts})


def replace_step(trace: ExecutionTrace, old: Step | SubgoalTrace, new: Step | SubgoalTrace) -> ExecutionTrace:
    """Return a trace with one step or attempt replaced."""

    def change(attempt: SubgoalTrace) -> tuple[SubgoalTrace, ...]:
        if attempt is old:
            assert not isinstance(new, Step)  # noqa: S101 - an attempt is replaced by an attempt
            return (new,)
        update = {
            "actions_taken": tuple(new if each is old else each for each in attempt.actions_taken),
            "skills_used": tuple(new if each is old else each for each in attempt.skills_used),
        }
        return (attempt.model_copy(update=update),)

    return map_attempts(trace, change)


def _locations(trace: ExecutionTrace) -> Iterator[StepLocation]:
    for attempt in trace.subgoal_traces:
        yield StepLocation(attempt=attempt, step=None)
        for step in attempt.steps:
            yield StepLocation(attempt=attempt, step=step)
