"""Paths and file names: paths read from a file never leave their bundle; ids become safe file names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import BundlePathError

if TYPE_CHECKING:
    from pathlib import Path

_ESCAPES: Final = re.compile(r"\A\Z|\A/|\A[A-Za-z]:|\\|\0|(\A|/)\.\.(/|\Z)")


def escapes_bundle(relative: str) -> bool:
    """Return whether a path points outside the bundle by its text alone, on any operating system."""
    return bool(_ESCAPES.search(relative))


def resolve_inside(root: Path, relative: str, field: str = "path") -> Path:
    """Resolve a path of a bundle; every path read from a file must pass through here.

    Raises:
        BundlePathError: the path points outside `root`, by its text or through a symbolic link.
    """
    if escapes_bundle(relative):
        raise BundlePathError(_message(field, relative, "by its text"))
    path = root / relative
    try:
        is_outside = not path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError) as error:
        raise BundlePathError(_message(field, relative, "through a loop of links")) from error
    if is_outside:
        raise BundlePathError(_message(field, relative, "through a symbolic link"))
    return path


def _message(field: str, relative: str, how: str) -> str:
    return (
        f"{field}: expected a path inside the bundle, relative and with forward slashes, "
        f"got {relative!r}, which points outside {how}; record the mission again or fix the path"
    )


_MAX_LENGTH = 100


def safe_file_name(text: str, default: str) -> str:
    """Replace unsafe characters by underscores; return `otherwise` if nothing is left."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip(".")[:_MAX_LENGTH] or default
