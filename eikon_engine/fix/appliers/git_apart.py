"""Run git isolated from any surrounding repository and configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ApplierFailedError
from eikon_engine.fix.git import ALONE, ask_git, command_of
from eikon_engine.outcome.printable import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_PLAIN: Final = ("-c", "core.quotePath=false", "-c", "core.autocrlf=false", "-c", "core.safecrlf=false")
_SHOWN: Final = 300


def git_apart(
    arguments: Sequence[str], cwd: Path, *, settings: Mapping[str, str] | None = None, may: Sequence[int] = (0,)
) -> bytes:
    """Run git outside any repository, or with the repository that `settings` name; return its output.

    Raises:
        GitMissingError: git is not installed.
        ApplierFailedError: the exit status is not in `may`.
    """
    apart = {**ALONE, "GIT_CEILING_DIRECTORIES": str(cwd.resolve().parent), **(settings or {})}
    done = ask_git(cwd, *_PLAIN, *arguments, surroundings=apart)
    if done.returncode not in may:
        stderr = printable(" ".join(done.stderr.decode("utf-8", "replace").split()))[:_SHOWN]
        message = f"git {command_of(arguments)}: failed with exit status {done.returncode}: {stderr or 'no message'}"
        raise ApplierFailedError(message)
    return done.stdout
