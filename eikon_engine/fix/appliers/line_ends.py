"""Give texts that another program wrote the ends of lines that they had."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.errors import PatchRejectedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from eikon_engine.fix.appliers.tree_before import TreeBefore


def keep_line_ends(tree: Path, names: Sequence[str], before: TreeBefore) -> None:
    """Write files anew that had CRLF at the end of each line and have it no more; modes stay.

    Raises:
        PatchRejectedError: a file had both ends, which no longer can be told apart.
    """
    for name in names:
        old, path = before.data(name), tree / name
        if old is None or b"\r\n" not in old or not path.is_file():
            continue
        new = path.read_bytes()
        if new.count(b"\r\n") == new.count(b"\n"):
            continue
        if old.count(b"\r\n") != old.count(b"\n"):
            message = f"fix for {name!r}: wanted lines that all end alike, found LF and CRLF; make them alike first"
            raise PatchRejectedError(message)
        path.write_bytes(new.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
