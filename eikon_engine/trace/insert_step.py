"""Insert an action into a mission."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.errors import TraceFieldError
from eikon_engine.trace.execution import ActionTrace, RecordedTiming, SubgoalTrace, Succeeded
from eikon_engine.trace.located import iter_steps, locate_step, map_attempts
from eikon_engine.trace.outdated import (
    count_actions_before,
    invalidate_from,
    is_read_only,
    pin_timing_from,
    without_identities,
)

if TYPE_CHECKING:
    from eikon_engine.trace.edits import InsertStep
    from eikon_engine.trace.execution import ExecutionTrace
    from eikon_engine.trace.located import Step


def insert_step(trace: ExecutionTrace, edit: InsertStep) -> ExecutionTrace:
    """Return a trace with an inserted action, without the recorded data of later steps that depend on it.

    In the recorded network the new action has no time of its own: it precedes what was recorded at its position.

    Raises:
        TraceFieldError: the step does not exist, the id is taken, or the action contains element identities.
    """
    beside = _reference_step(trace, edit)
    _require_new_id(trace, edit)
    after = _next_step(trace, beside, edit)
    new = ActionTrace(
        id=edit.id,
        sequence=beside.sequence + (edit.place == "after"),
        action=edit.action,
        result=Succeeded(),
        timing=RecordedTiming(actions_before=count_actions_before(trace, after)),
    )
    if after is not None:
        trace = pin_timing_from(trace, after) if is_read_only(new) else invalidate_from(trace, after)
    attempt = locate_step(trace, edit.step).attempt
    return map_attempts(trace, lambda each: (_insert_into(each, new),) if each is attempt else (each,))


def _reference_step(trace: ExecutionTrace, edit: InsertStep) -> Step:
    located = locate_step(trace, edit.step)
    if located.step is None:
        message = f"patch: expected a step to insert {edit.id} next to, got the attempt {edit.step}; use a step id"
        raise TraceFieldError(message)
    return located.step


def _next_step(trace: ExecutionTrace, beside: Step, edit: InsertStep) -> Step | None:
    """Return the step after the inserted one; None if it is the last."""
    if edit.place == "before":
        return beside
    steps = [step for _, step in iter_steps(trace)]
    place = next(number for number, step in enumerate(steps) if step is beside)
    return steps[place + 1] if place + 1 < len(steps) else None


def _require_new_id(trace: ExecutionTrace, edit: InsertStep) -> None:
    names = {attempt.id for attempt in trace.subgoal_traces} | {step.id for _, step in iter_steps(trace)}
    if edit.id in names:
        message = f"patch: expected a new id for the inserted action, got {edit.id!r}, which is taken; choose another"
        raise TraceFieldError(message)
    if without_identities(edit.action) != edit.action:
        message = (
            f"patch: expected null for the identities of the inserted action {edit.id}, got one; "
            "only a run can determine the element"
        )
        raise TraceFieldError(message)


def _insert_into(attempt: SubgoalTrace, new: ActionTrace) -> SubgoalTrace:
    """Insert an action into an attempt and renumber what follows."""
    groups = {name: getattr(attempt, name) for name in ("actions_taken", "skills_used", "tools_used", "completions")}
    update = {
        name: tuple(
            each.model_copy(update={"sequence": each.sequence + 1}) if each.sequence >= new.sequence else each
            for each in group
        )
        for name, group in groups.items()
    }
    actions = sorted((*update["actions_taken"], new), key=lambda each: each.sequence)
    return attempt.model_copy(update={**update, "actions_taken": tuple(actions)})
