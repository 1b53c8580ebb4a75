"""Run git isolated from any surrounding repository and configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ApplierFailedError
from eikon_engine.fix.git import ISOLATED_ENV, subcommand, try_git
from eikon_engine.outcome.printable import escape_control_characters

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_NO_CONVERSION_OPTIONS: Final = ("-c", "core.quotePath=false", "-c", "core.autocrlf=false", "-c", "core.safecrlf=false")
_STDERR_SHOWN: Final = 300


def run_isolated_git(
    arguments: Sequence[str], cwd: Path, *, env: Mapping[str, str] | None = None, allowed_statuses: Sequence[int] = (0,)
) -> bytes:
    """Run git outside any repository, or with the repository that `settings` name; return its output.

    Raises:
        GitMissingError: git is not installed.
        ApplierFailedError: the exit status is not in `may`.
    """
    apart = {**ISOLATED_ENV, "GIT_CEILING_DIRECTORIES": str(cwd.resolve().parent), **(env or {})}
    done = try_git(cwd, *_NO_CONVERSION_OPTIONS, *arguments, env=apart)
    if done.returncode not in allowed_statuses:
        stderr = escape_control_characters(" ".join(done.stderr.decode("utf-8", "replace").split()))[:_STDERR_SHOWN]
        message = f"git {subcommand(arguments)}: failed with exit status {done.returncode}: {stderr or 'no message'}"
        raise ApplierFailedError(message)
    return done.stdout
