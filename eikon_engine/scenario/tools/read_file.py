"""`read_file`: files below one folder, and nothing else."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.scenario.tool import Tool

if TYPE_CHECKING:
    from eikon_engine.scenario.stored_result import Result

LARGEST: Final = 10 * 1024 * 1024
"""Bytes of a file, unless another limit is given."""


class FileRefusedError(Exception):
    """A file that may not be read, or cannot be."""


def read_file_below(root: Path) -> Tool:
    """Return a tool that reads files below `root`, which are named relative to it."""

    def read_file(path: str, max_bytes: int = LARGEST) -> dict[str, Result]:
        """Read a file of the allowed folder: its text, or its bytes where it is none in UTF-8."""
        content = _content(root, path, max_bytes)
        told: dict[str, Result] = {"path": path, "size": len(content)}
        try:
            return {**told, "text": content.decode()}
        except UnicodeDecodeError:
            return {**told, "body": content}

    return Tool(read_file)


def _content(root: Path, path: str, max_bytes: int) -> bytes:
    """Read a file by the path that is left when all links are followed, so that none leads out."""
    if not path or "\0" in path or Path(path).is_absolute():
        message = f"wanted a path relative to the allowed folder, found {path!r}"
        raise FileRefusedError(message)
    try:
        real = (root / path).resolve(strict=True)
        if not real.is_relative_to(root.resolve(strict=True)):
            message = f"{path}: wanted a file inside the allowed folder, found one outside of it"
            raise FileRefusedError(message)
        handle = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                message = f"{path}: wanted a file, found something else"
                raise FileRefusedError(message)
            content = file.read(max_bytes + 1)
    except OSError as error:
        message = f"{path}: wanted a file that can be read, found {error.strerror}"
        raise FileRefusedError(message) from error
    except RuntimeError as error:
        message = f"{path}: wanted a file, found a circle of links"
        raise FileRefusedError(message) from error
    if len(content) > max_bytes:
        message = f"{path}: wanted at most {max_bytes} bytes, found more; give max_bytes more"
        raise FileRefusedError(message)
    return content
