"""Checks on test runs and fixes: usable command, allowed changes, tests of the copy, and whether a fix helped."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import FixError, UsageError
from eikon_engine.files.text import is_utf8
from eikon_engine.outcome.terminal import escape_control_characters

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.fix.models import Analysis, FixJudgement, TestRun
    from eikon_engine.fix.options import LoopOptions


def evaluate_fix(before: Analysis, after: Analysis, run: TestRun) -> FixJudgement:
    """Compare the failures before and after by id; a fix helps only if the remaining failures are a proper subset.

    A failing test of a module that could not be imported before is not new. A different failure may be progress or
    damage; that is undecidable, so the fix is rolled back and reported in the next prompt. The same holds for a run
    that was killed or timed out, since it may not have reached all failures.

    Exit status 0 proves nothing about a test that the report does not list as passed: the fix may have stopped the run
    or caused the test to be skipped.

    A run that stops at the first failure leaves tests unexecuted. If one of them fails now, it is not new; and an
    earlier failure counts as fixed only if its test ran. If it is unknown which tests ran, the result is `unclear`.
    """
    if after.passed:
        return "unproved" if after.unproved else "passed"
    old, new = before.failing, after.failing
    broken = [_ran_before(failure, before) for failure in new if not _failed_before(failure, old)]
    fixed = [_ran_after(failure, after) for failure in old - new]
    if True in broken:
        return "broke_more"
    if run.ended != "exited" or not (fixed or None in broken):
        return "no_help"
    if None in broken:
        return "unclear"
    if True in fixed:
        return "helped"
    return "unclear" if None in fixed else "no_help"


def _failed_before(failure: str, old: frozenset[str]) -> bool:
    return failure in old or failure.partition("::")[0] in old


def _ran_before(failure: str, before: Analysis) -> bool | None:
    """Return whether a test could have failed before; None if the run stopped early and executed tests are unknown."""
    if not before.stopped_early:
        return True
    return None if before.other_tests is None else failure in before.other_tests


def _ran_after(failure: str, after: Analysis) -> bool | None:
    """Return whether a test ran without failing; for a module that could not be imported, any of its tests counts."""
    if any(each.startswith(f"{failure}::") for each in after.failing):
        return True
    if after.unproved is not None:
        return failure not in after.unproved
    if not after.stopped_early:
        return True
    others = after.other_tests
    return None if others is None else any(each == failure or each.startswith(f"{failure}::") for each in others)


_COMMAND_NOT_RUN: Final = frozenset({126, 127})
"""Exit statuses of a shell that could not run the command.

Source: POSIX.1-2024, 2.8.2, https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html
"""
_SHOWN: Final = 200


def require_output(run: TestRun, session: Path) -> None:
    """Check that the recorded output of a run still exists.

    Raises:
        UsageError: the tests deleted it.
    """
    missing = next((each.file for each in (run.stdout, run.stderr) if not (session / each.file).is_file()), None)
    if missing is not None:
        message = (
            f"{run.command}: expected tests that do not touch the session folder, but {session / missing} was deleted. "
            "Fix --test-cmd."
        )
        raise UsageError(message, code="command-unusable")


def require_usable_command(run: TestRun, session: Path, options: LoopOptions) -> None:
    """Check that the first run of the command says something about the code.

    Raises:
        UsageError: the command could not be run or timed out.
    """
    if run.ended == "timed_out":
        message = (
            f"{options.test_cmd}: timed out after {options.timeout_seconds:g} s. Raise --timeout, or fix the test that "
            "hangs."
        )
        raise UsageError(message, code="command-unusable")
    if run.ended == "not_started" or run.exit_status in _COMMAND_NOT_RUN:
        stderr = (session / run.stderr.file).read_text(encoding="utf-8", errors="replace").strip()
        found = f"got exit status {run.exit_status}" if run.exit_status is not None else "it did not start"
        message = (
            f"{options.test_cmd}: expected a command that can be run, {found} ({one_line(stderr[-_SHOWN:])}). "
            "Fix --test-cmd."
        )
        raise UsageError(message, code="command-unusable")


def require_provable(run: TestRun) -> None:
    """Check that a fix of a failed run can be proved by a report; otherwise it must be said what a fix may change.

    Without a report only the exit status counts, which any file that takes part in the tests can decide.

    Raises:
        UsageError: the tests failed and no report was requested.
    """
    if run.passed or run.report_asked:
        return
    message = (
        f"{run.command}: expected a plain pytest command, whose report proves a fix, or files that a fix may change, "
        "got neither. Add --allow GLOB or --target-file FILE."
    )
    raise UsageError(message, code="command-unusable")


def require_target_files(files: tuple[str, ...], targets: tuple[str, ...]) -> None:
    """Check that a fix changed something, and only target files if there are any.

    Raises:
        FixError: the fix changed nothing, or a file that is not a target.
    """
    if not files:
        message = "expected a fix that changes a file, got one that changes none. Request another fix."
        raise FixError(message, code="patch-rejected")
    unreadable = next((each for each in files if not is_utf8(each)), None)
    if unreadable is not None:
        message = f"expected file names in UTF-8, got {unreadable!r}. Choose another name."
        raise FixError(message, code="patch-rejected")
    others = tuple(each for each in files if targets and each not in targets)
    if others:
        message = f"expected changes only to {join_names(targets)}, got one to {others[0]}. Name it with --target-file."
        raise FixError(message, code="patch-rejected")


def join_names(files: tuple[str, ...]) -> str:
    """Join file names for a message."""
    return ", ".join(files) or "no file"


def one_line(text: str) -> str:
    """Collapse foreign text into one printable line."""
    return escape_control_characters(" ".join(text.split()))


_SEARCHED_BYTES: Final = 2**20
"""Leading bytes of each output to search."""


def original_files_used(run: TestRun, session: Path, original: Path, copy: Path) -> tuple[str, ...]:
    """Return the files of the copy that a test run printed with their paths in the original tree."""
    pattern = re.compile(rb"(?<![\w./-])" + re.escape(os.fsencode(original)) + rb"/([^\s\"':,;()<>\[\]]+)")
    found: dict[str, None] = {}
    for stream in (run.stdout, run.stderr):
        with (session / stream.file).open("rb") as file:
            paths = pattern.findall(file.read(_SEARCHED_BYTES))
        found.update(dict.fromkeys(os.fsdecode(name) for name in paths))
    return tuple(name for name in found if (copy / name).is_file())


def original_files_warning(files: tuple[str, ...], original: Path) -> str:
    """Return the warning about such files."""
    return (
        f"the tests use {files[0]} of {original}, not of the copy in which fixes are tried. If the package is "
        "installed with `pip install -e`, set PYTHONPATH in the command, e.g. PYTHONPATH=src."
    )
