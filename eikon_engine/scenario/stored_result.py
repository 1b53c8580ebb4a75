"""Results of tools as fixtures hold them: JSON as it is, bytes as blobs beside it."""

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
"""The only key of an object that stands for bytes."""

Result: TypeAlias = "bool | int | float | str | bytes | list[Result] | dict[str, Result] | None"
"""What a tool may return."""


def store_result(result: Result, put: Callable[[bytes], BlobRef]) -> JsonValue:
    """Return a result as it is written; `put` stores bytes.

    Raises:
        ResultNotStorableError: it would not come back as it is; the message gives its place.
    """
    return _stored(result, "$", put, MAX_DEPTH)


def restore_result(stored: JsonValue, blobs: BlobStore) -> Result:
    """Return a result as the tool returned it.

    Raises:
        TraceError: the file of some bytes is missing or corrupt.
        FixtureCorruptError: what stands for bytes names none.
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
        message = f"wanted sha256 and size under {BYTES}, found {stored[BYTES]!r}; record again"
        raise FixtureCorruptError(message) from error


def _stored(value: object, path: str, put: Callable[[bytes], BlobRef], levels: int) -> JsonValue:
    if levels < 0:
        raise _refused(path, f"more than {MAX_DEPTH} levels of lists and objects", "return less at once")
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
            wanted = "return null, boolean, number, text, bytes, list or dict"
            raise _refused(path, f"a value of type {type(value).__name__}", wanted)


def _text(value: str, path: str) -> str:
    if type(value) is not str:
        raise _refused(path, f"a text of type {type(value).__name__}", "return its plain text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise _refused(path, "half of a surrogate pair", "return bytes") from error
    return value


def _number(value: float, path: str) -> float:
    if type(value) not in {int, float}:
        raise _refused(path, f"a number of type {type(value).__name__}", "return its plain value")
    if not math.isfinite(value):
        raise _refused(path, str(value), "return null")
    return value


def _name(name: object, path: str) -> str:
    if not isinstance(name, str):
        raise _refused(path, f"the key {name!r}", "make it a text")
    if name == BYTES:
        raise _refused(path, f"the key {BYTES}, which stands for bytes", "choose another key")
    return _text(name, path)


def _refused(path: str, found: str, advice: str) -> ResultNotStorableError:
    return ResultNotStorableError(f"{path}: wanted a result that a fixture can hold, found {found}; {advice}")
