"""Find the configuration of a project; cheap, because every replay searches, and most find none."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.errors import UsageError
from eikon_engine.files.limits import MAX_SETTINGS_BYTES, parse_toml, read_file

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

CONFIGURATION_FILE: Final = "eikon.toml"
PYPROJECT_FILE: Final = "pyproject.toml"
PYPROJECT_TABLE: Final = "tool.eikon"

_KEY: Final = re.compile(rb"(?<![\w-])eikon(?![\w-])")
"""The key `eikon`; a file without it has no table of ours, and is not parsed."""


def find_configuration(start: Path, known: MutableMapping[Path, Path | None] | None = None) -> Path | None:
    """Return the file that configures a bundle (its folder or file), from the nearest folder upwards that has one.

    `known` has the result of each folder that was searched before, and gets those of this search: the folders above
    many bundles are searched once.

    Raises:
        UsageError: a folder has two configurations; a `pyproject.toml` that may have one cannot be read.
    """
    results = {} if known is None else known
    folder, found, searched = _folder_of(start), None, list[Path]()
    while folder not in results:
        searched.append(folder)
        found = _configuration_in(folder)
        if found is not None or folder == folder.parent:
            break
        folder = folder.parent
    else:
        found = results[folder]
    results.update(dict.fromkeys(searched, found))
    return found


def find_own_configuration(start: Path) -> Path | None:
    """As `find_configuration`, but only a file in the working directory or above it, not in the bundle, and the user's.

    A configuration names programs to start and files to read, so that of a stranger is not used unasked.

    Raises:
        UsageError: as `find_configuration`; the nearest file is elsewhere.
    """
    found = find_configuration(start)
    if found is None:
        return None
    from eikon_engine.trace.trace_file import TRACE_FILE  # noqa: PLC0415 - slow, and rarely used

    working, folder = Path.cwd(), found.parent.resolve()
    is_above = folder in (working, *working.parents)
    where = ""
    if not is_above:
        where = f"neither in the working directory ({working}) nor above it"
    elif found.parent == _folder_of(start) and (folder / TRACE_FILE).exists():
        where = "in the bundle"
    elif _may_be_of_others(found):
        where = "of another user, in a folder that everybody may write"
    if where:
        raise UsageError(
            f"{found}: expected a configuration of yours, got one that is {where}; if you trust it, add --config "
            f"{found}, else --no-config"
        )
    return found


def _may_be_of_others(file: Path) -> bool:
    """Return whether another user put a file into a folder such as /tmp."""
    is_shared = file.parent.stat().st_mode & stat.S_IWOTH != 0
    return is_shared and os.name == "posix" and file.stat().st_uid not in {os.getuid(), 0}


def searched_folders(start: Path) -> tuple[Path, ...]:
    """Return the folders in which `find_configuration` looks, the nearest first."""
    folder = _folder_of(start)
    return (folder, *folder.parents)


def absolute_path(path: Path) -> Path:
    """Return an absolute path without `..`; links are kept, so that a linked bundle belongs to the project it is in."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - pathlib removes `..` only together with links


def read_toml(path: Path) -> dict[str, Any]:
    """Parse a TOML file.

    Raises:
        UsageError: the file cannot be read or parsed; the message has the line.
    """
    try:
        return parse_toml(read_file(path, limit=MAX_SETTINGS_BYTES))
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


def _folder_of(start: Path) -> Path:
    path = absolute_path(start)
    return path if path.is_dir() else path.parent


def _configuration_in(folder: Path) -> Path | None:
    own, shared = os.path.join(folder, CONFIGURATION_FILE), os.path.join(folder, PYPROJECT_FILE)  # noqa: PTH118 - fast
    has_own, has_shared = os.path.isfile(own), os.path.isfile(shared) and _is_configuration(Path(shared))  # noqa: PTH113
    if has_own and has_shared:
        raise UsageError(
            f"{folder}: expected one configuration, got {CONFIGURATION_FILE} and [{PYPROJECT_TABLE}] of "
            f"{PYPROJECT_FILE}; remove one of them"
        )
    return Path(own) if has_own else Path(shared) if has_shared else None


def _is_configuration(path: Path) -> bool:
    try:
        content = read_file(path, limit=MAX_SETTINGS_BYTES)
    except OSError as error:
        raise UsageError(f"{path}: expected a readable configuration, got: {error.strerror}") from error
    return _KEY.search(content) is not None and pyproject_table(read_toml(path)) is not None
