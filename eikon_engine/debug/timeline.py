"""The branches and checkpoints of a session: `timeline.json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import AwareDatetime, Field

from eikon_engine.debug.state_digest import Sha256
from eikon_engine.files.models import FileModel
from eikon_engine.files.text import pluralize
from eikon_engine.outcome.debug_events import MAIN_BRANCH, CheckpointReason
from eikon_engine.outcome.outcomes import Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence


def describe_doubts(evaluations: Sequence[EvaluationEntry], left_out: Sequence[SkippedStepEntry]) -> tuple[str, ...]:
    """Return the reasons as short phrases: manual JavaScript and skipped steps."""
    doubts: list[str] = []
    if evaluations:
        positions = ", ".join(str(position) for position in dict.fromkeys(each.iteration for each in evaluations))
        doubts.append(f"JavaScript was run manually at {positions}")
    if left_out:
        doubts.append(f"{pluralize(len(left_out), 'step')} skipped without replacement")
    return tuple(doubts)


TIMELINE_VERSION: Literal[1] = 1


class StepEntry(FileModel):
    """One step of a branch, done after its fork."""

    iteration: int = Field(ge=1)
    id: str
    """Id of the step in the trace."""
    label: str
    verdict: Verdict
    is_new: bool = False
    """Whether it differs from the recording: it was edited or inserted, or comes after such a step."""


class EvaluationEntry(FileModel):
    """JavaScript that the user ran."""

    iteration: int = Field(ge=0)
    """Number of steps done."""
    page: int
    frame: str
    expression: str
    """Redacted."""


class SkippedStepEntry(FileModel):
    """A step of the recording that a branch skips."""

    iteration: int = Field(ge=0)
    """Number of the branch's steps before it."""
    id: str
    """Id of the step in the recorded trace."""
    label: str


CheckpointId: TypeAlias = Annotated[str, Field(pattern=r"^[0-9A-Za-z_]+$")]
"""Id of a checkpoint, and the name of its files, so no path."""


class CheckpointEntry(FileModel):
    """One checkpoint; its file holds the state."""

    id: CheckpointId
    label: str
    iteration: int = Field(ge=0)
    reason: CheckpointReason
    timestamp: AwareDatetime
    steps_sha256: Sha256
    """Digest of the steps before it, see `steps_sha256`."""
    evaluations: tuple[EvaluationEntry, ...] = ()
    """JavaScript that the user ran before it."""
    parted_after: int | None = None
    """Number of equal steps before its branch diverged from it; branches forked there still have its steps."""
    is_parked: bool = False
    """Whether a context is parked there now, which makes rewinding fast; false once the session ended."""


class Branch(FileModel):
    """One branch of a mission."""

    name: str
    parent_branch: str | None = None
    """None for `main`."""
    fork_point: CheckpointId | None = None
    """Id of the checkpoint where it was forked; None for `main`."""
    fork_iteration: int = 0
    """Number of steps shared with the parent."""
    created: AwareDatetime
    bundle: str
    """Path of its bundle: below the session, or that of the recording for `main`."""
    trace_sha256: str | None = None
    """For `main`: digest of the trace when the session started; other branches store it in their own files."""
    parent_sha256: str | None = None
    """Digest of the parent's trace at the fork; None for `main`."""
    is_live: bool = False
    """Whether requests missing from the recording go to the network."""
    iteration: int = 0
    """Number of steps done."""
    step_count: int
    """Total number of steps."""
    steps: tuple[StepEntry, ...] = ()
    """Steps done after the fork."""
    evaluations: tuple[EvaluationEntry, ...] = ()
    """JavaScript that the user ran before its position, including on its parents."""
    left_out: tuple[SkippedStepEntry, ...] = ()
    """Steps of the recording that it skips."""
    doubts: tuple[str, ...] = ()
    """Why it is not faithful to the recording, whatever its steps show."""
    checkpoints: tuple[CheckpointEntry, ...] = ()
    verdict: Verdict | None = None
    """Verdict of the finished branch; None before its end."""


class Timeline(FileModel):
    """Everything that happened in a session and was not discarded."""

    timeline_version: Literal[1] = TIMELINE_VERSION
    session_id: str
    mission_id: str
    branches: tuple[Branch, ...]
    """`main` first, then in order of creation."""
    active_branch: str = MAIN_BRANCH

    @property
    def active(self) -> Branch:
        """Return the active branch."""
        return next(each for each in self.branches if each.name == self.active_branch)

    def find_branch(self, name: str) -> Branch | None:
        """Return a branch by name, or None."""
        return next((each for each in self.branches if each.name == name), None)

    def with_branch(self, branch: Branch) -> Timeline:
        """Return the timeline with a branch added, or replaced by name."""
        known = self.find_branch(branch.name) is not None
        kept = tuple(branch if each.name == branch.name else each for each in self.branches)
        return self.model_copy(update={"branches": kept if known else (*kept, branch)})

    def with_parked(self, ids: Collection[str]) -> Timeline:
        """Return the timeline with contexts parked at exactly these checkpoints."""
        if all(entry.is_parked == (entry.id in ids) for _, entry in self.checkpoints()):
            return self
        branches = tuple(
            branch.model_copy(
                update={
                    "checkpoints": tuple(
                        entry.model_copy(update={"is_parked": entry.id in ids}) for entry in branch.checkpoints
                    )
                }
            )
            for branch in self.branches
        )
        return self.model_copy(update={"branches": branches})

    def checkpoints(self) -> Iterator[tuple[Branch, CheckpointEntry]]:
        """Yield all checkpoints with their branches, in order."""
        for branch in self.branches:
            for checkpoint in branch.checkpoints:
                yield branch, checkpoint
