"""References in scenarios, `{{name}}` and `{{name.path.0}}`, to variables and outputs of earlier steps.

Spaces inside the braces are ignored.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ScenarioError
from eikon_engine.files.json_text import canonical_json
from eikon_engine.files.text import read_digits
from eikon_engine.secrets.redaction import secret_names_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import JsonValue

_REFERENCE: Final = re.compile(r"\{\{[ \t]*([A-Za-z_][A-Za-z0-9_]*)((?:\.[A-Za-z0-9_$-]+)*)[ \t]*\}\}")
_BRACES: Final = re.compile(r"\{\{[^{}\n]*\}\}")
"""Anything in double braces: a reference, a secret, or a mistake."""
_SHOWN_KEYS: Final = 5


def referenced_names(value: JsonValue) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the referenced names in a value, each with the path of its string."""
    for path, text in _strings_in(value):
        yield from ((path, found[1]) for found in _REFERENCE.finditer(text))


def invalid_references(value: JsonValue) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield text in double braces that is neither a reference nor a secret, with the path of its string."""
    for path, text in _strings_in(value):
        for found in _BRACES.finditer(text):
            if not _REFERENCE.fullmatch(found[0]) and not list(secret_names_in(found[0])):
                yield path, found[0]


def _strings_in(value: JsonValue) -> Iterator[tuple[tuple[str | int, ...], str]]:
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


def resolve_references(value: JsonValue, known: Mapping[str, JsonValue]) -> JsonValue:
    """Return a value with its references resolved.

    A string that is exactly one reference becomes the value itself, of any type. Within a longer string, strings are
    inserted as they are and other values as canonical JSON. Inserted text is not resolved again.

    Raises:
        ScenarioError: the path of a reference does not exist.
    """
    match value:
        case str():
            whole = _REFERENCE.fullmatch(value)
            if whole is not None:
                return _referenced_value(whole, known)
            return _REFERENCE.sub(lambda found: _as_text(_referenced_value(found, known)), value)
        case list():
            return [resolve_references(each, known) for each in value]
        case dict():
            return {name: resolve_references(each, known) for name, each in value.items()}
        case _:
            return value


def _referenced_value(mark: re.Match[str], known: Mapping[str, JsonValue]) -> JsonValue:
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
            return value[read_digits(part)]
        case _:
            raise ScenarioError(
                f"{mark}: expected {part} in {path}, got {_describe_content(value)}. Fix the reference."
            )


def _describe_content(value: JsonValue) -> str:
    match value:
        case dict():
            more = "" if len(value) <= _SHOWN_KEYS else " …"
            return f"an object with {', '.join(list(value)[:_SHOWN_KEYS]) or 'no keys'}{more}"
        case list():
            return f"a list of length {len(value)}"
        case _:
            return f"{_as_text(value)[:60]!r}"


def _as_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else canonical_json(value)
