"""What a test command and a fix have to be, for the loop to go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.errors import CommandUnusableError, PatchRejectedError
from eikon_engine.fix.names import is_text
from eikon_engine.outcome.printable import printable

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.fix.loop_options import LoopOptions
    from eikon_engine.fix.test_run import TestRun

_NO_COMMAND: Final = frozenset({126, 127})
"""Exit statuses by which a shell says that it could not run the command.

Source: POSIX.1-2024, 2.8.2, https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html
"""
_SHOWN: Final = 200


def demand_output(run: TestRun, session: Path) -> None:
    """Make sure that what a run wrote is still where it was kept.

    Raises:
        CommandUnusableError: the tests removed it.
    """
    missing = next((each.file for each in (run.stdout, run.stderr) if not (session / each.file).is_file()), None)
    if missing is not None:
        message = (
            f"{run.command}: wanted tests that leave the session folder alone, found {session / missing} removed; "
            "correct --test-cmd"
        )
        raise CommandUnusableError(message)


def demand_usable(run: TestRun, session: Path, options: LoopOptions) -> None:
    """Make sure that the first run of the command says something about the code.

    Raises:
        CommandUnusableError: it could not be run, or did not end.
    """
    if run.ended == "timed_out":
        message = (
            f"{options.test_cmd}: wanted it to end within {options.timeout_seconds:g} s, found it still running; give "
            "it more time with --timeout, or mend what hangs"
        )
        raise CommandUnusableError(message)
    if run.ended == "not_started" or run.exit_status in _NO_COMMAND:
        told = (session / run.stderr.file).read_text(encoding="utf-8", errors="replace").strip()
        found = f"found exit status {run.exit_status}" if run.exit_status is not None else "found none"
        message = (
            f"{options.test_cmd}: wanted a command that can be run, {found} ({one_line(told[-_SHOWN:])}); correct "
            "--test-cmd"
        )
        raise CommandUnusableError(message)


def demand_within(files: tuple[str, ...], targets: tuple[str, ...]) -> None:
    """Make sure that a fix changed something, and nothing but target files where there are some.

    Raises:
        PatchRejectedError: it did not.
    """
    if not files:
        message = "wanted a fix that changes a file, found one that changes none; ask for another"
        raise PatchRejectedError(message)
    unreadable = next((each for each in files if not is_text(each)), None)
    if unreadable is not None:
        message = f"wanted names in UTF-8, found a change of {unreadable!r}; choose another name"
        raise PatchRejectedError(message)
    others = tuple(each for each in files if targets and each not in targets)
    if others:
        message = f"wanted changes of {listed(targets)} alone, found one of {others[0]}; name it with --target-file"
        raise PatchRejectedError(message)


def listed(files: tuple[str, ...]) -> str:
    """Name files, or say that there are none."""
    return ", ".join(files) or "no file"


def one_line(text: str) -> str:
    """Put what others wrote on one line that is safe to show."""
    return printable(" ".join(text.split()))
