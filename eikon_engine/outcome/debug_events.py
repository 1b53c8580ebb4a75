"""Events of a debug session: where it stands, why it paused, and what its commands did.

An *iteration* is the number of a step in the mission, from 1; "at iteration 3" means that three steps are done, and a
breakpoint at 4 pauses there, before the fourth.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from eikon_engine.outcome.stored import Stored
from eikon_engine.trace.record import FiniteJson, Record

MAIN_BRANCH: Literal["main"] = "main"
"""Name of the branch that is the recording itself."""

BreakpointType: TypeAlias = Literal[
    "tool", "iteration", "pattern", "error", "divergence", "subgoal", "request", "selector"
]
PauseReason: TypeAlias = Literal[
    "start", "end", "user", "step", "next_subgoal", "run_to", "breakpoint", "rewind", "branch"
]
"""Why a session stands still: it has begun, or its branch has come to its end; somebody asked it to; it did what it was
told to; a breakpoint; it was taken somewhere else."""
ResumeWay: TypeAlias = Literal["resume", "step", "next_subgoal", "run_to"]
CheckpointReason: TypeAlias = Literal["manual", "automatic", "divergence"]
RewindWay: TypeAlias = Literal["parked", "reexecuted"]


class Checkpoint(Record):
    """A place in the run that has a name."""

    type: Literal["checkpoint"] = "checkpoint"
    id: str
    subgoal: str
    """Id of the attempt of the last step before it; empty at the start."""
    sequence: int
    """Of the last step before it; 0 at the start."""
    label: str
    """Empty if it has none."""
    iteration: int | None = None
    """How many steps are done there; None outside of a debug session."""
    branch: str | None = None
    reason: CheckpointReason | None = None


class BreakpointNamed(Record):
    """The breakpoint that was hit."""

    id: str
    type: BreakpointType
    condition: str | int | None = None


class BreakpointContext(Record):
    """What it was hit by."""

    tool_name: str | None = None
    """Type of the action, or name of the skill, that comes next."""
    tool_input: FiniteJson = None
    """The action as it stands in the trace, or the parameters of the skill."""
    iteration: int
    """Of the step that comes next."""
    error: str | None = None
    """The error or divergence, for breakpoints of those; the request or the selector for breakpoints of these."""


class BreakpointHit(Record):
    """A breakpoint stops the run before the step that comes next."""

    type: Literal["breakpoint_hit"] = "breakpoint_hit"
    breakpoint: BreakpointNamed
    context: BreakpointContext
    hit_count: int = Field(ge=1)
    branch: str


class Paused(Record):
    """The session stands still."""

    type: Literal["paused"] = "paused"
    reason: PauseReason
    branch: str
    iteration: int
    """How many steps are done."""
    next: str | None
    """What the next step does, for people; None at the end."""
    detail: str = ""
    """More about the reason, for people."""


class Resumed(Record):
    """The session goes on."""

    type: Literal["resumed"] = "resumed"
    how: ResumeWay
    branch: str
    iteration: int


class Rewound(Record):
    """The state of an earlier moment was restored, and found equal to what it was."""

    type: Literal["rewind"] = "rewind"
    checkpoint_id: str
    branch: str
    iteration: int
    way: RewindWay
    """From a parked page, or by doing everything again in a fresh context."""
    reexecuted: int
    """How many steps were done again."""
    verified: int
    """How many digests of layers were compared, and were equal: on the way, and of a parked page when it was taken."""
    discarded: int
    """How many steps after that moment the branch has lost."""
    duration_ms: float


class Evaluated(Record):
    """JavaScript was run in a page by hand: from here on, the state may be none that the recording leads to."""

    type: Literal["evaluated"] = "evaluated"
    branch: str
    iteration: int
    page: int
    frame: str
    expression: str
    result: Stored | None
    error: str | None = None


class BranchCreated(Record):
    """Another way begins at a checkpoint."""

    type: Literal["branch_created"] = "branch_created"
    name: str
    fork_point: str
    """Id of the checkpoint."""
    parent_branch: str
    iteration: int


class BranchSwitched(Record):
    """Another branch is the active one."""

    type: Literal["branch_switched"] = "branch_switched"
    branch: str
    iteration: int


class BranchChanged(Record):
    """The steps of a branch were changed."""

    type: Literal["branch_changed"] = "branch_changed"
    branch: str
    iteration: int
    """How many steps are done; the change is after them."""
    change: str
    """What was changed, for people."""


class BranchDeleted(Record):
    """A branch is gone."""

    type: Literal["branch_deleted"] = "branch_deleted"
    branch: str


class CommandDone(Record):
    """A command was carried out."""

    type: Literal["command_done"] = "command_done"
    command_id: str
    command: str
    """Its type."""
    result: Stored
    """What it gives back; an object."""


class CommandFailed(Record):
    """A command was refused, or failed; the session is as it was."""

    type: Literal["command_failed"] = "command_failed"
    command_id: str
    command: str
    code: str
    """Of the error, see `docs/errors.md`."""
    message: str
    exit_status: int


class CommandRejected(Record):
    """A line of the command file is no command; it was left as it is, and skipped."""

    type: Literal["command_rejected"] = "command_rejected"
    line: int = Field(ge=1)
    message: str


DebugEvent: TypeAlias = (
    Checkpoint
    | BreakpointHit
    | Paused
    | Resumed
    | Rewound
    | Evaluated
    | BranchCreated
    | BranchSwitched
    | BranchChanged
    | BranchDeleted
    | CommandDone
    | CommandFailed
    | CommandRejected
)
