"""Decide whether a fix helped, from the test results before and after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eikon_engine.fix.failure import Analysis
    from eikon_engine.fix.task_result import FixJudgement
    from eikon_engine.fix.test_run import TestRun


def judge_fix(before: Analysis, after: Analysis, run: TestRun) -> FixJudgement:
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
    mended = [_ran_after(failure, after) for failure in old - new]
    if True in broken:
        return "broke_more"
    if run.ended != "exited" or not (mended or None in broken):
        return "no_help"
    if None in broken:
        return "unclear"
    if True in mended:
        return "helped"
    return "unclear" if None in mended else "no_help"


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
