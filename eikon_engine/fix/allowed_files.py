"""Which files a fix may change."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from eikon_engine.errors import FixError
from eikon_engine.files.paths import escapes_bundle
from eikon_engine.fix.change_policy import protecting_pattern

_MAX_NAME_BYTES: Final = 230
"""Bytes of a name; file systems take 255, and temporary names are up to 25 longer."""
_MAX_PATH_BYTES: Final = 1024
_SHOWN: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedFiles:
    """The files that may change: the targets, or without any all unprotected ones; the loop restricts these further.

    A fix that changes tests proves nothing. To allow it, name them as targets.
    """

    tree: Path
    targets: tuple[str, ...]
    """Files and folders, relative to the tree; empty for all files that no default pattern protects."""

    def require(self, name: str) -> str:
        """Return a file name in normalized form.

        Raises:
            FixError: the name is invalid, leads out of the tree, into `.git` or through a symlink, is not a
                regular file, or is not allowed.
        """
        _require_valid_name(name)
        if escapes_bundle(name):
            raise _rejected(name, "a path inside the tree", "one outside")
        plain = PurePosixPath(name)
        if not plain.parts:
            raise _rejected(name, "the path of a file", "the tree itself")
        if any(part.lower().rstrip(". ") == ".git" for part in plain.parts):
            raise _rejected(name, "a file of the project", "a file of git")
        self._require_regular(plain, name)
        self._require_allowed(plain, name)
        return plain.as_posix()

    def _require_regular(self, plain: PurePosixPath, name: str) -> None:
        """Reject symlinks in any part of the path."""
        *folders, path = (self.tree.joinpath(*plain.parts[:length]) for length in range(1, len(plain.parts) + 1))
        for each in (*folders, path):
            if each.is_symlink():
                raise _rejected(name, "a file itself", f"a symlink at {each.relative_to(self.tree).as_posix()}")
        if any(each.exists() and not each.is_dir() for each in folders) or (path.exists() and not path.is_file()):
            raise _rejected(name, "a regular file", "something else")

    def _require_allowed(self, plain: PurePosixPath, name: str) -> None:
        targets = [PurePosixPath(each) for each in self.targets]
        if targets and not any(plain.is_relative_to(each) for each in targets):
            raise _rejected(name, f"one of the target files ({', '.join(self.targets)})", "another file")
        pattern = None if targets else protecting_pattern(plain.as_posix())
        if pattern is not None:
            found = f"one protected by the pattern {pattern!r}; to allow it, name it with --target-file"
            raise _rejected(name, "a file that a fix may change", found)


def _require_valid_name(name: str) -> None:
    """Check that the file system can store the name, and a temporary name derived from it."""
    try:
        data = name.encode()
    except UnicodeEncodeError:
        raise _rejected(name, "a file name", "invalid characters") from None
    if len(data) > _MAX_PATH_BYTES or any(len(part) > _MAX_NAME_BYTES for part in data.split(b"/")):
        found = f"a path of {len(data)} bytes"
        raise _rejected(name, f"up to {_MAX_PATH_BYTES} bytes, {_MAX_NAME_BYTES} between slashes", found)


def _rejected(name: str, expected: str, found: str) -> FixError:
    shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"
    return FixError(f"fix for {shown!r}: expected {expected}, got {found}. Nothing was changed.", code="patch-rejected")
