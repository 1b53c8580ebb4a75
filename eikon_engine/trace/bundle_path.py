"""Paths that come out of a file: relative to the bundle, and never out of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import BundlePathError

if TYPE_CHECKING:
    from pathlib import Path

_STRAYS: Final = re.compile(r"\A\Z|\A/|\A[A-Za-z]:|\\|\0|(\A|/)\.\.(/|\Z)")


def leads_out(relative: str) -> bool:
    """Say whether the text of a path alone leads out of a bundle, on any operating system."""
    return bool(_STRAYS.search(relative))


def inside(root: Path, relative: str, field: str = "path") -> Path:
    """Resolve a path of a bundle; every path that comes out of a file goes through here.

    Raises:
        BundlePathError: it leads out of `root`, by its text or by a symbolic link.
    """
    if leads_out(relative):
        raise BundlePathError(_message(field, relative, "by its text"))
    path = root / relative
    try:
        strays = not path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError) as error:
        raise BundlePathError(_message(field, relative, "in a circle of links")) from error
    if strays:
        raise BundlePathError(_message(field, relative, "by a symbolic link"))
    return path


def _message(field: str, relative: str, how: str) -> str:
    return (
        f"{field}: wanted a path inside the bundle, relative and with forward slashes; "
        f"found {relative!r}, which leads out {how}; record the mission again or mend the path"
    )
