"""Files that lie beside an exported test: the storage state that it begins with, and what it uploads."""

from __future__ import annotations

import hashlib
import mimetypes
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from eikon_engine.exporters.python_source import quoted
from eikon_engine.trace.file_name import file_name_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.trace.actions import FileInput
    from eikon_engine.trace.blobs import BlobRef

STORAGE_STATE: Final = "storage_state.json"


@dataclass(slots=True, kw_only=True)
class Companions:
    """What lies beside a test; mutable, because uploads are found one after the other."""

    get: Callable[[BlobRef], bytes]
    """The content of an uploaded file."""
    storage_state: str | None = None
    """Playwright's format; None where the mission began without cookies and storage."""
    uploads: dict[str, bytes] = field(default_factory=dict)

    def source(self, file: FileInput) -> str:
        """Keep an uploaded file, and write what gives it to a field under its own name."""
        content = self.get(file.content)
        safe = file_name_for(file.name, "upload")
        name = safe
        if name == STORAGE_STATE or self.uploads.get(name, content) != content:
            name = f"{hashlib.sha256(content).hexdigest()[:8]}_{PurePosixPath(safe).name}"
        self.uploads[name] = content
        path = f"FILES / {quoted(name)}"
        if name == file.name and mimetypes.guess_type(name)[0] == file.mime_type:
            return path
        described = f'"name": {quoted(file.name)}, "mimeType": {quoted(file.mime_type)}'
        return f'{{{described}, "buffer": ({path}).read_bytes()}}'


def companion_files(companions: Companions) -> dict[str, bytes]:
    """Return the contents of the files by name."""
    state = {} if companions.storage_state is None else {STORAGE_STATE: companions.storage_state.encode()}
    return {**state, **companions.uploads}
