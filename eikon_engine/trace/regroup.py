"""Delete steps; split and merge attempts."""

from __future__ import annotations

from datetime import datetime
from itertools import count
from typing import TYPE_CHECKING, Final, TypeAlias

from eikon_engine.errors import TraceFieldError
from eikon_engine.trace.execution import ActionTrace, CompletionUsage, SkillUsage, SubgoalTrace, ToolUsage
from eikon_engine.trace.located import iter_steps, locate_attempt, locate_step, map_attempts
from eikon_engine.trace.outdated import invalidate_after, is_read_only, pin_timing_after

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.trace.edits import DeleteStep, MergeAttempts, SplitAttempt
    from eikon_engine.trace.execution import ExecutionTrace
    from eikon_engine.trace.located import Step

SequencedStep: TypeAlias = ActionTrace | SkillUsage | ToolUsage | CompletionUsage
SEQUENCED_FIELDS: Final = ("actions_taken", "skills_used", "tools_used", "completions")
"""The fields of an attempt that share one sequence."""


def delete_step(trace: ExecutionTrace, edit: DeleteStep) -> ExecutionTrace:
    """Return a trace without a step or attempt, and without the recorded data of later steps that depend on it.

    Raises:
        TraceFieldError: there is no such step or attempt.
    """
    located = locate_step(trace, edit.step)
    gone = located.attempt.steps if located.step is None else (located.step,)
    names = {(located.attempt.id, each.sequence) for each in gone}
    first = next((each for each in gone if not is_read_only(each)), None)
    if first is not None:
        trace = invalidate_after(trace, first)
    elif gone:
        trace = pin_timing_after(trace, gone[0])

    def change(attempt: SubgoalTrace) -> tuple[SubgoalTrace, ...]:
        if attempt.id != located.attempt.id:
            return (attempt,)
        kept = _filter_steps(attempt, lambda step: (attempt.id, step.sequence) not in names)
        return (kept,) if kept.steps else ()

    return map_attempts(trace, change)


def split_attempt(trace: ExecutionTrace, edit: SplitAttempt) -> ExecutionTrace:
    """Return a trace in which the later steps of an attempt become an attempt of their own.

    Raises:
        TraceFieldError: there is no such attempt, or no step of it precedes the split.
    """
    attempt = locate_attempt(trace, edit.attempt)
    number = next((number for number, step in enumerate(attempt.steps) if step.id == edit.before), None)
    if not number:
        inner = [step.id for step in attempt.steps[1:]]
        known = f"use one of {', '.join(inner)}" if inner else "it has fewer than two steps"
        found = "its first step" if number == 0 else repr(edit.before)
        message = f"patch: expected a step of {attempt.id} after its first one, got {found}; {known}"
        raise TraceFieldError(message)
    last, border = attempt.steps[number - 1], attempt.steps[number]
    former = _filter_steps(attempt, lambda step: step.sequence < border.sequence)
    first = former.model_copy(update={"status": "complete", "error": None, "ended_at": _step_time(last, "ended_at")})
    name = edit.subgoal_id or _unused_subgoal_id(trace, attempt.subgoal_id)
    tries = [each.attempt_number for each in trace.subgoal_traces if each.subgoal_id == name]
    later = _filter_steps(attempt, lambda step: step.sequence >= border.sequence)
    second = _shift_sequences(later, -_last_sequence(former)).model_copy(
        update={
            "id": _unused_attempt_id(trace, name),
            "subgoal_id": name,
            "description": edit.description,
            "attempt_number": max(tries, default=0) + 1,
            "started_at": _step_time(border, "started_at"),
        }
    )
    return map_attempts(trace, lambda each: (first, second) if each is attempt else (each,))


def merge_attempts(trace: ExecutionTrace, edit: MergeAttempts) -> ExecutionTrace:
    """Return a trace in which two adjacent attempts are merged.

    Raises:
        TraceFieldError: there are no such attempts, or the second does not directly follow the first.
    """
    first, second = locate_attempt(trace, edit.first), locate_attempt(trace, edit.second)
    order = [each.id for each in trace.subgoal_traces]
    if order.index(second.id) != order.index(first.id) + 1:
        message = f"patch: expected two adjacent attempts in order, got {first.id} and {second.id}"
        raise TraceFieldError(message)
    shifted = _shift_sequences(second, _last_sequence(first))
    merged = first.model_copy(
        update={
            "description": first.description if edit.description is None else edit.description,
            "ended_at": second.ended_at,
            "status": second.status,
            "error": second.error,
            **{name: (*getattr(first, name), *getattr(shifted, name)) for name in SEQUENCED_FIELDS},
        }
    )
    done = map_attempts(trace, lambda each: (merged,) if each is first else () if each is second else (each,))
    if any(each.subgoal_id == second.subgoal_id for each in done.subgoal_traces):
        return done
    failures = tuple(
        each.model_copy(update={"subgoal_id": first.subgoal_id}) if each.subgoal_id == second.subgoal_id else each
        for each in done.failures
    )
    return done.model_copy(update={"failures": failures})


def _filter_steps(attempt: SubgoalTrace, keeps: Callable[[SequencedStep], bool]) -> SubgoalTrace:
    return attempt.model_copy(
        update={name: tuple(each for each in getattr(attempt, name) if keeps(each)) for name in SEQUENCED_FIELDS}
    )


def _shift_sequences(attempt: SubgoalTrace, by: int) -> SubgoalTrace:
    """Renumber everything in an attempt; ids stay, since patches refer to them."""
    return attempt.model_copy(
        update={
            name: tuple(each.model_copy(update={"sequence": each.sequence + by}) for each in getattr(attempt, name))
            for name in SEQUENCED_FIELDS
        }
    )


def _last_sequence(attempt: SubgoalTrace) -> int:
    return max((each.sequence for name in SEQUENCED_FIELDS for each in getattr(attempt, name)), default=0)


def _step_time(step: Step, name: str) -> datetime | None:
    """Return when a step started or ended; None for skills, whose times are not recorded."""
    time = getattr(step, name, None) if isinstance(step, ActionTrace) else None
    return time if isinstance(time, datetime) else None


def _unused_subgoal_id(trace: ExecutionTrace, name: str) -> str:
    used = {each.subgoal_id for each in trace.subgoal_traces}
    return next(free for number in count(2) if (free := f"{name}_{number}") not in used)


def _unused_attempt_id(trace: ExecutionTrace, subgoal_id: str) -> str:
    used = {each.id for each in trace.subgoal_traces} | {step.id for _, step in iter_steps(trace)}
    return next(free for number in count(1) if (free := f"{subgoal_id}__attempt_{number}") not in used)
