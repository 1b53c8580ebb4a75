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


def private_cache_folder(home: Path, environ: Mapping[str, str], name: str) -> Path | None:
    """Return a folder in that of `cache_folder` that only this user can read and change; it is made if it is missing.

    None if others could change or replace it, since what is read from it is run, or if it cannot be made.
    """
    folder = cache_folder(home, environ) / name
    try:
        if not (folder.is_absolute() and all(map(_is_out_of_reach, filter(Path.exists, folder.parents)))):
            return None
        make_folders(folder)
        found = folder.lstat()
    except OSError:
        return None
    is_private = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & _BITS_OF_OTHERS
    return folder if is_private else None


_BITS_OF_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


def _is_out_of_reach(folder: Path) -> bool:
    """Whether no other user but root can replace what this user has in a folder; a link counts as one that they can."""
    found = folder.lstat()
    is_writable = found.st_mode & _OTHERS_WRITE and not found.st_mode & stat.S_ISVTX
    return stat.S_ISDIR(found.st_mode) and found.st_uid in {os.geteuid(), 0} and not is_writable
