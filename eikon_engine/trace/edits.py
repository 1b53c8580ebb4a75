"""Edits of a trace: change fields and variables, insert and delete steps, split and merge attempts."""

from __future__ import annotations

import json
import re
from datetime import datetime
from itertools import count
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, Field, ValidationError

from eikon_engine.errors import TraceFieldError
from eikon_engine.files.models import FileModel, FiniteJson, validation_error
from eikon_engine.files.text import read_digits
from eikon_engine.trace.actions import Action, Drag, RequestCondition, ResponseCondition, TrafficCondition, WaitFor
from eikon_engine.trace.execution import (
    ActionTrace,
    CompletionUsage,
    ExecutionTrace,
    RecordedTiming,
    SkillUsage,
    SubgoalTrace,
    Succeeded,
    ToolUsage,
    VariableName,
)
from eikon_engine.trace.steps import (
    count_actions_before,
    invalidate_after,
    invalidate_from,
    invalidate_step,
    is_read_only,
    iter_steps,
    locate_attempt,
    locate_step,
    map_actions,
    map_attempts,
    pin_timing_after,
    pin_timing_at_end,
    pin_timing_from,
    replace_step,
    without_identities,
)
from eikon_engine.trace.variables import action_variables, referenced_names, resolve_action, variable_reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pydantic import JsonValue

    from eikon_engine.trace.steps import Step


class SetFields(FileModel):
    """Change fields of one step, of one attempt, or of the trace."""

    kind: Literal["set_fields"] = "set_fields"
    step: str = ""
    """Id of an action, skill or attempt; empty for the trace itself."""
    fields: dict[str, FiniteJson]
    """New values by field path, such as `action.target.selector` or `action.options[0]`."""
    same_element: bool = False
    """Whether a new selector finds the recorded element; a replay verifies it."""
    reason: str = Field(min_length=1)


class DeleteStep(FileModel):
    """Delete one action, one skill or a whole attempt; deleting its last step deletes the attempt."""

    kind: Literal["delete_step"] = "delete_step"
    step: str
    """Id of an action, skill or attempt."""
    reason: str = Field(min_length=1)


class InsertStep(FileModel):
    """Insert an action before or after a step, in the attempt of that step."""

    kind: Literal["insert_step"] = "insert_step"
    step: str
    """Id of the action or skill next to which it is inserted."""
    place: Literal["before", "after"] = "before"
    id: str = Field(min_length=1)
    """Id of the new action."""
    action: Action
    """Without element identities, which only a run can determine."""
    reason: str = Field(min_length=1)


class SplitAttempt(FileModel):
    """Split an attempt in two: its later steps become a subgoal of their own."""

    kind: Literal["split_attempt"] = "split_attempt"
    attempt: str
    """Id of the attempt."""
    before: str
    """Id of the first step of the new attempt."""
    description: str
    subgoal_id: str | None = None
    """Id of the new subgoal; None derives it from the old one."""
    reason: str = Field(min_length=1)


class MergeAttempts(FileModel):
    """Merge two adjacent attempts; the result has the id of the first and the status of the second."""

    kind: Literal["merge_attempts"] = "merge_attempts"
    first: str
    """Id of the earlier attempt."""
    second: str
    """Id of the one after it."""
    description: str | None = None
    """None keeps the description of the first."""
    reason: str = Field(min_length=1)


class SetVariable(FileModel):
    """Declare a variable, or change its recorded value."""

    kind: Literal["set_variable"] = "set_variable"
    name: VariableName
    value: str | None = None
    """None if every replay must provide a value."""
    reason: str = Field(min_length=1)


Edit: TypeAlias = SetFields | DeleteStep | InsertStep | SplitAttempt | MergeAttempts | SetVariable


def describe_edit(edit: Edit) -> str:
    """Describe an edit in a few words."""
    match edit:
        case SetFields(step=step, fields=fields):
            return f"set {', '.join(fields)} of {step or 'the trace'}"
        case DeleteStep(step=step):
            return f"delete {step}"
        case InsertStep(step=step, place=place, id=name, action=action):
            return f"insert {name} ({action.type.replace('_', ' ')}) {place} {step}"
        case SplitAttempt(attempt=attempt, before=before):
            return f"split {attempt} before {before}"
        case MergeAttempts(first=first, second=second):
            return f"merge {second} into {first}"
        case SetVariable(name=name, value=value):
            return f"set variable {{{{{name}}}}} to {'a value given at replay' if value is None else repr(value)}"


EditedModel = TypeVar("EditedModel", bound=BaseModel)

EDITABLE_FIELDS: Final[dict[type[BaseModel], tuple[str, ...]]] = {
    ActionTrace: ("action", "result"),
    SkillUsage: ("skill", "version", "parameters", "result"),
    SubgoalTrace: ("description", "status", "error"),
    ExecutionTrace: ("mission_text", "mission_id", "status"),
}
"""Fields that define the mission. All others are recorded by runs and cannot be edited."""

_PATH_PART: Final = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")


def set_fields(trace: ExecutionTrace, edit: SetFields) -> ExecutionTrace:
    """Return a trace with changed fields, without the recorded data that the change invalidates.

    Raises:
        TraceFieldError: the step or field does not exist, or the value does not fit it.
    """
    if not edit.step:
        return _edit_model(trace, edit, "the trace")
    located = locate_step(trace, edit.step)
    match located.step:
        case None:
            return replace_step(trace, located.attempt, _edit_model(located.attempt, edit, edit.step))
        case SkillUsage() as usage:
            return replace_step(trace, usage, _edit_skill(usage, edit))
        case action:
            return _replace_action(trace, action, edit)


def set_variable(trace: ExecutionTrace, edit: SetVariable) -> ExecutionTrace:
    """Return a trace with a variable declared or changed, without the recorded data that the change invalidates.

    Raises:
        TraceFieldError: the variable is new, and an action already contains its reference as plain text.
    """
    mark = variable_reference(edit.name)
    actions = [step for _, step in iter_steps(trace) if isinstance(step, ActionTrace)]
    if edit.name not in trace.variables:
        literal = next((step for step in actions if mark in step.action.model_dump_json()), None)
        if literal is not None:
            message = (
                f"patch: expected a new variable {edit.name}, got {mark} as plain text in {literal.id}, where it would "
                "be replaced; choose another name"
            )
            raise TraceFieldError(message)
    before = trace.variables
    values = {**before, edit.name: edit.value}
    changed = trace.model_copy(update={"variables": values})
    if edit.value is None:
        return changed  # data recorded for the old value is dropped once a new value is given
    for step in actions:
        if _resolve(step, before) != _resolve(step, values):
            changed = _invalidate(changed, step, step)
            if not is_read_only(step):
                break  # all later steps depend on it
    return changed


def _resolve(step: ActionTrace, values: dict[str, str | None]) -> Action:
    return resolve_action(step.action, values)


def _replace_action(trace: ExecutionTrace, action: ActionTrace, edit: SetFields) -> ExecutionTrace:
    new = _edit_model(action, edit, edit.step)
    _require_variable_fields(trace, new)
    before, after = _action_effect(trace, action, edit), _action_effect(trace, new, edit)
    if edit.same_element and before != after:
        message = (
            f"patch: --same-element of {edit.step}: expected a different selector for the same element, got other "
            "changes as well; make them separately"
        )
        raise TraceFieldError(message)
    if before == after and action.result == new.result:
        return replace_step(trace, action, new)
    if _target_fields(action.action) != _target_fields(new.action):
        new = new.model_copy(update={"action": without_identities(new.action)})
    else:
        _require_recorded_identity(action, new)
    return _invalidate(replace_step(trace, action, new), action, new)


def _invalidate(trace: ExecutionTrace, before: ActionTrace, after: ActionTrace) -> ExecutionTrace:
    """Drop what was recorded of a changed action, and of all later steps if they depend on it."""
    if is_read_only(before) and is_read_only(after):
        return invalidate_step(trace, after)
    return invalidate_after(trace, after)


def _action_effect(trace: ExecutionTrace, step: ActionTrace, edit: SetFields) -> dict[str, JsonValue]:
    """Return the effect of an action, with variables resolved; timeouts are not part of it."""
    plain: dict[str, JsonValue] = json.loads(resolve_action(step.action, trace.variables).model_dump_json())
    plain.pop("timeout_ms")
    for target in (plain.get(name) for name in ("target", "to")):
        if isinstance(target, dict):
            for name in ("alternatives", *(("selector", "frames") if edit.same_element else ())):
                target.pop(name)
    return plain


def _target_fields(action: Action) -> list[JsonValue]:
    """Return everything that determines which elements an action hits, and its page."""
    plain: JsonValue = json.loads(without_identities(action).model_dump_json())
    assert isinstance(plain, dict)  # noqa: S101 - a model is a JSON object
    parts = [plain.get(name) for name in ("target", "to", "condition", "expectation", "page", "position")]
    return [*parts, plain.get("to_position")]


def _identities(action: Action) -> tuple[object, ...]:
    first = getattr(getattr(action, "target", None), "identity", None)
    return first, action.to.identity if isinstance(action, Drag) else None


def _require_recorded_identity(before: ActionTrace, after: ActionTrace) -> None:
    for old, new in zip(_identities(before.action), _identities(after.action), strict=True):
        if new is not None and new != old:
            message = (
                f"patch: expected null for an identity of {after.id}, got one that is not recorded; "
                "only a run can determine the element"
            )
            raise TraceFieldError(message)


def _require_variable_fields(trace: ExecutionTrace, step: ActionTrace) -> None:
    """Reject variables in fields where they would be taken as plain text."""
    lost = (referenced_names(step.action.model_dump_json()) & trace.variables.keys()) - action_variables(step.action)
    if lost:
        message = (
            f"patch: expected variables in the URL, text, options or expectation of {step.id}, "
            f"got {variable_reference(min(lost))} in another field, where variables are not resolved"
        )
        raise TraceFieldError(message)


def _edit_skill(usage: SkillUsage, edit: SetFields) -> SkillUsage:
    """Change the parameters of a skill and drop its output, which belongs to the old ones."""
    new = _edit_model(usage, edit, edit.step)
    return new if new == usage else new.model_copy(update={"output": None, "output_recorded": False})


def _edit_model(model: EditedModel, edit: SetFields, name: str) -> EditedModel:
    plain: JsonValue = json.loads(model.model_dump_json())
    for path, value in edit.fields.items():
        _set_value(plain, _parse_path(model, path, name), (name, path), value)
    try:
        text = json.dumps(plain, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        message = (
            f"{name}: expected valid Unicode text in {', '.join(edit.fields)}, got a lone surrogate; change the text"
        )
        raise TraceFieldError(message) from error
    try:
        return type(model).model_validate_json(text)
    except ValidationError as error:
        raise validation_error(error, text, name) from error


def _parse_path(model: BaseModel, path: str, name: str) -> list[str | int]:
    parts: list[str | int] = []
    end = 0
    for found in _PATH_PART.finditer(path):
        if found.start() != end:
            break
        end = found.end()
        parts.append(found[1] if found[1] is not None else read_digits(found[2]))
    known = EDITABLE_FIELDS[type(model)]
    if end != len(path) or not parts or parts[0] not in known:
        message = f"{name}: expected a field in {', '.join(known)}, such as {_example_field(model)}, got {path!r}"
        raise TraceFieldError(message)
    return parts


def _example_field(model: BaseModel) -> str:
    return {ActionTrace: "action.target.selector", SkillUsage: "parameters.selector"}.get(
        type(model), EDITABLE_FIELDS[type(model)][0]
    )


def _set_value(value: JsonValue, parts: list[str | int], where: tuple[str, str], new: JsonValue) -> None:
    """Set the value at a path; its parent must exist."""
    *parents, last = parts
    for part in parents:
        value = _child_value(value, part, where)
    if isinstance(value, dict) and isinstance(last, str):
        value[last] = new
    elif isinstance(value, list) and isinstance(last, int) and last <= len(value):
        value[last : last + 1] = [new]
    else:
        raise _path_error(last, where)


def _child_value(value: JsonValue, part: str | int, where: tuple[str, str]) -> JsonValue:
    if isinstance(value, dict) and isinstance(part, str) and part in value:
        return value[part]
    if isinstance(value, list) and isinstance(part, int) and part < len(value):
        return value[part]
    raise _path_error(part, where)


def _path_error(part: str | int, where: tuple[str, str]) -> TraceFieldError:
    name, path = where
    return TraceFieldError(f"{name}: expected a field at {path}, got nothing at {part}; set its parent as a whole")


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
    trace = map_attempts(trace, lambda each: (_insert_into(each, new),) if each is attempt else (each,))
    return _with_changed_waits(trace, {new.id: 1}, trace)


def _with_changed_waits(trace: ExecutionTrace, changes: Mapping[str, int], numbered: ExecutionTrace) -> ExecutionTrace:
    """Return a trace whose waits for requests and responses look back at the same steps as before.

    `changes` says by 1 that a step of the trace `numbered` was inserted, and by -1 that it is deleted.
    """
    places = {step.id: place for place, (_, step) in enumerate(_actions_of(numbered))}
    changed = {places[name]: change for name, change in changes.items() if name in places}

    def change(step: ActionTrace) -> ActionTrace:
        condition = step.action.condition if isinstance(step.action, WaitFor) else None
        if not isinstance(condition, RequestCondition | ResponseCondition | TrafficCondition) or step.id not in places:
            return step
        steps, place, left = 0, places[step.id] - 1, condition.steps
        while left > 0 and place >= 0:
            steps += changed.get(place) != -1
            left -= changed.get(place) != 1
            place -= 1
        action = step.action.model_copy(update={"condition": condition.model_copy(update={"steps": steps})})
        return step if steps == condition.steps else step.model_copy(update={"action": action})

    return map_actions(trace, change)


def _actions_of(trace: ExecutionTrace) -> Iterator[tuple[SubgoalTrace, ActionTrace]]:
    return ((attempt, step) for attempt, step in iter_steps(trace) if isinstance(step, ActionTrace))


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
    numbered, changes = trace, {each.id: -1 for each in gone}
    first = next((each for each in gone if not is_read_only(each)), None)
    trace = pin_timing_at_end(trace, gone)
    if first is not None:
        trace = invalidate_after(trace, first)
    elif gone:
        trace = pin_timing_after(trace, gone[0])

    def change(attempt: SubgoalTrace) -> tuple[SubgoalTrace, ...]:
        if attempt.id != located.attempt.id:
            return (attempt,)
        kept = _filter_steps(attempt, lambda step: (attempt.id, step.sequence) not in names)
        return (kept,) if kept.steps else ()

    return _with_changed_waits(map_attempts(trace, change), changes, numbered)


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


def _filter_steps(attempt: SubgoalTrace, should_keep: Callable[[SequencedStep], bool]) -> SubgoalTrace:
    return attempt.model_copy(
        update={name: tuple(each for each in getattr(attempt, name) if should_keep(each)) for name in SEQUENCED_FIELDS}
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
