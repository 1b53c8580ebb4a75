"""The end of a debug loop: write kept fixes to the user's tree if wanted, and store the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.errors import EikonError
from eikon_engine.fix.ending import delete_journal
from eikon_engine.fix.hand_over import write_back
from eikon_engine.fix.summary import end_reason, render_summary, result_sentence
from eikon_engine.fix.task_result import LoopNotes, TaskResult, step_failure

if TYPE_CHECKING:
    from eikon_engine.fix.cycle_log import CycleLog
    from eikon_engine.fix.loop import LoopInputs, LoopResult
    from eikon_engine.fix.loop_options import LoopOptions
    from eikon_engine.fix.session import FixSession

WRITE_BACK: Final = "fix:hand_over"
"""Name of the last step, which writes to the user's tree."""


def finish_loop(
    session: FixSession, inputs: LoopInputs, log: CycleLog, end: LoopResult, options: LoopOptions
) -> TaskResult:
    """Write kept fixes to the user's tree if wanted, store and return the result."""
    copy = inputs.copy
    diff = copy.diff(end.base, end.kept)
    session.write_diff(diff)
    outcome, failure = end.outcome, end.failure
    modified: tuple[str, ...] = ()
    warnings = end.warnings
    if diff and (outcome == "success" or options.keep):
        session.update_progress(state="writing", step=WRITE_BACK)
        try:
            modified = write_back(inputs.tree.root, copy, copy.changes(end.base, end.kept))
        except EikonError as error:
            second = step_failure(WRITE_BACK, log.cycle, error)
            if failure is None:
                outcome, failure = "error", second
            else:
                warnings = (*warnings, f"{WRITE_BACK}: {second.message}")
    notes = LoopNotes(
        outcome=outcome,
        cycles_run=log.cycle,
        final_test_status="unknown" if end.analysis is None else "passed" if end.analysis.passed else "failed",
        modified_files=modified,
        diff=diff,
        termination_reason=end_reason(outcome, log.cycle, failure),
        failure=failure,
        history=log.records,
        closing_test=end.closing_test,
        closing_analysis=end.closing_analysis,
        warnings=warnings,
        session=str(session.folder),
    )
    result = TaskResult(
        status="COMPLETE" if outcome == "success" else "FAILED", content=result_sentence(notes), notes=notes
    )
    session.finish(result, render_summary(result))
    delete_journal(session.folder)
    return result
