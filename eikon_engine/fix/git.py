"""Run git, in a repository or isolated from any repository and configuration."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ApplierFailedError, FixError, RequirementError
from eikon_engine.outcome.terminal import escape_control_characters

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

ISOLATED_ENV: Final[Mapping[str, str]] = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}
"""Environment variables that disable the user's git configuration."""
_SHOWN: Final = 300


def run_git(cwd: Path, *arguments: str, env: Mapping[str, str] | None = None) -> bytes:
    """Run git and return its standard output.

    Variables that git sets for hooks are removed: `cwd` selects the repository, or `surroundings` does.

    Raises:
        RequirementError: git is not installed.
        FixError: git failed.
    """
    process = try_git(cwd, *arguments, env=env)
    if process.returncode != 0:
        stderr = escape_control_characters(" ".join(process.stderr.decode(errors="replace").split()))[:_SHOWN]
        message = f"git {subcommand(arguments)} in {cwd}: failed with exit status {process.returncode}: {stderr}"
        raise FixError(message)
    return process.stdout


def try_git(cwd: Path, *arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run git and return the completed process, whatever its exit status.

    Raises:
        RequirementError: git is not installed.
    """
    program = shutil.which("git")
    if program is None:
        message = "git: not found on PATH. Install git."
        raise RequirementError(message, code="git-missing")
    return subprocess.run(  # noqa: S603 - git itself, with arguments of our own
        (program, *arguments),
        cwd=cwd,
        env={**without_git_variables(os.environ), "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )


def subcommand(arguments: Sequence[str]) -> str:
    """Return the subcommand, without the `-c name=value` options before it."""
    rest = list(arguments)
    while rest[0] == "-c":
        del rest[:2]
    return rest[0]


def without_git_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the `GIT_*` variables that select a repository, e.g. inside a hook."""
    return {name: value for name, value in environ.items() if not name.startswith("GIT_")}


def split_names(output: bytes) -> tuple[str, ...]:
    """Split `-z` output of git into names."""
    return tuple(os.fsdecode(each) for each in output.split(b"\0") if each)


_NO_CONVERSION_OPTIONS: Final = ("-c", "core.quotePath=false", "-c", "core.autocrlf=false", "-c", "core.safecrlf=false")
_STDERR_SHOWN: Final = 300


def run_isolated_git(
    arguments: Sequence[str], cwd: Path, *, env: Mapping[str, str] | None = None, allowed_statuses: Sequence[int] = (0,)
) -> bytes:
    """Run git outside any repository, or with the repository that `settings` name; return its output.

    Raises:
        RequirementError: git is not installed.
        ApplierFailedError: the exit status is not in `may`.
    """
    apart = {**ISOLATED_ENV, "GIT_CEILING_DIRECTORIES": str(cwd.resolve().parent), **(env or {})}
    process = try_git(cwd, *_NO_CONVERSION_OPTIONS, *arguments, env=apart)
    if process.returncode not in allowed_statuses:
        stderr = escape_control_characters(" ".join(process.stderr.decode("utf-8", "replace").split()))[:_STDERR_SHOWN]
        message = f"git {subcommand(arguments)}: failed with exit status {process.returncode}: {stderr or 'no message'}"
        raise ApplierFailedError(message)
    return process.stdout
