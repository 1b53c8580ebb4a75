"""Find the configuration of a project; cheap, because every replay searches, and most find none."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

CONFIGURATION_FILE: Final = "eikon.toml"
PYPROJECT_FILE: Final = "pyproject.toml"
PYPROJECT_TABLE: Final = "tool.eikon"

_KEY: Final = re.compile(rb"(?<![\w-])eikon(?![\w-])")
"""The key `eikon`; a file without it has no table of ours, and is not parsed."""


def find_configuration(start: Path) -> Path | None:
    """Return the file that configures a bundle (its folder or file), from the nearest folder upwards that has one.

    Raises:
        UsageError: a folder has two configurations; a `pyproject.toml` that may have one cannot be read.
    """
    for folder in searched_folders(start):
        own, shared = folder / CONFIGURATION_FILE, folder / PYPROJECT_FILE
        found = [path for path, is_found in ((own, own.is_file()), (shared, _is_configuration(shared))) if is_found]
        if len(found) > 1:
            raise UsageError(
                f"{folder}: expected one configuration, got {CONFIGURATION_FILE} and [{PYPROJECT_TABLE}] of "
                f"{PYPROJECT_FILE}; remove one of them"
            )
        if found:
            return found[0]
    return None


def searched_folders(start: Path) -> tuple[Path, ...]:
    """Return the folders in which `find_configuration` looks, the nearest first."""
    path = absolute_path(start)
    return (path, *path.parents) if path.is_dir() else tuple(path.parents)


def absolute_path(path: Path) -> Path:
    """Return an absolute path without `..`; links are kept, so that a linked bundle belongs to the project it is in."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - pathlib removes `..` only together with links


def read_toml(path: Path) -> dict[str, Any]:
    """Parse a TOML file.

    Raises:
        UsageError: the file cannot be read or parsed; the message has the line.
    """
    import tomllib  # noqa: PLC0415 - takes longer to import than a search that finds nothing

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: expected a readable configuration, got: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: expected text in UTF-8, got: {error.reason} at byte {error.start}") from error
    except ValueError as error:
        raise UsageError(f"{path}: expected a TOML file, got: {error}") from error


def pyproject_table(data: Mapping[str, Any]) -> object:
    """Return `[tool.eikon]` of the data of a `pyproject.toml`; None if there is none."""
    tool = data.get("tool")
    return tool.get("eikon") if isinstance(tool, dict) else None


def _is_configuration(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: expected a readable configuration, got: {error.strerror}") from error
    return _KEY.search(content) is not None and pyproject_table(read_toml(path)) is not None
