"""Symbolic links of a tree, which must point to the same files of its copy.

Writes through a link in the copy must not reach the user's files.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from eikon_engine.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def require_links_inside(root: Path, files: Iterable[str]) -> None:
    """Check that no symlink points outside the tree.

    Raises:
        UsageError: one does.
    """
    for each in files:
        if (root / each).is_symlink():
            link_target_in_copy(root, each)


def link_target_in_copy(root: Path, name: str) -> str:
    """Return the target of a symlink in the copy: unchanged if it stays inside, otherwise a relative path.

    Raises:
        UsageError: the link points outside the tree or to itself.
    """
    link = root / name
    text = os.readlink(link)  # noqa: PTH115 - the raw text; a Path would normalize it
    place = _resolve_link(link)
    if place is None or not place.is_relative_to(root):
        found = "a link to itself" if place is None else f"a link to {place}"
        message = (
            f"{name}: expected a symlink that stays inside {root}, got {found}: tests of a fix could write to your "
            "files through it. Remove the link, or add it to .gitignore."
        )
        raise UsageError(message)
    if os.path.isabs(text) or not _stays_inside(name, text):  # noqa: PTH117 - as above
        return os.path.relpath(place, link.parent.resolve())
    return text


def _resolve_link(link: Path) -> Path | None:
    try:
        return link.resolve()
    except (OSError, RuntimeError):
        return None


def _stays_inside(name: str, text: str) -> bool:
    """Return whether a relative link never leaves the root on the way."""
    depth = name.count("/")
    for part in text.split("/"):
        depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
        if depth < 0:
            return False
    return True
