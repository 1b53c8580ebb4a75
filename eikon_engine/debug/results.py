"""What a session gives back to a command: the `result` of `command_done`."""

from __future__ import annotations

from typing import Literal

from eikon_engine.debug.breakpoints import ListedBreakpoint
from eikon_engine.debug.timeline import CheckpointEntry
from eikon_engine.outcome.debug_events import PauseReason
from eikon_engine.outcome.outcomes import Verdict
from eikon_engine.trace.record import FiniteJson, Record


class Stand(Record):
    """Where the session stands."""

    branch: str
    iteration: int
    """How many steps are done."""
    step_count: int
    next: str | None
    """What the next step does, for people; None at the end."""
    reason: PauseReason
    detail: str = ""
    verdict: Verdict | None
    """What the branch has come to so far; None before the first step."""
    doubts: tuple[str, ...] = ()
    """Why that is not faithful to the recording, whatever the steps showed."""

    def __str__(self) -> str:
        """Read as one line."""
        why = self.reason.replace("_", " ") + (f": {self.detail}" if self.detail else "")
        so_far = (
            f", {self.verdict} so far" if self.verdict and self.next else f", {self.verdict}" if self.verdict else ""
        )
        doubts = f": {'; '.join(self.doubts)}" if self.doubts else ""
        place = f"{self.branch} at {self.iteration} of {self.step_count}{so_far}{doubts} ({why})"
        return f"{place}; next: {self.next}" if self.next else f"{place}; all steps are done"


class Listed(Record):
    """The breakpoints there are."""

    breakpoints: tuple[ListedBreakpoint, ...]


class Marked(Record):
    """A checkpoint that was made or deleted."""

    change: Literal["created", "deleted"]
    branch: str
    checkpoint: CheckpointEntry

    def __str__(self) -> str:
        """Read as one line."""
        label = f" {self.checkpoint.label!r}" if self.checkpoint.label else ""
        return f"{self.change} {self.checkpoint.id}{label} of {self.branch} at {self.checkpoint.iteration}"


class JavaScriptRun(Record):
    """What JavaScript gave back."""

    result: FiniteJson
    error: str | None


class Saved(Record):
    """What was written of a branch."""

    path: str
    lines: tuple[str, ...]
    """What is to be said of it, for people."""
