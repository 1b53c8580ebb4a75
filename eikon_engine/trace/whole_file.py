"""Write files whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from eikon_engine.errors import OutputError

_FILE_MODE = 0o666


def write_whole(path: Path, data: bytes) -> None:
    """Put `data` at `path` in one step: a reader sees the old file or the new one, never half of it.

    The folder is made if it is missing. The content reaches the disk before the name does.

    Raises:
        OutputError: the file cannot be written.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        temporary = Path(name)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(_FILE_MODE & ~_current_umask())
        temporary.replace(path)
        temporary = None
    except OSError as error:
        raise OutputError(cannot_write(path, error)) from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()


def cannot_write(path: Path, error: OSError) -> str:
    """Say which file could not be written, and why."""
    return f"cannot write {path}: {error.strerror or error}; choose a folder that can be written"


def _current_umask() -> int:
    """Ask for the umask; the only way to read it is to set it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
