"""Write several files, all of them or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.errors import OutputError, PatchRejectedError
from eikon_engine.trace.whole_file import write_atomically, write_error_message

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def write_files(tree: Path, before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]) -> None:
    """Write new contents, None to remove a file; permissions are kept. `before` is restored on error.

    Raises:
        OutputError: a file cannot be written; the others are restored.
    """
    done: list[str] = []
    try:
        for name, data in after.items():
            done.append(name)
            _write_or_remove(tree / name, data)
    except OutputError:
        for name in done:
            _write_or_remove(tree / name, before[name])
        raise


def read_bytes(tree: Path, name: str) -> bytes | None:
    """Read a file; None if it does not exist.

    Raises:
        PatchRejectedError: it cannot be read.
    """
    try:
        return (tree / name).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PatchRejectedError(f"{name}: cannot be read: {error.strerror}") from error


def _write_or_remove(path: Path, data: bytes | None) -> None:
    try:
        mode = path.stat().st_mode & 0o7777 if path.exists() else None
        if data is None:
            path.unlink(missing_ok=True)
            return
        write_atomically(path, data)
        if mode is not None:
            path.chmod(mode)
    except OSError as error:
        raise OutputError(write_error_message(path, error)) from error
