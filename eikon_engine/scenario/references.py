"""References in scenarios, `{{name}}` and `{{name.path.0}}`, to variables and outputs of earlier steps.

Spaces inside the braces are ignored.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ScenarioError
from eikon_engine.trace.json_value import canonical_json
from eikon_engine.trace.redaction import secrets_named_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import JsonValue

_MARK: Final = re.compile(r"\{\{[ \t]*([A-Za-z_][A-Za-z0-9_]*)((?:\.[A-Za-z0-9_$-]+)*)[ \t]*\}\}")
_BRACES: Final = re.compile(r"\{\{[^{}\n]*\}\}")
"""Anything in double braces: a reference, a secret, or a mistake."""
_SHOWN: Final = 5


def names_in(value: JsonValue) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the referenced names in a value, each with the path of its string."""
    for path, text in _texts_in(value):
        yield from ((path, found[1]) for found in _MARK.finditer(text))


def strays_in(value: JsonValue) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield text in double braces that is neither a reference nor a secret, with the path of its string."""
    for path, text in _texts_in(value):
        for found in _BRACES.finditer(text):
            if not _MARK.fullmatch(found[0]) and not list(secrets_named_in(found[0])):
                yield path, found[0]


def _texts_in(value: JsonValue) -> Iterator[tuple[tuple[str | int, ...], str]]:
    waiting: list[tuple[tuple[str | int, ...], JsonValue]] = [((), value)]
    while waiting:
        path, each = waiting.pop()
        match each:
            case str():
                yield path, each
            case list():
                waiting.extend(((*path, place), one) for place, one in enumerate(each))
            case dict():
                waiting.extend(((*path, name), one) for name, one in each.items())
            case _:
                pass


def filled(value: JsonValue, known: Mapping[str, JsonValue]) -> JsonValue:
    """Return a value with its references resolved.

    A string that is exactly one reference becomes the value itself, of any type. Within a longer string, strings are
    inserted as they are and other values as canonical JSON. Inserted text is not resolved again.

    Raises:
        ScenarioError: the path of a reference does not exist.
    """
    match value:
        case str():
            whole = _MARK.fullmatch(value)
            if whole is not None:
                return _found(whole, known)
            return _MARK.sub(lambda found: _text(_found(found, known)), value)
        case list():
            return [filled(each, known) for each in value]
        case dict():
            return {name: filled(each, known) for name, each in value.items()}
        case _:
            return value


def _found(mark: re.Match[str], known: Mapping[str, JsonValue]) -> JsonValue:
    if mark[1] not in known:
        raise ScenarioError(f"{mark[0]}: expected an output of an earlier step, got none, because that step failed")
    value, path = known[mark[1]], mark[1]
    for part in mark[2].split(".")[1:]:
        value, path = _member(value, part, mark[0], path), f"{path}.{part}"
    return value


def _member(value: JsonValue, part: str, mark: str, path: str) -> JsonValue:
    match value:
        case dict() if part in value:
            return value[part]
        case list() if part.isascii() and part.isdigit() and int(part) < len(value):
            return value[int(part)]
        case _:
            raise ScenarioError(f"{mark}: expected {part} in {path}, got {_inside(value)}. Fix the reference.")


def _inside(value: JsonValue) -> str:
    match value:
        case dict():
            more = "" if len(value) <= _SHOWN else " …"
            return f"an object with {', '.join(list(value)[:_SHOWN]) or 'no keys'}{more}"
        case list():
            return f"a list of length {len(value)}"
        case _:
            return f"{_text(value)[:60]!r}"


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else canonical_json(value)
