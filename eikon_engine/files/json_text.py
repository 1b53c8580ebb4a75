"""JSON values: their canonical text and their paths."""

from __future__ import annotations

import json
import math
from typing import Final

from pydantic import JsonValue

from eikon_engine.errors import TraceFieldError

__all__ = ["JsonValue", "canonical_json", "child_path"]

_ROOT: Final = "$"


def canonical_json(value: JsonValue) -> str:
    """Return the canonical text of a JSON value: sorted keys, no spaces, characters unescaped.

    Numbers keep their type (`1` and `1.0` differ), so equal texts mean equal values of equal types.

    Raises:
        TraceFieldError: the value contains something that JSON cannot express (NaN, an infinity, a tuple, a non-string
            key …); the message names its path.
    """
    _require_json(value)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def child_path(path: str, key: str | int) -> str:
    """Return the JSON path of a member (`$.name`, `$["two words"]`) or an element (`$[3]`)."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if key.isidentifier():
        return f"{path}.{key}"
    return f"{path}[{json.dumps(key, ensure_ascii=False)}]"


def _require_json(value: object) -> None:
    pending: list[tuple[str, object]] = [(_ROOT, value)]
    while pending:
        path, item = pending.pop()
        if isinstance(item, dict):
            pending.extend((child_path(path, _require_key(path, key)), member) for key, member in item.items())
        elif isinstance(item, list):
            pending.extend((child_path(path, index), element) for index, element in enumerate(item))
        elif isinstance(item, float):
            _require_finite(path, item)
        elif item is not None and not isinstance(item, (str, int)):
            found = type(item).__name__
            message = f"{path}: expected a JSON value, got {found}; use null, boolean, number, text, list or dict"
            raise TraceFieldError(message)


def _require_key(path: str, key: object) -> str:
    if isinstance(key, str):
        return key
    message = f"{path}: expected a string as a key, got {key!r}; convert it to a string"
    raise TraceFieldError(message)


def _require_finite(path: str, number: float) -> None:
    if not math.isfinite(number):
        message = f"{path}: expected a JSON number, got {number}; JSON has no NaN or infinity, use null"
        raise TraceFieldError(message)
