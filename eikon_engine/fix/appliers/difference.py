"""The difference between files before and after, as git writes it and takes it."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ApplierFailedError, PatchRejectedError
from eikon_engine.fix.appliers.git_apart import git_apart

if TYPE_CHECKING:
    from collections.abc import Mapping

_DIFFERENT: Final = 1
_HEADER: Final = re.compile(rb"^diff --git [ab]/(.+) [ab]/\1$", re.MULTILINE)
"""Git names a file that is made, or removed, by the same folder twice."""


def difference(before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]) -> str:
    """Return the unified diff of files by their names, None for one that is not there; git applies it to those before.

    Raises:
        PatchRejectedError: git does not.
        ApplierFailedError: git failed.
        GitMissingError: it is not installed.
    """
    with tempfile.TemporaryDirectory(prefix="eikon-fix-") as name:
        scratch = Path(name)
        _write(scratch / "a", before)
        _write(scratch / "b", after)
        arguments = ("diff", "--no-index", "--no-prefix", "--no-renames", "--no-ext-diff", "--no-color", "a", "b")
        diff = _HEADER.sub(rb"diff --git a/\1 b/\1", git_apart(arguments, scratch, may=(0, _DIFFERENT)))
        if diff:
            _demand_applicable(diff, scratch)
    return diff.decode("utf-8", "replace")


def _demand_applicable(diff: bytes, scratch: Path) -> None:
    """Let git check the difference where nothing is but the files before."""
    patch = scratch / "patch"
    patch.write_bytes(diff)
    try:
        git_apart(("apply", "--check", "--whitespace=nowarn", str(patch)), scratch / "a")
    except ApplierFailedError as error:
        raise PatchRejectedError(f"fix: wanted a change that git applies, found: {error.message}") from error


def _write(folder: Path, files: Mapping[str, bytes | None]) -> None:
    folder.mkdir()
    for name, data in files.items():
        if data is not None:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
