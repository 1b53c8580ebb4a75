"""Values of events: in the line itself, or in a file beside it where they are large. Nothing is cut off."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from eikon_engine.errors import AttachmentCorruptError, AttachmentMissingError
from eikon_engine.trace.bundle_path import inside
from eikon_engine.trace.field_errors import trace_error
from eikon_engine.trace.json_value import canonical_json
from eikon_engine.trace.record import FiniteJson, Record
from eikon_engine.trace.whole_file import write_whole

if TYPE_CHECKING:
    from pathlib import Path

INLINE_LIMIT: Final = 64 * 1024
"""Bytes of canonical JSON, in UTF-8, up to which a value stands in the line itself."""

_JSON: Final[TypeAdapter[JsonValue]] = TypeAdapter(FiniteJson)


class InlineValue(Record):
    """A value that stands in the line."""

    kind: Literal["inline"] = "inline"
    value: FiniteJson


class ValueFile(Record):
    """A value in a file of its own, as canonical JSON; equal values share a file."""

    kind: Literal["file"] = "file"
    path: str = Field(pattern=r"^values/[0-9a-f]{64}\.json$")
    """Relative to the folder of `events.jsonl`; the name is the SHA-256 of the content."""
    bytes: int = Field(ge=0)


Stored: TypeAlias = Annotated[InlineValue | ValueFile, Field(discriminator="kind")]


class ValueFolder:
    """Keep large values beside an `events.jsonl`, and find them again."""

    def __init__(self, root: Path) -> None:
        """Work in the folder of the `events.jsonl`; nothing is made before it is needed."""
        self._root = root

    def keep(self, stored: Stored) -> Stored:
        """Move a value into a file if it is large.

        Raises:
            OutputError: the file cannot be written.
        """
        if isinstance(stored, ValueFile):
            return stored
        content = canonical_json(stored.value).encode()
        if len(content) <= INLINE_LIMIT:
            return stored
        relative = f"values/{hashlib.sha256(content).hexdigest()}.json"
        path = inside(self._root, relative, "path")
        if not path.exists():
            write_whole(path, content)
        return ValueFile(path=relative, bytes=len(content))

    def value(self, stored: Stored) -> JsonValue:
        """Return a value, from wherever it is.

        Raises:
            BundlePathError: a link leads out of the folder.
            AttachmentMissingError: its file is not there.
            AttachmentCorruptError: its file holds something else.
        """
        if isinstance(stored, InlineValue):
            return stored.value
        path = inside(self._root, stored.path, "path")
        try:
            content = path.read_bytes()
        except OSError as error:
            message = f"{path}: wanted a value that events.jsonl refers to, found {error.strerror}; restore the folder"
            raise AttachmentMissingError(message) from error
        found = hashlib.sha256(content).hexdigest()
        if f"values/{found}.json" != stored.path:
            message = f"{path}: wanted the content its name is the SHA-256 of, found {found}; restore the folder"
            raise AttachmentCorruptError(message)
        try:
            return _JSON.validate_json(content)
        except ValidationError as error:
            raise trace_error(error, content, str(path)) from error
