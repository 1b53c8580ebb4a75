"""Result of a task, and the record of a debug loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from pydantic import Field

from eikon_engine.fix.application import AppliedFix
from eikon_engine.fix.context import Context
from eikon_engine.fix.failure import Analysis
from eikon_engine.fix.proposal import Proposal
from eikon_engine.fix.test_run import TestRun
from eikon_engine.trace.record import FileModel

if TYPE_CHECKING:
    from eikon_engine.errors import EikonError

LoopOutcome: TypeAlias = Literal["success", "max_cycles", "error"]
FixJudgement: TypeAlias = Literal["passed", "helped", "no_help", "broke_more", "unclear", "unproved"]
"""Effect of a fix according to the next test run; only a fix that passed or helped is kept."""


class StepFailure(FileModel):
    """The step that ended the loop early."""

    step: str
    """Name of the task, e.g. `debug:generate_fix`."""
    cycle: int = Field(ge=1)
    code: str
    """Error code; see `docs/errors.md`."""
    message: str
    exit_status: int
    details: tuple[str, ...] = ()
    """Multi-line details, e.g. the nearest recorded prompt."""


def step_failure(step: str, cycle: int, error: EikonError) -> StepFailure:
    """Return the failure of a step; one before the first cycle is attributed to it."""
    return StepFailure(
        step=step,
        cycle=max(1, cycle),
        code=error.code,
        message=error.message,
        exit_status=error.exit_status,
        details=tuple(getattr(error, "__notes__", ())),
    )


class Verification(FileModel):
    """Result of the test run after a fix."""

    judgement: FixJudgement
    rolled_back: bool


class CycleRecord(FileModel):
    """One cycle: what was found, and what was tried."""

    cycle: int = Field(ge=1)
    test: TestRun | None = None
    analysis: Analysis | None = None
    context: Context | None = None
    proposal: Proposal | None = None
    application: AppliedFix | None = None
    verification: Verification | None = None
    """None if no fix was applied, or the loop ended before it was tested."""
    durations_ms: dict[str, int] = Field(default_factory=dict)
    """By step, in execution order."""


class LoopNotes(FileModel):
    """Record of a finished loop."""

    outcome: LoopOutcome
    cycles_run: int = Field(ge=0)
    final_test_status: Literal["passed", "failed", "unknown"]
    """Status with all kept fixes; unknown if no test run completed."""
    modified_files: tuple[str, ...]
    """Files of the user's tree that were changed, relative to it."""
    diff: str
    """All kept fixes combined, whether or not they were written to the user's tree."""
    termination_reason: str
    failure: StepFailure | None = None
    warnings: tuple[str, ...] = ()
    """Known limitations of the result."""
    history: tuple[CycleRecord, ...] = ()
    closing_test: TestRun | None = None
    """The test run of the last fix, after the last cycle."""
    closing_analysis: Analysis | None = None
    session: str = ""
    """Path of the session folder."""

    @property
    def failed_step(self) -> str | None:
        """Return the name of the step that ended the loop early."""
        return None if self.failure is None else self.failure.step


class TaskResult(FileModel):
    """Result of a task of the `director_evaluator_loop` kind."""

    status: Literal["COMPLETE", "FAILED"]
    content: str
    """The outcome and the number of cycles, in a sentence or two."""
    notes: LoopNotes
