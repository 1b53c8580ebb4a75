"""`read_file`: read files below one folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.scenario.tool_box import Tool

if TYPE_CHECKING:
    from eikon_engine.scenario.fixtures import ToolResultValue

DEFAULT_MAX_BYTES: Final = 10 * 1024 * 1024
"""Default size limit of a file, in bytes."""


class FileRefusedError(Exception):
    """A file that is not allowed or cannot be read."""


def make_read_file_tool(root: Path) -> Tool:
    """Return a tool that reads files below `root`, by relative path."""

    def read_file(path: str, max_bytes: int = DEFAULT_MAX_BYTES) -> dict[str, ToolResultValue]:
        """Read a file of the allowed folder: as text if it is UTF-8, else as bytes."""
        content = _read_content(root, path, max_bytes)
        result: dict[str, ToolResultValue] = {"path": path, "size": len(content)}
        try:
            return {**result, "text": content.decode()}
        except UnicodeDecodeError:
            return {**result, "body": content}

    return Tool(read_file)


def _read_content(root: Path, path: str, max_bytes: int) -> bytes:
    """Read a file after resolving all links, so that none leads outside `root`."""
    if not path or "\0" in path or Path(path).is_absolute():
        message = f"expected a path relative to the allowed folder, got {path!r}"
        raise FileRefusedError(message)
    try:
        real = (root / path).resolve(strict=True)
        if not real.is_relative_to(root.resolve(strict=True)):
            message = f"{path}: expected a file inside the allowed folder, got one outside"
            raise FileRefusedError(message)
        handle = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                message = f"{path}: expected a regular file, got another type"
                raise FileRefusedError(message)
            content = file.read(max_bytes + 1)
    except OSError as error:
        message = f"{path}: the file cannot be read ({error.strerror})"
        raise FileRefusedError(message) from error
    except RuntimeError as error:
        message = f"{path}: expected a file, got a loop of links"
        raise FileRefusedError(message) from error
    if len(content) > max_bytes:
        message = f"{path}: expected at most {max_bytes} bytes, got more. Increase max_bytes."
        raise FileRefusedError(message)
    return content
