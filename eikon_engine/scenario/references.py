"""References in scenarios: `{{name}}` and `{{name.path.0}}`, to variables and to outputs of earlier steps.

Blanks inside of the braces say nothing.
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
"""What was meant for a reference, or for a secret."""
_SHOWN: Final = 5


def names_in(value: JsonValue) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the names that a value refers to, each with the path of the text it stands in."""
    for path, text in _texts_in(value):
        yield from ((path, found[1]) for found in _MARK.finditer(text))


def strays_in(value: JsonValue) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield what stands in double braces and is neither a reference nor a secret, each with the path of its text."""
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
    """Return a value with what its references stand for.

    A text that is one reference and nothing else becomes the value itself, of whatever type; inside of a longer text a
    text stands as it is, and every other value as canonical JSON. What was put in is not looked at again.

    Raises:
        ScenarioError: there is nothing at the path of a reference.
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
        raise ScenarioError(
            f"{mark[0]}: wanted an output of an earlier step, found none; the step that gives it failed"
        )
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
            raise ScenarioError(f"{mark}: wanted {part} in {path}, found {_inside(value)}; correct the reference")


def _inside(value: JsonValue) -> str:
    match value:
        case dict():
            more = "" if len(value) <= _SHOWN else " …"
            return f"an object with {', '.join(list(value)[:_SHOWN]) or 'nothing in it'}{more}"
        case list():
            return f"a list of {len(value)}"
        case _:
            return f"{_text(value)[:60]!r}"


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else canonical_json(value)
