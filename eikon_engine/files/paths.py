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
    how = _leaves(root, path)
    if how is not None:
        raise BundlePathError(_message(field, relative, how))
    return path


def require_inside(root: Path, path: Path) -> None:
    """Check that a path below a folder stays inside it; the folder itself may be a symbolic link.

    Raises:
        BundlePathError: a symbolic link leads outside.
    """
    how = _leaves(root, path)
    if how is not None:
        message = f"{path}: expected a file inside {root}, got one that is outside {how}; remove the link"
        raise BundlePathError(message)


def _leaves(root: Path, path: Path) -> str | None:
    """Return how a path leaves a folder by its symbolic links; None if it stays inside."""
    try:
        is_outside = not path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):
        return "through a loop of links"
    return "through a symbolic link" if is_outside else None


def _message(field: str, relative: str, how: str) -> str:
    return (
        f"{field}: expected a path inside the bundle, relative and with forward slashes, "
        f"got {relative!r}, which points outside {how}; record the mission again or fix the path"
    )


_MAX_LENGTH = 100


def safe_file_name(text: str, default: str) -> str:
    """Replace unsafe characters by underscores; return `otherwise` if nothing is left."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip(".")[:_MAX_LENGTH] or default
