"""Preconditions on test runs and fixes that stop the loop when they do not hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.errors import CommandUnusableError, PatchRejectedError
from eikon_engine.fix.names import is_utf8
from eikon_engine.outcome.printable import escape_control_characters

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.fix.loop_options import LoopOptions
    from eikon_engine.fix.test_run import TestRun

_COMMAND_NOT_RUN: Final = frozenset({126, 127})
"""Exit statuses of a shell that could not run the command.

Source: POSIX.1-2024, 2.8.2, https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html
"""
_SHOWN: Final = 200


def require_output(run: TestRun, session: Path) -> None:
    """Check that the recorded output of a run still exists.

    Raises:
        CommandUnusableError: the tests deleted it.
    """
    missing = next((each.file for each in (run.stdout, run.stderr) if not (session / each.file).is_file()), None)
    if missing is not None:
        message = (
            f"{run.command}: expected tests that do not touch the session folder, but {session / missing} was deleted. "
            "Fix --test-cmd."
        )
        raise CommandUnusableError(message)


def require_usable_command(run: TestRun, session: Path, options: LoopOptions) -> None:
    """Check that the first run of the command says something about the code.

    Raises:
        CommandUnusableError: the command could not be run or timed out.
    """
    if run.ended == "timed_out":
        message = (
            f"{options.test_cmd}: timed out after {options.timeout_seconds:g} s. Raise --timeout, or fix the test that "
            "hangs."
        )
        raise CommandUnusableError(message)
    if run.ended == "not_started" or run.exit_status in _COMMAND_NOT_RUN:
        stderr = (session / run.stderr.file).read_text(encoding="utf-8", errors="replace").strip()
        found = f"got exit status {run.exit_status}" if run.exit_status is not None else "it did not start"
        message = (
            f"{options.test_cmd}: expected a command that can be run, {found} ({one_line(stderr[-_SHOWN:])}). "
            "Fix --test-cmd."
        )
        raise CommandUnusableError(message)


def require_target_files(files: tuple[str, ...], targets: tuple[str, ...]) -> None:
    """Check that a fix changed something, and only target files if there are any.

    Raises:
        PatchRejectedError: the fix changed nothing, or a file that is not a target.
    """
    if not files:
        message = "expected a fix that changes a file, got one that changes none. Request another fix."
        raise PatchRejectedError(message)
    unreadable = next((each for each in files if not is_utf8(each)), None)
    if unreadable is not None:
        message = f"expected file names in UTF-8, got {unreadable!r}. Choose another name."
        raise PatchRejectedError(message)
    others = tuple(each for each in files if targets and each not in targets)
    if others:
        message = f"expected changes only to {join_names(targets)}, got one to {others[0]}. Name it with --target-file."
        raise PatchRejectedError(message)


def join_names(files: tuple[str, ...]) -> str:
    """Join file names for a message."""
    return ", ".join(files) or "no file"


def one_line(text: str) -> str:
    """Collapse foreign text into one printable line."""
    return escape_control_characters(" ".join(text.split()))
