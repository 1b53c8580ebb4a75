"""Insert an action into a mission."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.errors import TraceFieldError
from eikon_engine.trace.execution import ActionTrace, SubgoalTrace, Succeeded, Timing
from eikon_engine.trace.located import locate, positions, with_attempts
from eikon_engine.trace.outdated import actions_before, forget_from, only_looks, time_from, without_identities

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
    beside = _beside(trace, edit)
    _demand_new(trace, edit)
    after = _after(trace, beside, edit)
    new = ActionTrace(
        id=edit.id,
        sequence=beside.sequence + (edit.place == "after"),
        action=edit.action,
        result=Succeeded(),
        timing=Timing(actions_before=actions_before(trace, after)),
    )
    if after is not None:
        trace = time_from(trace, after) if only_looks(new) else forget_from(trace, after)
    attempt = locate(trace, edit.step).attempt
    return with_attempts(trace, lambda each: (_with(each, new),) if each is attempt else (each,))


def _beside(trace: ExecutionTrace, edit: InsertStep) -> Step:
    located = locate(trace, edit.step)
    if located.step is None:
        message = f"patch: expected a step to insert {edit.id} next to, got the attempt {edit.step}; use a step id"
        raise TraceFieldError(message)
    return located.step


def _after(trace: ExecutionTrace, beside: Step, edit: InsertStep) -> Step | None:
    """Return the step after the inserted one; None if it is the last."""
    if edit.place == "before":
        return beside
    steps = [step for _, step in positions(trace)]
    place = next(number for number, step in enumerate(steps) if step is beside)
    return steps[place + 1] if place + 1 < len(steps) else None


def _demand_new(trace: ExecutionTrace, edit: InsertStep) -> None:
    names = {attempt.id for attempt in trace.subgoal_traces} | {step.id for _, step in positions(trace)}
    if edit.id in names:
        message = f"patch: expected a new id for the inserted action, got {edit.id!r}, which is taken; choose another"
        raise TraceFieldError(message)
    if without_identities(edit.action) != edit.action:
        message = (
            f"patch: expected null for the identities of the inserted action {edit.id}, got one; "
            "only a run can determine the element"
        )
        raise TraceFieldError(message)


def _with(attempt: SubgoalTrace, new: ActionTrace) -> SubgoalTrace:
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
