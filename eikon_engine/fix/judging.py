"""Whether a fix helped, from what the tests say before and after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eikon_engine.fix.failure import Analysis
    from eikon_engine.fix.task_result import Judgement
    from eikon_engine.fix.test_run import TestRun


def judge(before: Analysis, after: Analysis, run: TestRun) -> Judgement:
    """Compare the failures by their ids: only fewer of the same ones are help.

    A test of a module that could not be read before counts as one of the same. That another thing fails than before may
    be progress, and may be damage: nobody knows, so the fix is taken back, and told with the next question. So it is
    with a run that did not come to its end, and may not have come to all its failures.

    A run that stops at a failure has tests that it did not come to. One of them that fails now is nothing new; and what
    failed before is only mended if it ran.
    """
    if after.passed:
        return "passed"
    old, new = before.failing, after.failing
    if any(not _is_known(failure, old) and _had_run(failure, before) for failure in new):
        return "broke_more"
    others = after.other_tests
    gone = [failure for failure in old - new if others is None or _runs(failure, others, new)]
    return "helped" if new and gone and run.ended == "exited" else "no_help"


def _is_known(failure: str, old: frozenset[str]) -> bool:
    return failure in old or failure.partition("::")[0] in old


def _had_run(failure: str, before: Analysis) -> bool:
    """Say whether a test had its chance to fail; tests that ran are known where the run stopped early."""
    return before.other_tests is None or failure in before.other_tests


def _runs(failure: str, others: tuple[str, ...], new: frozenset[str]) -> bool:
    """Say whether a test ran without failing; of a module that could not be read, any test shows that it can be."""
    return failure in others or any(each.startswith(f"{failure}::") for each in (*others, *new))
