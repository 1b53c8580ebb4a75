"""The folders for what Eikon keeps between commands."""

from __future__ import annotations

import os
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


_OTHERS_WRITE: Final = 0o022


def private_cache_folder(home: Path, environ: Mapping[str, str], name: str) -> Path | None:
    """Return a folder in that of `cache_folder` that only this user can write to, and make it if it does not exist.

    None if others could write to it: what is read from it is run. Also if it cannot be made.
    """
    folder = cache_folder(home, environ) / name
    try:
        make_folders(folder)
        found = folder.lstat()
    except OSError:
        return None
    is_ours = found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_WRITE
    return folder if is_ours else None
