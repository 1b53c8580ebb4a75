"""Records that contain the digest of their own content, which reveals manual edits."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, TypeVar

from pydantic import Field, ValidationError
from pydantic_core import from_json

from eikon_engine.errors import FixtureCorruptError
from eikon_engine.trace.field_errors import validation_error
from eikon_engine.trace.record import FileModel

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import JsonValue


class DigestedRecord(FileModel):
    """A record with a digest of its other fields."""

    digest: str = Field(default="", pattern=r"^([0-9a-f]{64})?$")
    """SHA-256 of the other fields as canonical JSON; empty until written."""


RecordType = TypeVar("RecordType", bound=DigestedRecord)


def digested_text(record: DigestedRecord) -> bytes:
    """Serialize a record with its digest."""
    content: JsonValue = from_json(record.model_dump_json())
    sealed = record.model_copy(update={"digest": _content_digest(content)})
    return sealed.model_dump_json(indent=1).encode() + b"\n"


def read_digested(kind: type[RecordType], path: Path) -> RecordType:
    """Read a record that `digested_text` serialized, and verify its digest.

    Raises:
        FixtureCorruptError: it cannot be read, is invalid, or was changed.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"{path}: the file cannot be read ({error.strerror}). Check its permissions, or record again."
        raise FixtureCorruptError(message) from error
    try:
        record = kind.model_validate_json(data)
    except ValidationError as error:
        raise FixtureCorruptError(validation_error(error, data, str(path)).message) from error
    try:
        found = _content_digest(from_json(data, allow_inf_nan=False))
    except ValueError as error:
        message = f"{path}: expected JSON with a digest, got {error}. Record again."
        raise FixtureCorruptError(message) from error
    if record.digest != found:
        wanted = f"{record.digest[:12]}…" if record.digest else "none"
        message = (
            f"{path}: expected digest {wanted} as in the file, got {found[:12]}… for its content. The file is corrupt "
            "or was edited. Record again."
        )
        raise FixtureCorruptError(message)
    return record


def _content_digest(content: JsonValue) -> str:
    """Return the digest of parsed JSON, serialized like `canonical_json`."""
    if isinstance(content, dict):
        content = {name: value for name, value in content.items() if name != "digest"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
