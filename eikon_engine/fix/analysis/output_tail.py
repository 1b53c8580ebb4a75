"""Fallback for a run whose output has no known format: how it ended, and its last lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from eikon_engine.fix.analysis.shorten import MAX_LINE_LENGTH, last_lines
from eikon_engine.fix.failure import TestFailure

if TYPE_CHECKING:
    from eikon_engine.fix.test_run import TestRun

TAIL_LINES: Final = 40


def tail_failure(run: TestRun, stdout: str, stderr: str) -> TestFailure:
    """Return a failure whose message is the last line of stderr, or else of stdout."""
    how = _describe_end(run)
    said = _last_line(stderr) or _last_line(stdout)
    return TestFailure(
        id=how,
        kind="output",
        message=(said if run.ended == "exited" and said else how)[:MAX_LINE_LENGTH],
        excerpt="\n".join(
            f"{name}:\n{last_lines(text, TAIL_LINES)}"
            for name, text in (("stderr", stderr), ("stdout", stdout))
            if text.strip()
        ),
    )


def _describe_end(run: TestRun) -> str:
    match run.ended:
        case "exited":
            return f"exit status {run.exit_status}"
        case "killed":
            return f"killed by signal {run.signal}"
        case "timed_out":
            return "timed out"
        case "not_started":
            return "could not start"
        case _:
            assert_never(run.ended)


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.split("\n")) if line.strip()), "")
