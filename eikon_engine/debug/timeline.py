"""Branches and checkpoints of a session: `timeline.json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import AwareDatetime, Field

from eikon_engine.debug.state_digest import Sha256
from eikon_engine.outcome.debug_events import MAIN_BRANCH, CheckpointReason
from eikon_engine.outcome.outcomes import Verdict
from eikon_engine.trace.record import Record

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

TIMELINE_VERSION: Literal[1] = 1


class StepEntry(Record):
    """One step of a branch, after its fork, that was done."""

    iteration: int = Field(ge=1)
    id: str
    """Of the step in the trace."""
    label: str
    verdict: Verdict
    is_new: bool = False
    """Whether the recording does not have it so: it was edited, inserted, or comes after such a step."""


class EvaluationEntry(Record):
    """JavaScript that was run by hand on the way."""

    iteration: int = Field(ge=0)
    """How many steps were done."""
    page: int
    frame: str
    expression: str
    """Without secrets."""


class LeftOutEntry(Record):
    """A step of the recording that a branch does not do."""

    iteration: int = Field(ge=0)
    """After how many steps of the branch it would have come."""
    id: str
    """Of the step in the trace of the recording."""
    label: str


class CheckpointEntry(Record):
    """One checkpoint; its file has the state."""

    id: str
    label: str
    iteration: int = Field(ge=0)
    reason: CheckpointReason
    timestamp: AwareDatetime
    steps_sha256: Sha256
    """Of the steps up to there, see `trace_sha256`."""
    evaluations: tuple[EvaluationEntry, ...] = ()
    """What was run by hand on the way to it."""
    parted_after: int | None = None
    """After how many steps its branch does others since it was made: the branches that begin there have its steps."""
    is_parked: bool = False
    """Whether a page waits there now, so that going back is quick; none does once the session is over."""


class Branch(Record):
    """One way of the mission."""

    name: str
    parent_branch: str | None = None
    """None for `main`."""
    fork_point: str | None = None
    """Id of the checkpoint at which it left its parent; None for `main`."""
    fork_iteration: int = 0
    """How many steps are those of the parent."""
    created: AwareDatetime
    bundle: str
    """Path of its bundle: below the session, or that of the recording for `main`."""
    trace_sha256: str | None = None
    """Of `main`: digest of the trace with which the session began; branches tell theirs in their own files."""
    parent_sha256: str | None = None
    """Digest of the parent's trace when it was forked; None for `main`."""
    is_live: bool = False
    """Whether requests that the recording does not know go to the network."""
    iteration: int = 0
    """How many steps are done."""
    step_count: int
    """How many steps it has in all."""
    steps: tuple[StepEntry, ...] = ()
    """Those done after the fork."""
    evaluations: tuple[EvaluationEntry, ...] = ()
    """What was run by hand on the way to where it is, the way of its parents included."""
    left_out: tuple[LeftOutEntry, ...] = ()
    """Steps of the recording that it does not do."""
    doubts: tuple[str, ...] = ()
    """Why it is not faithful to the recording, whatever its steps show."""
    checkpoints: tuple[CheckpointEntry, ...] = ()
    verdict: Verdict | None = None
    """What the branch came to; None before its end."""


class Timeline(Record):
    """Everything that a session has been through, as far as it was not discarded."""

    timeline_version: Literal[1] = TIMELINE_VERSION
    session_id: str
    mission_id: str
    branches: tuple[Branch, ...]
    """`main` first, then in the order in which they were made."""
    active_branch: str = MAIN_BRANCH

    @property
    def active(self) -> Branch:
        """Return the active branch."""
        return next(each for each in self.branches if each.name == self.active_branch)

    def branch(self, name: str) -> Branch | None:
        """Return a branch by name; None if there is none."""
        return next((each for each in self.branches if each.name == name), None)

    def with_branch(self, branch: Branch) -> Timeline:
        """Return the timeline with a branch in the place of the one of that name, or after all others."""
        known = self.branch(branch.name) is not None
        kept = tuple(branch if each.name == branch.name else each for each in self.branches)
        return self.model_copy(update={"branches": kept if known else (*kept, branch)})

    def with_parked(self, ids: Collection[str]) -> Timeline:
        """Return the timeline with pages that wait at the checkpoints of these ids, and at no other ones."""
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
