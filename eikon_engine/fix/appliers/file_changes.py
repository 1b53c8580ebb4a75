"""Diff and write several files: all of them, or none."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ApplierFailedError, FixError, OutputError
from eikon_engine.files.temporary import temporary_folder
from eikon_engine.files.writing import write_error_message, write_public
from eikon_engine.fix.git import run_isolated_git

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_DIFFERS: Final = 1
_HEADER: Final = re.compile(rb"^diff --git [ab]/(.+) [ab]/\1$", re.MULTILINE)
"""git writes the same prefix twice for a new or removed file."""


def unified_diff(before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]) -> str:
    """Return the unified diff of files by name, None for a missing file, verified with `git apply --check`.

    Raises:
        FixError: git cannot apply it.
        ApplierFailedError: git failed.
        RequirementError: git is not installed.
    """
    with temporary_folder("diff") as scratch:
        _write_tree(scratch / "a", before)
        _write_tree(scratch / "b", after)
        arguments = ("diff", "--no-index", "--no-prefix", "--no-renames", "--no-ext-diff", "--no-color", "a", "b")
        diff = _HEADER.sub(
            rb"diff --git a/\1 b/\1", run_isolated_git(arguments, scratch, allowed_statuses=(0, _DIFFERS))
        )
        if diff:
            _require_applicable(diff, scratch)
    return diff.decode("utf-8", "replace")


def _require_applicable(diff: bytes, scratch: Path) -> None:
    """Check with git that the diff applies to the files before."""
    patch = scratch / "patch"
    patch.write_bytes(diff)
    try:
        run_isolated_git(("apply", "--check", "--whitespace=nowarn", str(patch)), scratch / "a")
    except ApplierFailedError as error:
        raise FixError(f"fix: git cannot apply it: {error.message}", code="patch-rejected") from error


def _write_tree(folder: Path, files: Mapping[str, bytes | None]) -> None:
    folder.mkdir()
    for name, data in files.items():
        if data is not None:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def write_files(tree: Path, before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]) -> None:
    """Write new contents, None to remove a file; permissions are kept. `before` is restored on error.

    Raises:
        OutputError: a file cannot be written; the others are restored.
    """
    written: list[str] = []
    try:
        for name, data in after.items():
            written.append(name)
            _write_or_remove(tree / name, data)
    except OutputError:
        for name in written:
            _write_or_remove(tree / name, before[name])
        raise


def read_bytes(tree: Path, name: str) -> bytes | None:
    """Read a file; None if it does not exist.

    Raises:
        FixError: it cannot be read.
    """
    try:
        return (tree / name).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FixError(f"{name}: cannot be read: {error.strerror}", code="patch-rejected") from error


def _write_or_remove(path: Path, data: bytes | None) -> None:
    try:
        mode = path.stat().st_mode & 0o7777 if path.exists() else None
        if data is None:
            path.unlink(missing_ok=True)
            return
        write_public(path, data)
        if mode is not None:
            path.chmod(mode)
    except OSError as error:
        raise OutputError(write_error_message(path, error)) from error
