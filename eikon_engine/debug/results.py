"""What a session returns for a command: the `result` of `command_done`."""

from __future__ import annotations

from typing import Literal

from eikon_engine.debug.breakpoints import ListedBreakpoint
from eikon_engine.debug.timeline import CheckpointEntry
from eikon_engine.files.models import FileModel, FiniteJson
from eikon_engine.outcome.debug_events import PauseReason
from eikon_engine.outcome.divergence import Candidate, Divergence
from eikon_engine.outcome.outcomes import NetworkOutcome, Verdict
from eikon_engine.trace.execution import Result
from eikon_engine.trace.observation import PageObservation
from eikon_engine.trace.target import Identity


class InspectedPage(FileModel):
    """One open page."""

    observation: PageObservation
    """With its snapshot, stored in the session's `dom` folder."""
    html: str
    """Path of its DOM as a viewable document, relative to the session."""


class InspectedScreenshot(FileModel):
    """A screenshot of a page."""

    page: int
    path: str | None
    """Path of the PNG, relative to the session; None if no screenshot could be taken."""
    problem: str | None = None
    """Why no screenshot could be taken."""


class InspectedTarget(FileModel):
    """A target of the next action."""

    role: Literal["target", "to", "condition"]
    """Its target; where a drag ends; what a condition or assertion checks (any number may match)."""
    selector: str
    """With its frame path."""
    identity: Identity | None
    """The element hit during recording."""
    count: int
    """How many elements match now."""
    matches: tuple[str, ...]
    """Descriptions of the first five."""
    problem: str | None = None
    """Why the target would not bind now; waiting may change that."""
    candidates: tuple[Candidate, ...] | None = None
    """Similar elements, most likely first, if it would not bind; None if no identity was recorded."""


class InspectedStep(FileModel):
    """The next step."""

    iteration: int
    """Its number."""
    id: str
    kind: Literal["action", "skill"]
    tool: str
    """Action type, or skill name."""
    label: str
    input: FiniteJson
    """The action as recorded, or the parameters of the skill."""
    subgoal: str
    """Id of its attempt."""
    page: int | None
    """Page it acts on; None for a skill, which works on a recorded document."""
    targets: tuple[InspectedTarget, ...] = ()
    requests: tuple[str, ...] = ()
    """Keys of the requests made during recording."""
    expected: Result


class InspectedItem(FileModel):
    """One cookie or storage item."""

    kind: Literal["cookie", "local", "session"]
    place: str
    name: str
    value: str
    """Redacted."""
    page: int | None


class InspectedMessage(FileModel):
    """One console message, or an uncaught error."""

    page: int
    kind: str
    text: str
    place: str


class Inspection(FileModel):
    """What was asked for; all other fields are None."""

    iteration: int
    """Number of steps done."""
    step_count: int
    touched: bool
    """Whether JavaScript was run manually before this point."""
    pages: tuple[InspectedPage, ...] | None = None
    picture: InspectedScreenshot | None = None
    next: InspectedStep | None = None
    """None after the last step as well."""
    network: NetworkOutcome | None = None
    """How requests were answered so far; `unused` includes those of later steps."""
    storage: tuple[InspectedItem, ...] | None = None
    console: tuple[InspectedMessage, ...] | None = None
    divergences: tuple[Divergence, ...] | None = None
    """All so far, in order."""


class InspectedMatch(FileModel):
    """One element that a selector matches."""

    description: str
    is_visible: bool
    box: tuple[float, float, float, float]
    """Left, top, width and height in CSS pixels, relative to the viewport of its frame."""


class LocateResult(FileModel):
    """What a selector matches in one document."""

    selector: str
    page: int
    frame: str
    count: int
    visible: int
    """How many of the listed matches are visible."""
    matches: tuple[InspectedMatch, ...]
    """The first fifty, in document order."""


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
