"""Tool results in fixtures: JSON inline, bytes as separate blobs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, TypeAlias

from pydantic import JsonValue, ValidationError

from eikon_engine.errors import FixtureCorruptError, ResultNotStorableError
from eikon_engine.trace.blobs import BlobRef, BlobStore
from eikon_engine.trace.json_value import child_path
from eikon_engine.trace.record import MAX_JSON_DEPTH

if TYPE_CHECKING:
    from collections.abc import Callable

BYTES_KEY: Final = "$bytes"
"""The only key of an object that represents bytes."""

ToolResultValue: TypeAlias = (
    "bool | int | float | str | bytes | list[ToolResultValue] | dict[str, ToolResultValue] | None"
)
"""A value that a tool may return."""


def store_result(result: ToolResultValue, put: Callable[[bytes], BlobRef]) -> JsonValue:
    """Return a result in the format of fixtures; `put` stores bytes.

    Raises:
        ResultNotStorableError: it cannot be restored exactly; the message names the place.
    """
    return _encode(result, "$", put, MAX_JSON_DEPTH)


def restore_result(stored: JsonValue, blobs: BlobStore) -> ToolResultValue:
    """Return a result as the tool returned it.

    Raises:
        TraceError: a blob is missing or corrupt.
        FixtureCorruptError: a reference to bytes is invalid.
    """
    match stored:
        case list():
            return [restore_result(each, blobs) for each in stored]
        case dict() if BYTES_KEY in stored:
            return blobs.get(_blob_ref(stored))
        case dict():
            return {name: restore_result(each, blobs) for name, each in stored.items()}
        case _:
            return stored


def _blob_ref(stored: dict[str, JsonValue]) -> BlobRef:
    try:
        return BlobRef.model_validate(stored[BYTES_KEY])
    except ValidationError as error:
        message = f"expected sha256 and size under {BYTES_KEY}, got {stored[BYTES_KEY]!r}. Record again."
        raise FixtureCorruptError(message) from error


def _encode(value: object, path: str, put: Callable[[bytes], BlobRef], levels: int) -> JsonValue:
    if levels < 0:
        raise _not_storable(path, f"more than {MAX_JSON_DEPTH} levels of lists and objects", "Return a flatter value.")
    match value:
        case None | bool():
            return value
        case str():
            return _checked_text(value, path)
        case int() | float():
            return _checked_number(value, path)
        case bytes():
            return {BYTES_KEY: put(value).model_dump()}
        case list():
            return [_encode(each, child_path(path, place), put, levels - 1) for place, each in enumerate(value)]
        case dict():
            return {
                _checked_key(name, path): _encode(each, child_path(path, name), put, levels - 1)
                for name, each in value.items()
            }
        case _:
            advice = "Return None, bool, int, float, str, bytes, list or dict."
            raise _not_storable(path, f"a value of type {type(value).__name__}", advice)


def _checked_text(value: str, path: str) -> str:
    if type(value) is not str:
        raise _not_storable(path, f"a string of type {type(value).__name__}", "Return a plain str.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise _not_storable(path, "a lone surrogate", "Return bytes.") from error
    return value


def _checked_number(value: float, path: str) -> float:
    if type(value) not in {int, float}:
        raise _not_storable(path, f"a number of type {type(value).__name__}", "Return a plain int or float.")
    if not math.isfinite(value):
        raise _not_storable(path, str(value), "Return None.")
    return value


def _checked_key(name: object, path: str) -> str:
    if not isinstance(name, str):
        raise _not_storable(path, f"the key {name!r}", "Use a string.")
    if name == BYTES_KEY:
        raise _not_storable(path, f"the reserved key {BYTES_KEY}", "Use another key.")
    return _checked_text(name, path)


def _not_storable(path: str, found: str, advice: str) -> ResultNotStorableError:
    return ResultNotStorableError(f"{path}: expected a result that a fixture can hold, got {found}. {advice}")
