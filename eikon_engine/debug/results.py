"""What a session returns for a command: the `result` of `command_done`."""

from __future__ import annotations

from typing import Literal

from eikon_engine.debug.breakpoints import ListedBreakpoint
from eikon_engine.debug.timeline import CheckpointEntry
from eikon_engine.outcome.debug_events import PauseReason
from eikon_engine.outcome.outcomes import Verdict
from eikon_engine.trace.record import FileModel, FiniteJson


class Position(FileModel):
    """The position of a session."""

    branch: str
    iteration: int
    """Number of steps done."""
    step_count: int
    next: str | None
    """Label of the next step; None at the end."""
    reason: PauseReason
    detail: str = ""
    verdict: Verdict | None
    """Verdict of the branch so far; None before the first step."""
    doubts: tuple[str, ...] = ()
    """Why the position is not faithful to the recording, whatever the steps showed."""

    def __str__(self) -> str:
        """Format as one line."""
        why = self.reason.replace("_", " ") + (f": {self.detail}" if self.detail else "")
        so_far = (
            f", {self.verdict} so far" if self.verdict and self.next else f", {self.verdict}" if self.verdict else ""
        )
        doubts = f": {'; '.join(self.doubts)}" if self.doubts else ""
        place = f"{self.branch} at {self.iteration} of {self.step_count}{so_far}{doubts} ({why})"
        return f"{place}; next: {self.next}" if self.next else f"{place}; all steps are done"


class BreakpointListing(FileModel):
    """All breakpoints."""

    breakpoints: tuple[ListedBreakpoint, ...]


class CheckpointChange(FileModel):
    """A checkpoint that was created or deleted."""

    change: Literal["created", "deleted"]
    branch: str
    checkpoint: CheckpointEntry

    def __str__(self) -> str:
        """Format as one line."""
        label = f" {self.checkpoint.label!r}" if self.checkpoint.label else ""
        return f"{self.change} {self.checkpoint.id}{label} of {self.branch} at {self.checkpoint.iteration}"


class EvaluationResult(FileModel):
    """What JavaScript returned."""

    result: FiniteJson
    error: str | None


class SavedBranch(FileModel):
    """A branch that was written."""

    path: str
    lines: tuple[str, ...]
    """What to report to the user."""
