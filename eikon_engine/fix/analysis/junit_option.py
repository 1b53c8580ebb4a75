"""Ask pytest for its report in XML, where a command is plainly pytest and asks for none itself."""

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
"""Settings of variables, then pytest by its name or as a module of Python; nothing that a shell has to work out."""
_MOVE: Final = re.compile(r"\s*cd\s+(?P<folder>(?![-~])[\w./@+-]+)\s*&&")
"""A command that goes to a folder first, whose name a shell has not to work out."""
_SHELL: Final = re.compile(r"[;&|<>`$(){}\n\\#!]")
"""What makes more of a command than one program and its arguments."""
_CONFIGURATIONS: Final = (
    "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "pyproject.toml", "tox.ini", "setup.cfg",
)  # fmt: skip


def with_report(command: str, report: Path, *, cwd: Path, environ: Mapping[str, str]) -> str | None:
    """Return a command of a shell that also writes `report`; None if it is not plainly pytest, or has its own report.

    The option goes directly behind the name of the program. The family of the report names the file of each test.
    """
    moved = _MOVE.match(command)
    if moved is not None:
        rest = with_report(command[moved.end() :], report, cwd=cwd / moved["folder"], environ=environ)
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
    """Leave out what stands in single quotes, where nothing has a meaning for a shell."""
    return re.sub(r"'[^']*'", "", command)


def _is_configured(cwd: Path) -> bool:
    """Say whether a configuration of pytest that may hold here speaks of such reports."""
    folders = (cwd, *cwd.absolute().parents)
    return any(_speaks_of_it(folder / name) for folder in folders for name in _CONFIGURATIONS)


def _speaks_of_it(path: Path) -> bool:
    try:
        return b"junit" in path.read_bytes()
    except OSError:
        return False
