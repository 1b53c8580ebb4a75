"""Walk through JSON and change one part of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pydantic import JsonValue

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indices that lead to a part."""


def leaves(value: JsonValue, path: Path = ()) -> Iterator[tuple[Path, JsonValue]]:
    """Yield every value that is not a container."""
    for place, inner in _members(value):
        yield from leaves(inner, (*path, place))
    if not isinstance(value, dict | list):
        yield path, value


def lists(value: JsonValue, path: Path = ()) -> Iterator[tuple[Path, list[JsonValue]]]:
    """Yield every list."""
    if isinstance(value, list):
        yield path, value
    for place, inner in _members(value):
        yield from lists(inner, (*path, place))


def with_part(value: JsonValue, path: Path, change: Callable[[JsonValue], JsonValue]) -> JsonValue:
    """Return a value with one part changed."""
    if not path:
        return change(value)
    step, rest = path[0], path[1:]
    if isinstance(value, dict):
        return {key: with_part(inner, rest, change) if key == step else inner for key, inner in value.items()}
    if isinstance(value, list):
        return [with_part(inner, rest, change) if place == step else inner for place, inner in enumerate(value)]
    return value


def edit_part(path: Path, change: Callable[[JsonValue], JsonValue]) -> Callable[[str], str]:
    """Return a function that changes one part of a JSON text."""
    return lambda text: json.dumps(with_part(json.loads(text), path, change))


def _members(value: JsonValue) -> list[tuple[str | int, JsonValue]]:
    if isinstance(value, dict):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, list) else []
