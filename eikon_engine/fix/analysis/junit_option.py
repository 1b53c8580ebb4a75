"""Add the JUnit report option to a pytest command."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_PYTEST: Final = re.compile(
    r"\s*(?:[A-Za-z_]\w*=[\w./:,@%+-]*\s+)*"
    r"(?:(?:[\w.@+-]*/)*python3?(?:\.\d+)?(?:\s+-[BIsSuEW]\w*)*\s+-m\s+pytest|(?:[\w.@+-]*/)*(?:pytest|py\.test))"
    r"(?=\s|$)"
)
"""Variable assignments, then pytest by name or as a Python module, without shell expansions."""
_CD_PREFIX: Final = re.compile(r"\s*cd\s+(?P<folder>(?![-~])[\w./@+-]+)\s*&&")
"""A leading `cd` to a literal folder."""
_SHELL: Final = re.compile(r"[;&|<>`$(){}\n\\#!]")
"""Characters that make a command more than one program and its arguments."""
_PYTEST_CONFIGS: Final = (
    "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "pyproject.toml", "tox.ini", "setup.cfg",
)  # fmt: skip


def with_junit_option(command: str, report: Path, *, cwd: Path, environ: Mapping[str, str]) -> str | None:
    """Return a command that also writes `report`; None if it is not clearly pytest, or already writes one.

    The option is inserted directly after the program. The `xunit1` family includes the file of each test.
    """
    moved = _CD_PREFIX.match(command)
    if moved is not None:
        rest = with_junit_option(command[moved.end() :], report, cwd=cwd / moved["folder"], environ=environ)
        return None if rest is None else command[: moved.end()] + rest
    found = _PYTEST.match(command)
    if found is None or _SHELL.search(_outside_single_quotes(command)):
        return None
    try:
        shlex.split(command)
    except ValueError:
        return None
    if "junit" in command or "junit" in environ.get("PYTEST_ADDOPTS", "") or _is_configured(cwd):
        return None
    option = f" --junit-xml={shlex.quote(str(report))} -o junit_family=xunit1"
    return command[: found.end()] + option + command[found.end() :]


def _outside_single_quotes(command: str) -> str:
    """Remove single-quoted parts, in which the shell interprets nothing."""
    return re.sub(r"'[^']*'", "", command)


def _is_configured(cwd: Path) -> bool:
    """Return whether a pytest configuration that may apply here mentions junit."""
    folders = (cwd, *cwd.absolute().parents)
    return any(_mentions_junit(folder / name) for folder in folders for name in _PYTEST_CONFIGS)


def _mentions_junit(path: Path) -> bool:
    try:
        return b"junit" in path.read_bytes()
    except OSError:
        return False
