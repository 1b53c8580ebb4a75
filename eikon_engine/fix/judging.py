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

    A run with exit status 0 proves nothing of a test that its report does not tell as passed: the fix may have stopped
    the run, or had the test skipped.

    A run that stops at a failure has tests that it did not come to. One of them that fails now is nothing new; and what
    failed before is only mended if it ran. Where nothing tells which tests ran, that is said.
    """
    if after.passed:
        return "unproved" if after.unproved else "passed"
    old, new = before.failing, after.failing
    broken = [_had_run(failure, before) for failure in new if not _is_known(failure, old)]
    mended = [_runs(failure, after) for failure in old - new]
    if True in broken:
        return "broke_more"
    if run.ended != "exited" or not (mended or None in broken):
        return "no_help"
    if None in broken:
        return "unclear"
    if True in mended:
        return "helped"
    return "unclear" if None in mended else "no_help"


def _is_known(failure: str, old: frozenset[str]) -> bool:
    return failure in old or failure.partition("::")[0] in old


def _had_run(failure: str, before: Analysis) -> bool | None:
    """Say whether a test had its chance to fail; None where the run stopped early, and nothing tells what ran."""
    if not before.stopped_early:
        return True
    return None if before.other_tests is None else failure in before.other_tests


def _runs(failure: str, after: Analysis) -> bool | None:
    """Say whether a test ran without failing; of a module that could not be read, any test shows that it can be."""
    if any(each.startswith(f"{failure}::") for each in after.failing):
        return True
    if after.unproved is not None:
        return failure not in after.unproved
    if not after.stopped_early:
        return True
    others = after.other_tests
    return None if others is None else any(each == failure or each.startswith(f"{failure}::") for each in others)
