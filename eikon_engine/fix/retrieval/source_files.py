"""The files of a project that may be shown to a model, and those that changed recently."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import BundlePathError
from eikon_engine.files.paths import resolve_inside
from eikon_engine.files.text import is_utf8
from eikon_engine.fix.git import split_names, try_git

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_FILE_BYTES: Final = 256 << 10
MAX_FILES: Final = 5000
_SKIPPED_FOLDERS: Final = frozenset(
    {"__pycache__", "build", "dist", "htmlcov", "node_modules", "site-packages", "target", "vendor", "venv"}
)
_NOT_SOURCE: Final = re.compile(
    r"\..*|.*\.(?:pem|key|p12|pfx|crt|lock|min\.js|min\.css|map|svg|log|jsonl|ipynb)|id_(?:rsa|dsa|ecdsa|ed25519)"
    r"|package-lock\.json|pnpm-lock\.yaml|credentials.*|secrets?\..*",
    re.IGNORECASE,
)
"""Hidden files, keys, and generated files."""


def source_files(tree: Path) -> dict[str, str]:
    """Return the texts of a tree by file name, in order.

    Hidden, large and binary files, symlinks, and files with non-UTF-8 names are omitted.
    """
    found: dict[str, str] = {}
    for name in _source_names(tree):
        text = read_source(tree, name)
        if text:
            found[name] = text
        if len(found) == MAX_FILES:
            break
    return found


def read_source(tree: Path, name: str) -> str | None:
    """Return the text of a file inside a tree; None if it is outside, or not showable text."""
    try:
        path = resolve_inside(tree, name)
        if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_FILE_BYTES:
            return None
        text = path.read_bytes().decode()
    except (BundlePathError, OSError, UnicodeDecodeError):
        return None
    return None if "\0" in text else text


def is_source_name(name: str) -> bool:
    """Return whether a file is source, by its name."""
    return _NOT_SOURCE.fullmatch(Path(name).name) is None


def _source_names(tree: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(tree):
        here = Path(folder)
        folders[:] = sorted(
            name
            for name in folders
            if name not in _SKIPPED_FOLDERS and not name.startswith(".") and not (here / name).is_symlink()
        )
        found = ((here / name).relative_to(tree).as_posix() for name in sorted(names) if is_source_name(name))
        yield from (name for name in found if is_utf8(name))


COMMITS: Final = 10


def recently_changed_files(repository: Path | None) -> frozenset[str]:
    """Return the files of the last commits, relative to the root; empty without history.

    Raises:
        RequirementError: git is not installed.
    """
    if repository is None:
        return frozenset()
    process = try_git(
        repository,
        "log",
        f"--max-count={COMMITS}",
        "--no-merges",
        "--format=",
        "--name-only",
        "-z",
        "--relative",
        "HEAD",
    )
    return frozenset(split_names(process.stdout)) if process.returncode == 0 else frozenset()
