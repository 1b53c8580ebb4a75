"""The folders for what Eikon keeps between commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

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
