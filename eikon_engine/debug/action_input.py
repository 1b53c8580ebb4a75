"""Parse actions and field values typed by the user."""

from __future__ import annotations

import json
import re
import shlex
from itertools import islice, product
from typing import TYPE_CHECKING, Final, get_args

from pydantic import JsonValue, ValidationError

from eikon_engine.debug.session_folder import branch_bundle_path
from eikon_engine.errors import UsageError
from eikon_engine.files.models import validation_error
from eikon_engine.trace.actions import ACTION_ADAPTER, Action
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.edit_arguments import MAX_INTERPRETATIONS, parse_field_edits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.debug.timeline import Branch
    from eikon_engine.trace.execution import ExecutionTrace

_POSITIONAL_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "answer_dialog": ("accept",),
    "close_page": ("page",),
    "fill": ("target.selector", "text"),
    "insert_text": ("text",),
    "navigate": ("url",),
    "note": ("text",),
    "press": ("key",),
    "set_value": ("target.selector", "text"),
    "switch_page": ("page",),
    "touchscreen_tap": ("x", "y"),
    "type": ("target.selector", "text"),
}
"""Fields that may be given without a name, in this order; for all other actions, the selector."""
_SELECTOR_FIELD: Final = ("target.selector",)
_SELECTOR_ENGINES: Final = frozenset({"css", "id", "role", "text", "xpath"})
"""Playwright selector engines that could be mistaken for a field name in front of `=`."""
_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    model.model_fields["type"].default: frozenset(model.model_fields) for model in get_args(get_args(Action)[0])
}

_FIELD_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*")
"""Matches anything that looks like a field name; text before `=` in a URL does not."""


def parse_action(kind: str, texts: Sequence[str]) -> Action:
    """Parse `fill '#name' Ada` or `click target.selector='#buy' page=1`.

    `name=value` sets a field of the action; other arguments are, in order, the selector, URL, text or key. A selector
    may start with its engine, such as `role=button`, unless the action has a field of that name.
    Values are JSON where the field accepts that, else plain text.

    Raises:
        UsageError: not a valid action.
    """
    pairs = _split_arguments(kind, texts)
    refused: ValidationError | None = None
    text = b""
    for values in islice(product(*(_parse_value(value) for _, value in pairs)), MAX_INTERPRETATIONS):
        fields = [(name, value) for (name, _), value in zip(pairs, values, strict=True)]
        text = json.dumps(_nested(kind, fields)).encode()
        try:
            return ACTION_ADAPTER.validate_json(text)
        except ValidationError as error:
            refused = refused or error
    assert refused is not None  # noqa: S101 - at least one reading was tried
    raise UsageError(str(validation_error(refused, text, f"{kind}: expected an action")))


def _split_arguments(kind: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    positions, fields = list(_POSITIONAL_FIELDS.get(kind, _SELECTOR_FIELD)), _FIELDS.get(kind, frozenset())
    pairs = []
    for text in texts:
        name, equals, value = text.partition("=")
        if equals and name.partition(".")[0] in fields:
            pairs.append((name, value))
        elif equals and name in _SELECTOR_ENGINES and positions[:1] == list(_SELECTOR_FIELD):
            pairs.append((positions.pop(0), text))
        elif equals and fields and _FIELD_NAME.fullmatch(name):
            raise UsageError(_unknown_field_message(kind, name, positions, text))
        elif positions:
            pairs.append((positions.pop(0), text))
        else:
            raise UsageError(f"{kind}: expected FIELD=VALUE, such as page=1, got {text!r}")
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"{kind}: expected each field once, got {twice} {names.count(twice)} times")
    return pairs


def _unknown_field_message(kind: str, name: str, positional: Sequence[str], text: str) -> str:
    """Explain that an action has no such field, and how to quote a value that looks like one."""
    known = ", ".join(sorted(_FIELDS[kind] - {"type"}))
    hint = (
        f"; if all of it is the {positional[0]}, write {shlex.quote(f'{positional[0]}={text}')}" if positional else ""
    )
    return f"{kind}: no field {name!r}; available: {known}{hint}"


def _nested(kind: str, fields: Sequence[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    nested: dict[str, JsonValue] = {"type": kind}
    for name, value in fields:
        *parents, last = name.split(".")
        node = nested
        for parent in parents:
            child = node.setdefault(parent, {})
            if not isinstance(child, dict):
                raise UsageError(f"{kind}: expected an object as {parent}, got a value; set its fields only")
            node = child
        node[last] = value
    return nested


def _parse_value(text: str) -> list[JsonValue]:
    """Return the possible values of a text: as JSON if it parses, then as plain text."""
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return [text]
    return [value, text]


def parse_step_fields(
    folder: SessionFolder, iteration: int | None, texts: Sequence[str], reason: str
) -> dict[str, JsonValue]:
    """Parse `FIELD=VALUE` for a step of the active branch, by default the next one.

    Raises:
        UsageError: no such step, or an argument is malformed.
        TraceFieldError: a value does not fit its field.
    """
    active = folder.read_timeline().active
    trace = open_bundle(branch_bundle_path(folder, active)).trace
    number = active.iteration + 1 if iteration is None else iteration
    edit = parse_field_edits(trace, _step_id(trace, number, active), texts, same_element=False, reason=reason)
    return dict(edit.fields)


def _step_id(trace: ExecutionTrace, number: int, active: Branch) -> str:
    steps = [step.id for attempt in trace.subgoal_traces for step in attempt.steps]
    if active.iteration < number <= len(steps):
        return steps[number - 1]
    upcoming = f"{active.iteration + 1} to {len(steps)}" if active.iteration < len(steps) else "none"
    raise UsageError(f"branch edit: expected an upcoming step ({upcoming}), got {number}; rewind to change others")
