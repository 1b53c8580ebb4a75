"""Parse edits from command line arguments: FIELD=VALUE, NAME=VALUE."""

from __future__ import annotations

import json
from itertools import count, islice, product
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar

from pydantic import ValidationError

from eikon_engine.errors import TraceFieldError, UsageError
from eikon_engine.files.models import validation_error
from eikon_engine.files.text import require_utf8
from eikon_engine.trace.actions import ACTION_ADAPTER, Action
from eikon_engine.trace.edits import DeleteStep, InsertStep, MergeAttempts, SetFields, SetVariable, SplitAttempt
from eikon_engine.trace.patch import TracePatch, apply_patch
from eikon_engine.trace.steps import iter_steps, locate_step
from eikon_engine.trace.variables import referenced_names, require_variable_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic import JsonValue

    from eikon_engine.trace.execution import ExecutionTrace

EditModel = TypeVar("EditModel", SetFields, SetVariable, DeleteStep, InsertStep, SplitAttempt, MergeAttempts)

Side: TypeAlias = Literal["before", "after"]

MAX_INTERPRETATIONS: Final = 64
"""Maximum number of combinations tried, each value as JSON or as text."""


def parse_field_edits(
    trace: ExecutionTrace, step: str, texts: Sequence[str], *, same_element: bool, reason: str
) -> SetFields:
    """Parse `FIELD=VALUE`; a value is JSON if its field accepts it as such, else plain text.

    Raises:
        UsageError: a text has another form, or a field is given twice.
        TraceFieldError: no interpretation of the values fits; the message is about the first one.
    """
    if not texts:
        message = f"expected FIELD=VALUE for {step or 'the trace'}, such as action.text=Banana, got none"
        raise UsageError(message)
    pairs = [_split_assignment(text) for text in texts]
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        message = f"expected each field once, got {twice} {names.count(twice)} times"
        raise UsageError(message)
    refused: TraceFieldError | UsageError | None = None
    for values in islice(product(*(_interpretations(value) for _, value in pairs)), MAX_INTERPRETATIONS):
        fields = dict(zip(names, values, strict=True))
        try:
            edit = build_edit(SetFields, step=step, fields=fields, same_element=same_element, reason=reason)
            apply_patch(trace, TracePatch(operations=(edit,)))
        except (TraceFieldError, UsageError) as error:
            refused = refused or error
        else:
            return edit
    assert refused is not None  # noqa: S101 - there is at least one interpretation
    raise refused


def parse_action(text: str) -> Action:
    """Parse an action from a JSON object, as in a trace.

    Raises:
        TraceSyntaxError: the text is not JSON.
        TraceFieldError: the object is not an action.
        UsageError: the text contains a lone surrogate.
    """
    require_utf8(text, "ACTION")
    try:
        return ACTION_ADAPTER.validate_json(text)
    except ValidationError as error:
        raise validation_error(error, text.encode(), "ACTION") from error


def build_insertion(
    trace: ExecutionTrace, position: tuple[str, Side], action: Action, *, reason: str, name: str | None = None
) -> InsertStep:
    """Build the edit that inserts an action next to a step; without a name, the action gets a new id.

    Raises:
        TraceFieldError: there is no such step.
        UsageError: a value cannot be written to a file.
    """
    step, place = position
    return build_edit(
        InsertStep,
        step=step,
        place=place,
        id=name or unused_step_id(trace, locate_step(trace, step).attempt.id),
        action=action,
        reason=reason,
    )


def require_one_side(before: str | None, after: str | None) -> tuple[str, Side]:
    """Return the step next to which something is inserted, and on which side.

    Raises:
        UsageError: no step is named, or two are.
    """
    match before, after:
        case str(step), None:
            return step, "before"
        case None, str(step):
            return step, "after"
        case _:
            found = "neither" if before is None else "both"
            message = f"expected one of --before STEP and --after STEP, got {found}"
            raise UsageError(message)


def unused_step_id(trace: ExecutionTrace, attempt: str) -> str:
    """Return the first unused id for a new action of an attempt."""
    used = {step.id for _, step in iter_steps(trace)}
    return next(name for number in count(1) if (name := f"{attempt}_inserted_{number:03d}") not in used)


def build_edit(kind: type[EditModel], **fields: object) -> EditModel:
    """Build an edit from command line arguments.

    Raises:
        UsageError: a value cannot be written to a file.
    """
    for name, value in fields.items():
        if isinstance(value, str):
            require_utf8(value, name)
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        message = f"{'.'.join(map(str, fault['loc']))}: expected a value that can be written, got: {fault['msg']}"
        raise UsageError(message) from error


def undeclared_variables(trace: ExecutionTrace, patch: TracePatch) -> tuple[str, ...]:
    """Return the variable references in new values that the changed trace does not declare."""
    texts = (json.dumps(each.fields) for each in patch.operations if isinstance(each, SetFields))
    return tuple(sorted({name for text in texts for name in referenced_names(text)} - trace.variables.keys()))


def parse_declarations(texts: Iterable[str], reason: str) -> tuple[SetVariable, ...]:
    """Parse `NAME=VALUE`, or `NAME` for a variable without a recorded value.

    Raises:
        UsageError: a name is invalid.
    """
    made = []
    for text in texts:
        name, equals, value = text.partition("=")
        require_variable_names([name], "--var")
        made.append(build_edit(SetVariable, name=name, value=value if equals else None, reason=reason))
    return tuple(made)


def _split_assignment(text: str) -> tuple[str, str]:
    require_utf8(text, "FIELD=VALUE")
    name, equals, value = text.partition("=")
    if not equals or not name:
        message = f"expected FIELD=VALUE, such as action.text=Banana, got {text!r}"
        raise UsageError(message)
    return name, value


def _interpretations(text: str) -> list[JsonValue]:
    """Return the possible interpretations of a value: as JSON, if it is valid, then as plain text."""
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return [text]
    return [value, text]
