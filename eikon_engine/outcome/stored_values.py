"""Values in events: inline, or in a separate file if they are large. Nothing is truncated."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from pydantic import Field, JsonValue, ValidationError

from eikon_engine.errors import TraceError
from eikon_engine.files.json_text import canonical_json
from eikon_engine.files.limits import read_document
from eikon_engine.files.models import DeferredAdapter, FileModel, FiniteJson, validation_error
from eikon_engine.files.paths import resolve_inside
from eikon_engine.files.writing import write_atomically

if TYPE_CHECKING:
    from pathlib import Path

INLINE_LIMIT: Final = 64 * 1024
"""Maximum size of an inline value, in bytes of canonical JSON encoded as UTF-8."""

_JSON_ADAPTER: Final[DeferredAdapter[JsonValue]] = DeferredAdapter(FiniteJson)


class InlineValue(FileModel):
    """A value stored in the line itself."""

    kind: Literal["inline"] = "inline"
    value: FiniteJson


class ValueFile(FileModel):
    """A value stored in a separate file as canonical JSON; equal values share one file."""

    kind: Literal["file"] = "file"
    path: str = Field(pattern=r"^values/[0-9a-f]{64}\.json$")
    """Relative to the folder of `events.jsonl`. The file name is the SHA-256 of the content."""
    bytes: int = Field(ge=0)


StoredValue: TypeAlias = Annotated[InlineValue | ValueFile, Field(discriminator="kind")]


class ValueStore:
    """Store and read large values next to an `events.jsonl`."""

    def __init__(self, root: Path) -> None:
        """Use the folder of the `events.jsonl`; the subfolder is created on first use."""
        self._root = root

    def store(self, stored: StoredValue) -> StoredValue:
        """Move a large value into a file; return small values unchanged.

        Raises:
            OutputError: the file cannot be written.
        """
        if isinstance(stored, ValueFile):
            return stored
        content = canonical_json(stored.value).encode()
        if len(content) <= INLINE_LIMIT:
            return stored
        relative = f"values/{hashlib.sha256(content).hexdigest()}.json"
        path = resolve_inside(self._root, relative, "path")
        if not path.exists():
            write_atomically(path, content)
        return ValueFile(path=relative, bytes=len(content))

    def load(self, stored: StoredValue) -> JsonValue:
        """Return a value, reading its file if it has one.

        Raises:
            BundlePathError: a link leads outside the folder.
            TraceError: the file is missing; the file's content does not match its name.
        """
        if isinstance(stored, InlineValue):
            return stored.value
        path = resolve_inside(self._root, stored.path, "path")
        try:
            content = read_document(path, root=self._root)
        except OSError as error:
            message = f"{path}: cannot read a value of events.jsonl: {error.strerror}. Restore the run folder."
            raise TraceError(message, code="attachment-missing") from error
        found = hashlib.sha256(content).hexdigest()
        if f"values/{found}.json" != stored.path:
            message = f"{path}: corrupt file: its content has SHA-256 {found}. Restore the run folder."
            raise TraceError(message, code="attachment-corrupt")
        try:
            return _JSON_ADAPTER.validate_json(content)
        except ValidationError as error:
            raise validation_error(error, content, str(path)) from error
