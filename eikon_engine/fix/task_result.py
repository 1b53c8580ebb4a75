"""How a task ended, and what the debug loop did on its way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from pydantic import Field

from eikon_engine.fix.application import Application
from eikon_engine.fix.context import Context
from eikon_engine.fix.failure import Analysis
from eikon_engine.fix.proposal import Proposal
from eikon_engine.fix.test_run import TestRun
from eikon_engine.trace.record import Record

if TYPE_CHECKING:
    from eikon_engine.errors import EikonError

Outcome: TypeAlias = Literal["success", "max_cycles", "error"]
Judgement: TypeAlias = Literal["passed", "helped", "no_help", "broke_more", "unclear", "unproved"]
"""What the next test run says of a fix; only one that passed or helped is kept."""


class StepFailure(Record):
    """The step that ended the loop early."""

    step: str
    """Name of the task: `debug:generate_fix`."""
    cycle: int = Field(ge=1)
    code: str
    """Of the error; see `docs/errors.md`."""
    message: str
    exit_status: int
    details: tuple[str, ...] = ()
    """What takes more than a line to show: the nearest recorded question, for one."""


def failure_of(step: str, cycle: int, error: EikonError) -> StepFailure:
    """Say which step failed, and by what; one before the first cycle counts to it."""
    return StepFailure(
        step=step,
        cycle=max(1, cycle),
        code=error.code,
        message=error.message,
        exit_status=error.exit_status,
        details=tuple(getattr(error, "__notes__", ())),
    )


class Verification(Record):
    """The test run after a fix, and what it says of it."""

    judgement: Judgement
    rolled_back: bool


class CycleRecord(Record):
    """One cycle: what was found, and what was tried."""

    cycle: int = Field(ge=1)
    test: TestRun | None = None
    analysis: Analysis | None = None
    context: Context | None = None
    proposal: Proposal | None = None
    application: Application | None = None
    verification: Verification | None = None
    """None where no fix was applied, or the loop ended before it was tested."""
    durations_ms: dict[str, int] = Field(default_factory=dict)
    """By step, in the order in which they were done."""


class LoopNotes(Record):
    """What is known when the loop has ended."""

    outcome: Outcome
    cycles_run: int = Field(ge=0)
    final_test_status: Literal["passed", "failed", "unknown"]
    """Of the files with all fixes that are kept; unknown where none was tested."""
    modified_files: tuple[str, ...]
    """Files of the user's tree that were changed, relative to it."""
    diff: str
    """What the kept fixes come to, whether or not the user's tree has it."""
    termination_reason: str
    failure: StepFailure | None = None
    warnings: tuple[str, ...] = ()
    """What makes the result less than it seems."""
    history: tuple[CycleRecord, ...] = ()
    closing_test: TestRun | None = None
    """The test run of the last fix, for which no cycle was left."""
    closing_analysis: Analysis | None = None
    session: str = ""
    """Path of the session folder."""

    @property
    def failed_step(self) -> str | None:
        """Name the step that ended the loop early."""
        return None if self.failure is None else self.failure.step


class TaskResult(Record):
    """What a task of the `director_evaluator_loop` kind returns."""

    status: Literal["COMPLETE", "FAILED"]
    content: str
    """The outcome and the number of cycles, in a sentence or two."""
    notes: LoopNotes
