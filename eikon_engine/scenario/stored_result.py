"""Tool results in fixtures: JSON inline, bytes as separate blobs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, TypeAlias

from pydantic import JsonValue, ValidationError

from eikon_engine.errors import FixtureCorruptError, ResultNotStorableError
from eikon_engine.trace.blobs import BlobRef, BlobStore
from eikon_engine.trace.json_value import child_path
from eikon_engine.trace.record import MAX_DEPTH

if TYPE_CHECKING:
    from collections.abc import Callable

BYTES: Final = "$bytes"
"""The only key of an object that represents bytes."""

Result: TypeAlias = "bool | int | float | str | bytes | list[Result] | dict[str, Result] | None"
"""A value that a tool may return."""


def store_result(result: Result, put: Callable[[bytes], BlobRef]) -> JsonValue:
    """Return a result in the format of fixtures; `put` stores bytes.

    Raises:
        ResultNotStorableError: it cannot be restored exactly; the message names the place.
    """
    return _stored(result, "$", put, MAX_DEPTH)


def restore_result(stored: JsonValue, blobs: BlobStore) -> Result:
    """Return a result as the tool returned it.

    Raises:
        TraceError: a blob is missing or corrupt.
        FixtureCorruptError: a reference to bytes is invalid.
    """
    match stored:
        case list():
            return [restore_result(each, blobs) for each in stored]
        case dict() if BYTES in stored:
            return blobs.get(_ref(stored))
        case dict():
            return {name: restore_result(each, blobs) for name, each in stored.items()}
        case _:
            return stored


def _ref(stored: dict[str, JsonValue]) -> BlobRef:
    try:
        return BlobRef.model_validate(stored[BYTES])
    except ValidationError as error:
        message = f"expected sha256 and size under {BYTES}, got {stored[BYTES]!r}. Record again."
        raise FixtureCorruptError(message) from error


def _stored(value: object, path: str, put: Callable[[bytes], BlobRef], levels: int) -> JsonValue:
    if levels < 0:
        raise _refused(path, f"more than {MAX_DEPTH} levels of lists and objects", "Return a flatter value.")
    match value:
        case None | bool():
            return value
        case str():
            return _text(value, path)
        case int() | float():
            return _number(value, path)
        case bytes():
            return {BYTES: put(value).model_dump()}
        case list():
            return [_stored(each, child_path(path, place), put, levels - 1) for place, each in enumerate(value)]
        case dict():
            return {
                _name(name, path): _stored(each, child_path(path, name), put, levels - 1)
                for name, each in value.items()
            }
        case _:
            advice = "Return None, bool, int, float, str, bytes, list or dict."
            raise _refused(path, f"a value of type {type(value).__name__}", advice)


def _text(value: str, path: str) -> str:
    if type(value) is not str:
        raise _refused(path, f"a string of type {type(value).__name__}", "Return a plain str.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise _refused(path, "a lone surrogate", "Return bytes.") from error
    return value


def _number(value: float, path: str) -> float:
    if type(value) not in {int, float}:
        raise _refused(path, f"a number of type {type(value).__name__}", "Return a plain int or float.")
    if not math.isfinite(value):
        raise _refused(path, str(value), "Return None.")
    return value


def _name(name: object, path: str) -> str:
    if not isinstance(name, str):
        raise _refused(path, f"the key {name!r}", "Use a string.")
    if name == BYTES:
        raise _refused(path, f"the reserved key {BYTES}", "Use another key.")
    return _text(name, path)


def _refused(path: str, found: str, advice: str) -> ResultNotStorableError:
    return ResultNotStorableError(f"{path}: expected a result that a fixture can hold, got {found}. {advice}")
