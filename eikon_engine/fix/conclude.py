"""The end of a debug loop: write kept fixes to the user's tree if wanted, and store the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.errors import EikonError
from eikon_engine.fix.ending import forget_ending
from eikon_engine.fix.hand_over import hand_over
from eikon_engine.fix.summary import content_of, reason_of, render_summary
from eikon_engine.fix.task_result import LoopNotes, TaskResult, failure_of

if TYPE_CHECKING:
    from eikon_engine.fix.cycle_log import CycleLog
    from eikon_engine.fix.loop import Ground, LoopEnd
    from eikon_engine.fix.loop_options import LoopOptions
    from eikon_engine.fix.session import Session

HAND_OVER: Final = "fix:hand_over"
"""Name of the last step, which writes to the user's tree."""


def conclude(session: Session, ground: Ground, log: CycleLog, end: LoopEnd, options: LoopOptions) -> TaskResult:
    """Write kept fixes to the user's tree if wanted, store and return the result."""
    copy = ground.copy
    diff = copy.diff(end.base, end.kept)
    session.keep_diff(diff)
    outcome, failure = end.outcome, end.failure
    modified: tuple[str, ...] = ()
    warnings = end.warnings
    if diff and (outcome == "success" or options.keep):
        session.stand(state="writing", step=HAND_OVER)
        try:
            modified = hand_over(ground.tree.root, copy, copy.changes(end.base, end.kept))
        except EikonError as error:
            second = failure_of(HAND_OVER, log.cycle, error)
            if failure is None:
                outcome, failure = "error", second
            else:
                warnings = (*warnings, f"{HAND_OVER}: {second.message}")
    notes = LoopNotes(
        outcome=outcome,
        cycles_run=log.cycle,
        final_test_status="unknown" if end.analysis is None else "passed" if end.analysis.passed else "failed",
        modified_files=modified,
        diff=diff,
        termination_reason=reason_of(outcome, log.cycle, failure),
        failure=failure,
        history=log.records,
        closing_test=end.closing_test,
        closing_analysis=end.closing_analysis,
        warnings=warnings,
        session=str(session.folder),
    )
    result = TaskResult(status="COMPLETE" if outcome == "success" else "FAILED", content=content_of(notes), notes=notes)
    session.conclude(result, render_summary(result))
    forget_ending(session.folder)
    return result
