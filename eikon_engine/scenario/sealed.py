"""Files that hold the digest of their own content, so that an edit by hand is found."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, TypeVar

from pydantic import Field, ValidationError
from pydantic_core import from_json

from eikon_engine.errors import FixtureCorruptError
from eikon_engine.trace.field_errors import trace_error
from eikon_engine.trace.record import Record

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import JsonValue


class Sealed(Record):
    """A record that is written with the digest of its other fields."""

    digest: str = Field(default="", pattern=r"^([0-9a-f]{64})?$")
    """SHA-256 of the other fields as canonical JSON; empty until they are written."""


Kind = TypeVar("Kind", bound=Sealed)


def sealed_text(record: Sealed) -> bytes:
    """Write a record and its digest."""
    content: JsonValue = from_json(record.model_dump_json())
    sealed = record.model_copy(update={"digest": _digest(content)})
    return sealed.model_dump_json(indent=1).encode() + b"\n"


def read_sealed(kind: type[Kind], path: Path) -> Kind:
    """Read what `sealed_text` wrote, and prove that nobody changed it.

    Raises:
        FixtureCorruptError: it cannot be read, is no such record, or is not as it was written.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"{path}: the file cannot be read ({error.strerror}); check its permissions, or record again"
        raise FixtureCorruptError(message) from error
    try:
        record = kind.model_validate_json(data)
    except ValidationError as error:
        raise FixtureCorruptError(trace_error(error, data, str(path)).message) from error
    try:
        found = _digest(from_json(data, allow_inf_nan=False))
    except ValueError as error:
        message = f"{path}: wanted JSON with a digest, found {error}; record again"
        raise FixtureCorruptError(message) from error
    if record.digest != found:
        wanted = f"{record.digest[:12]}…" if record.digest else "none"
        message = (
            f"{path}: the digest that stands in it is {wanted}, that of its content {found[:12]}…: it was damaged, or "
            "edited by hand; record again"
        )
        raise FixtureCorruptError(message)
    return record


def _digest(content: JsonValue) -> str:
    """Digest what was parsed, which is JSON, as `canonical_json` would write it."""
    if isinstance(content, dict):
        content = {name: value for name, value in content.items() if name != "digest"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
