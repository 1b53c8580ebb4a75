"""Symbolic links of a tree, which have to lead to the same places of its copy.

What tests and fixes write through a link of the copy must not reach the user's files.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from eikon_engine.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def demand_links_inside(root: Path, files: Iterable[str]) -> None:
    """Make sure that no link leads out of a tree.

    Raises:
        UsageError: one does.
    """
    for each in files:
        if (root / each).is_symlink():
            text_in_copy(root, each)


def text_in_copy(root: Path, name: str) -> str:
    """Return what a link has to say in a copy: the same if that stays inside, else a relative path to the same place.

    Raises:
        UsageError: it leads out of the tree, or to itself.
    """
    link = root / name
    text = os.readlink(link)  # noqa: PTH115 - the text as it is; a Path would make it plain
    place = _place(link)
    if place is None or not place.is_relative_to(root):
        found = "one to itself" if place is None else f"one to {place}"
        message = (
            f"{name}: wanted links that stay inside of {root}, found {found}, where tests of a fix could change what "
            "is no copy; remove the link, or have git ignore it"
        )
        raise UsageError(message)
    if os.path.isabs(text) or not _stays_inside(name, text):  # noqa: PTH117 - as above
        return os.path.relpath(place, link.parent.resolve())
    return text


def _place(link: Path) -> Path | None:
    try:
        return link.resolve()
    except (OSError, RuntimeError):
        return None


def _stays_inside(name: str, text: str) -> bool:
    """Say whether a relative link names nothing above the root on its way."""
    depth = name.count("/")
    for part in text.split("/"):
        depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
        if depth < 0:
            return False
    return True
