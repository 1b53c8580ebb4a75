"""The folders for what Eikon keeps between commands."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.files.writing import make_folders

if TYPE_CHECKING:
    from collections.abc import Mapping


def state_folder(home: Path, environ: Mapping[str, str]) -> Path:
    """Return `eikon` in the user's state folder: that of XDG_STATE_HOME if it is absolute, else `~/.local/state`.

    Source: https://specifications.freedesktop.org/basedir-spec/latest/
    """
    named = Path(environ.get("XDG_STATE_HOME") or "")
    return (named if named.is_absolute() else home / ".local" / "state") / "eikon"


def cache_folder(home: Path, environ: Mapping[str, str]) -> Path:
    """Return `eikon` in the user's cache folder: that of XDG_CACHE_HOME if it is absolute, else `~/.cache`."""
    named = Path(environ.get("XDG_CACHE_HOME") or "")
    return (named if named.is_absolute() else home / ".cache") / "eikon"


_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


def private_cache_folder(home: Path, environ: Mapping[str, str], name: str) -> Path | None:
    """Return a folder in that of `cache_folder` that only this user can change, and make it if it does not exist.

    None if others could change or replace it, since what is read from it is run; also if it cannot be made.
    """
    folder = cache_folder(home, environ) / name
    try:
        make_folders(folder)
        is_safe = folder.lstat().st_uid == os.geteuid() and all(map(_is_out_of_reach, (folder, *folder.parents)))
    except OSError:
        return None
    return folder if is_safe else None


def _is_out_of_reach(folder: Path) -> bool:
    """Whether no other user can change a folder, or what this user has in it; a link counts as one that they can."""
    found = folder.lstat()
    is_writable = found.st_mode & _OTHERS_WRITE and not found.st_mode & stat.S_ISVTX
    return stat.S_ISDIR(found.st_mode) and found.st_uid in {os.geteuid(), 0} and not is_writable
