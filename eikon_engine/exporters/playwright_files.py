"""Companion files of an exported test: its storage state and uploads."""

from __future__ import annotations

import hashlib
import mimetypes
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from eikon_engine.exporters.python_source import string_literal
from eikon_engine.trace.file_name import safe_file_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.trace.actions import FileInput
    from eikon_engine.trace.blobs import BlobRef

STORAGE_STATE: Final = "storage_state.json"


@dataclass(slots=True, kw_only=True)
class CompanionFiles:
    """Companion files of a test (mutable: uploads are added while it is written)."""

    read_file: Callable[[BlobRef], bytes]
    """Returns the content of an uploaded file."""
    storage_state: str | None = None
    """Storage state as Playwright JSON; None if the mission started without."""
    uploads: dict[str, bytes] = field(default_factory=dict)

    def add_upload(self, file: FileInput) -> str:
        """Store an uploaded file and return the source of its `set_input_files` argument."""
        content = self.read_file(file.content)
        safe = safe_file_name(file.name, "upload")
        name = safe
        if name == STORAGE_STATE or self.uploads.get(name, content) != content:
            name = f"{hashlib.sha256(content).hexdigest()[:8]}_{PurePosixPath(safe).name}"
        self.uploads[name] = content
        path = f"FILES / {string_literal(name)}"
        if name == file.name and mimetypes.guess_type(name)[0] == file.mime_type:
            return path
        described = f'"name": {string_literal(file.name)}, "mimeType": {string_literal(file.mime_type)}'
        return f'{{{described}, "buffer": ({path}).read_bytes()}}'


def file_contents(companions: CompanionFiles) -> dict[str, bytes]:
    """Return the contents of all files by name."""
    state = {} if companions.storage_state is None else {STORAGE_STATE: companions.storage_state.encode()}
    return {**state, **companions.uploads}
