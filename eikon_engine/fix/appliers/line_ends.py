"""Restore CRLF line endings that a program rewrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.errors import PatchRejectedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from eikon_engine.fix.appliers.tree_before import TreeSnapshot


def restore_line_endings(tree: Path, names: Sequence[str], before: TreeSnapshot) -> None:
    """Rewrite files that had CRLF on every line and lost it; permissions are kept.

    Raises:
        PatchRejectedError: a file had mixed line endings, which cannot be restored.
    """
    for name in names:
        old, path = before.content(name), tree / name
        if old is None or b"\r\n" not in old or not path.is_file():
            continue
        new = path.read_bytes()
        if new.count(b"\r\n") == new.count(b"\n"):
            continue
        if old.count(b"\r\n") != old.count(b"\n"):
            message = f"fix for {name!r}: expected uniform line endings, got LF and CRLF. Normalize them first."
            raise PatchRejectedError(message)
        path.write_bytes(new.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
