"""Ask git."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import FixError, GitMissingError
from eikon_engine.outcome.printable import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

ALONE: Final[Mapping[str, str]] = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}
"""Surroundings in which no configuration of the user counts."""
_SHOWN: Final = 300


def git(cwd: Path, *arguments: str, surroundings: Mapping[str, str] | None = None) -> bytes:
    """Return what git writes to its standard output.

    Variables by which a hook tells git of its own repository are left out: `cwd` decides, or `surroundings`.

    Raises:
        GitMissingError: there is no git.
        FixError: it failed.
    """
    done = ask_git(cwd, *arguments, surroundings=surroundings)
    if done.returncode != 0:
        told = printable(" ".join(done.stderr.decode(errors="replace").split()))[:_SHOWN]
        message = f"git {command_of(arguments)} in {cwd}: wanted it to be done, found status {done.returncode}: {told}"
        raise FixError(message)
    return done.stdout


def ask_git(
    cwd: Path, *arguments: str, surroundings: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run git, whatever its status is then.

    Raises:
        GitMissingError: there is no git.
    """
    program = shutil.which("git")
    if program is None:
        message = "wanted the program git, found none on PATH; install it"
        raise GitMissingError(message)
    return subprocess.run(  # noqa: S603 - git itself, with arguments of our own
        (program, *arguments),
        cwd=cwd,
        env={**without_git(os.environ), "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", **(surroundings or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )


def command_of(arguments: Sequence[str]) -> str:
    """Return what git is told to do, without the settings (`-c name=value`) before it."""
    rest = list(arguments)
    while rest[0] == "-c":
        del rest[:2]
    return rest[0]


def without_git(environ: Mapping[str, str]) -> dict[str, str]:
    """Return surroundings without the variables by which git, in a hook for one, tells programs of a repository."""
    return {name: value for name, value in environ.items() if not name.startswith("GIT_")}


def names(output: bytes) -> tuple[str, ...]:
    """Split what git writes with `-z`."""
    return tuple(os.fsdecode(each) for each in output.split(b"\0") if each)
