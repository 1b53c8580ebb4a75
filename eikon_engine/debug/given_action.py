"""Read an action as people give it by hand: its type, what it acts on, and fields."""

from __future__ import annotations

import json
import re
import shlex
from itertools import islice, product
from typing import TYPE_CHECKING, Final, get_args

from pydantic import JsonValue, TypeAdapter, ValidationError

from eikon_engine.edit.assignments import MOST_READINGS
from eikon_engine.errors import UsageError
from eikon_engine.trace.actions import Action
from eikon_engine.trace.field_errors import trace_error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ACTIONS: Final[TypeAdapter[Action]] = TypeAdapter(Action)
_PLACES: Final[Mapping[str, tuple[str, ...]]] = {
    "answer_dialog": ("accept",),
    "close_page": ("page",),
    "fill": ("target.selector", "text"),
    "insert_text": ("text",),
    "navigate": ("url",),
    "note": ("text",),
    "press": ("key",),
    "set_value": ("target.selector", "text"),
    "switch_page": ("page",),
    "type": ("target.selector", "text"),
}
"""Fields that may be given without their names, in this order; a selector, for all other actions."""
_TARGET: Final = ("target.selector",)
_ENGINES: Final = frozenset({"css", "id", "role", "text", "xpath"})
"""Engines of Playwright's selectors that a selector may begin with, and that read as the name of a field."""
_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    model.model_fields["type"].default: frozenset(model.model_fields) for model in get_args(get_args(Action)[0])
}

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*")
"""What names a field, whether there is such a one or not; what stands in front of `=` in an address does not."""


def read_action(kind: str, texts: Sequence[str]) -> Action:
    """Read `fill '#name' Ada` or `click target.selector='#buy' page=1`.

    A text with `=` behind a name is that field, and the action has to have it; others are, in order, the selector,
    address, text or key. A selector may begin with its engine, such as `role=button`, where the action has no field so
    called.
    A value is JSON where its field takes it as such, else plain text.

    Raises:
        UsageError: it is no action.
    """
    pairs = _named(kind, texts)
    refused: ValidationError | None = None
    text = b""
    for values in islice(product(*(_readings(value) for _, value in pairs)), MOST_READINGS):
        fields = [(name, value) for (name, _), value in zip(pairs, values, strict=True)]
        text = json.dumps(_nested(kind, fields)).encode()
        try:
            return _ACTIONS.validate_json(text)
        except ValidationError as error:
            refused = refused or error
    assert refused is not None  # noqa: S101 - there is one reading at least
    raise UsageError(str(trace_error(refused, text, f"{kind}: wanted an action")))


def _named(kind: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    places, fields = list(_PLACES.get(kind, _TARGET)), _FIELDS.get(kind, frozenset())
    pairs = []
    for text in texts:
        name, equals, value = text.partition("=")
        if equals and name.partition(".")[0] in fields:
            pairs.append((name, value))
        elif equals and name in _ENGINES and places[:1] == list(_TARGET):
            pairs.append((places.pop(0), text))
        elif equals and fields and _NAME.fullmatch(name):
            raise UsageError(_unknown(kind, name, places, text))
        elif places:
            pairs.append((places.pop(0), text))
        else:
            raise UsageError(f"{kind}: wanted FIELD=VALUE, such as page=1, found {text!r}")
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"{kind}: wanted each field once, found {twice} {names.count(twice)} times")
    return pairs


def _unknown(kind: str, name: str, places: Sequence[str], text: str) -> str:
    """Say that an action has no such field, and how a text that looks like one is given."""
    known = ", ".join(sorted(_FIELDS[kind] - {"type"}))
    plainly = f"; if all of it is the {places[0]}, write {shlex.quote(f'{places[0]}={text}')}" if places else ""
    return f"{kind}: wanted a field of the action in front of =, found {name!r}; there are {known}{plainly}"


def _nested(kind: str, fields: Sequence[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    whole: dict[str, JsonValue] = {"type": kind}
    for name, value in fields:
        *parents, last = name.split(".")
        here = whole
        for parent in parents:
            below = here.setdefault(parent, {})
            if not isinstance(below, dict):
                raise UsageError(f"{kind}: wanted an object as {parent}, found a value; give its fields alone")
            here = below
        here[last] = value
    return whole


def _readings(text: str) -> list[JsonValue]:
    """Return a value as JSON, if it is some, then as plain text."""
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return [text]
    return [value, text]
