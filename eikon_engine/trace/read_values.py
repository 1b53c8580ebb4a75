"""What reads return, in the one form in which recorded and replayed values are compared.

Values that JSON does not have are objects with one key, as in MongoDB's Extended JSON:
https://www.mongodb.com/docs/manual/reference/mongodb-extended-json/. What Python does not distinguish, such as `null`
and `undefined`, is the same for the agent, too.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import ParseResult

from pydantic import ValidationError

from eikon_engine.files.blobs import blob_ref
from eikon_engine.trace.actions import Read, ReadValue

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import JsonValue

    from eikon_engine.files.blobs import BlobRef
    from eikon_engine.trace.actions import Action

RENDERED_TEXTS: Final = frozenset({"all_inner_texts", "inner_text"})
"""Reads of text as it is rendered. Its white space depends on style sheets, which may have been loading at that moment;
as in Playwright's assertions about texts, all white space is equal."""
LONG_VALUE: Final = 4_000
"""Length from which the JSON text of a value is stored in a file of its own."""
_MAX_INTEGER: Final = 2**53
_KEYS: Final = frozenset({"$date", "$error", "$numberDouble", "$object", "$regularExpression", "$url"})
"""Keys of the objects that stand for other values. `$object` has an object whose only key is one of them."""


class NotJsonError(ValueError):
    """A value that JSON cannot represent."""


def to_read_value(
    value: object,
    store: Callable[[bytes], BlobRef] = blob_ref,
    redact: Callable[[JsonValue], JsonValue] = lambda value: value,
) -> ReadValue:
    """Return the redacted value of a read; the text of a long one is passed to `store`.

    Raises:
        NotJsonError: JSON cannot represent it.
    """
    try:
        plain = redact(_canonical(value))
    except RecursionError as error:
        message = "JSON cannot represent a value that contains itself, or is nested too deeply"
        raise NotJsonError(message) from error
    return _read_value(plain, store)


def redact_read_value(recorded: ReadValue, redact: Callable[[JsonValue], JsonValue]) -> ReadValue:
    """Return a recorded value as it is compared: redacted, unless it is a long one, which is so already."""
    return recorded if recorded.long is not None else _read_value(redact(recorded.value), blob_ref)


def _read_value(plain: JsonValue, store: Callable[[bytes], BlobRef]) -> ReadValue:
    text = value_text(plain)
    if len(text) > LONG_VALUE:
        return ReadValue(long=store(text.encode()))
    try:
        return ReadValue(value=plain)
    except ValidationError as error:
        raise NotJsonError(str(error)) from error


def value_text(value: JsonValue) -> str:
    """Return the JSON text of a value; equal values have equal texts."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def read_digest(action: Action) -> str:
    """Return the SHA-256 of what an action reads: all that it is, but what it got, how long and how often it tried.

    The element that its selector matched may have a new identity; that does not make it another read.
    """
    got = {"is_poll": True, "received": True, "timeout_ms": True, "times": True, "value": True}
    text = value_text(action.model_dump(mode="json", exclude={**got, "target": {"identity", "alternatives"}}))
    return hashlib.sha256(text.encode()).hexdigest()


def is_same_value(
    action: Action, recorded: ReadValue, observed: ReadValue, texts: tuple[str, str] | None = None
) -> bool:
    """Return whether two values of an action are equal, apart from white space in rendered texts.

    `texts` are the JSON texts of two long values.
    """
    if recorded == observed:
        return True
    if not isinstance(action, Read) or action.what not in RENDERED_TEXTS:
        return False
    if texts is not None:
        return _collapse(json.loads(texts[0])) == _collapse(json.loads(texts[1]))
    return not (recorded.long or observed.long) and _collapse(recorded.value) == _collapse(observed.value)


def _collapse(value: JsonValue) -> JsonValue:
    """Replace each run of white space by a space; lists are those of `all_inner_texts`."""
    match value:
        case str():
            return " ".join(value.split())
        case list():
            return [_collapse(each) for each in value]
        case _:
            return value


def split_representation(value: JsonValue) -> tuple[str, JsonValue]:
    """Return the key and the content of an object that stands for another value; no key, and the value, for others."""
    if isinstance(value, dict) and len(value) == 1 and not _KEYS.isdisjoint(value):
        return next(iter(value.items()))
    return "", value


def _canonical(value: object) -> JsonValue:
    """Copy a value; numbers have one form, and lone surrogates, which JSON cannot represent, are replaced.

    Other values that JSON does not have are represented by objects.
    """
    match value:
        case None | bool() | int():
            return value
        case float() if math.isfinite(value):
            return int(value) if value.is_integer() and abs(value) < _MAX_INTEGER else value
        case str():
            return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case list() | tuple() if not isinstance(value, ParseResult):
            return [_canonical(each) for each in value]
        case dict() if all(isinstance(name, str) for name in value):
            plain = {str(_canonical(name)): _canonical(each) for name, each in value.items()}
            return {"$object": plain} if len(plain) == 1 and not _KEYS.isdisjoint(plain) else plain
        case _:
            return _represent(value)


def _represent(value: object) -> JsonValue:
    """Represent a value that JSON does not have; those of Playwright's client that it makes of JavaScript values."""
    match value:
        case float():
            return {"$numberDouble": "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}
        case datetime():
            return {"$date": value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")}
        case ParseResult():
            return {"$url": _canonical(value.geturl())}
        case re.Pattern() if isinstance(value.pattern, str):
            flags = "".join(name for flag, name in _FLAGS.items() if value.flags & flag)
            return {"$regularExpression": {"pattern": _canonical(value.pattern), "options": flags}}
        case Exception():
            return {"$error": _canonical(f"{getattr(value, 'name', type(value).__name__)}: {value}")}
        case _:
            message = f"JSON cannot represent {type(value).__name__}"
            raise NotJsonError(message)


_FLAGS: Final = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s"}
