"""Edit fields and variables of a trace and validate the result against its models."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, TypeVar

from pydantic import BaseModel, ValidationError

from eikon_engine.errors import TraceFieldError
from eikon_engine.trace.actions import Drag
from eikon_engine.trace.execution import ActionTrace, ExecutionTrace, SkillUsage, SubgoalTrace
from eikon_engine.trace.field_errors import validation_error
from eikon_engine.trace.located import iter_steps, locate_step, replace_step
from eikon_engine.trace.outdated import invalidate_after, invalidate_step, is_read_only, without_identities
from eikon_engine.trace.variables import action_variables, referenced_names, resolve_action, variable_reference

if TYPE_CHECKING:
    from pydantic import JsonValue

    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.edits import SetFields, SetVariable

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
        parts.append(found[1] if found[1] is not None else int(found[2]))
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
    *way, last = parts
    for part in way:
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
