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
    """
    if after.passed:
        return "passed"
    old, new = before.failing, after.failing
    if any(not _is_known(failure, old) for failure in new):
        return "broke_more"
    return "helped" if new and new != old and run.ended == "exited" else "no_help"


def _is_known(failure: str, old: frozenset[str]) -> bool:
    return failure in old or failure.partition("::")[0] in old
