"""Events of a debug session: its position, why it paused, and the results of its commands.

An *iteration* is the number of a step in the mission, from 1. "At iteration 3" means that three steps are done; a
breakpoint at 4 pauses there, before the fourth step.
"""

from typing import Literal, TypeAlias

from pydantic import Field

from eikon_engine.files.models import FileModel, FiniteJson
from eikon_engine.outcome.stored_values import StoredValue

MAIN_BRANCH: Literal["main"] = "main"
"""Name of the branch that holds the recording itself."""

BreakpointType: TypeAlias = Literal[
    "tool", "iteration", "pattern", "error", "divergence", "subgoal", "request", "selector"
]
PauseReason: TypeAlias = Literal[
    "start", "end", "user", "step", "next_subgoal", "run_to", "breakpoint", "rewind", "branch"
]
"""Why a session is paused: at the start or end of its branch; on request of the user; after a step, subgoal or run-to
command; at a breakpoint; after a rewind or a switch of branches."""
ResumeMode: TypeAlias = Literal["resume", "step", "next_subgoal", "run_to"]
CheckpointReason: TypeAlias = Literal["manual", "automatic", "divergence"]
RewindMode: TypeAlias = Literal["parked", "reexecuted"]


class Checkpoint(FileModel):
    """A named position in the run."""

    type: Literal["checkpoint"] = "checkpoint"
    id: str
    subgoal: str
    """Id of the subgoal attempt of the preceding step; empty at the start."""
    sequence: int
    """Sequence of the preceding step; 0 at the start."""
    label: str
    """Empty if there is none."""
    iteration: int | None = None
    """Number of completed steps; None outside a debug session."""
    branch: str | None = None
    reason: CheckpointReason | None = None


class BreakpointRef(FileModel):
    """The breakpoint that was hit."""

    id: str
    type: BreakpointType
    condition: str | int | None = None


class BreakpointContext(FileModel):
    """The step that hit the breakpoint."""

    tool_name: str | None = None
    """Type of the next action, or name of the next skill."""
    tool_input: FiniteJson = None
    """The action as recorded in the trace, or the parameters of the skill."""
    iteration: int
    """Iteration of the next step."""
    error: str | None = None
    """What matched: the error, divergence, request or selector, depending on the type of the breakpoint."""


class BreakpointHit(FileModel):
    """A breakpoint paused the run before the next step."""

    type: Literal["breakpoint_hit"] = "breakpoint_hit"
    breakpoint: BreakpointRef
    context: BreakpointContext
    hit_count: int = Field(ge=1)
    branch: str


class Paused(FileModel):
    """The session is paused."""

    type: Literal["paused"] = "paused"
    reason: PauseReason
    branch: str
    iteration: int
    """Number of completed steps."""
    next: str | None
    """Readable description of the next step; None at the end."""
    detail: str = ""
    """Readable details of the reason."""


class Resumed(FileModel):
    """The session continues."""

    type: Literal["resumed"] = "resumed"
    how: ResumeMode
    branch: str
    iteration: int


class Rewound(FileModel):
    """An earlier state was restored and verified."""

    type: Literal["rewind"] = "rewind"
    checkpoint_id: str
    branch: str
    iteration: int
    way: RewindMode
    """How the state was restored: from a parked context, or by re-running the steps in a new context."""
    reexecuted: int
    """Number of steps that were re-run."""
    verified: int
    """Number of layer digests that were compared and equal, in re-run steps and in a reused parked context."""
    discarded: int
    """Number of later steps removed from the branch."""
    duration_ms: float


class Evaluated(FileModel):
    """The user ran JavaScript in a page. Unless it only reads, the state may differ from the recording from here on."""

    type: Literal["evaluated"] = "evaluated"
    branch: str
    iteration: int
    page: int
    frame: str
    expression: str
    result: StoredValue | None
    error: str | None = None
    reads_only: bool = False
    """Whether it had no effect."""


class BranchCreated(FileModel):
    """A branch was created at a checkpoint."""

    type: Literal["branch_created"] = "branch_created"
    name: str
    fork_point: str
    """Id of the checkpoint."""
    parent_branch: str
    iteration: int


class BranchSwitched(FileModel):
    """Another branch became the active one."""

    type: Literal["branch_switched"] = "branch_switched"
    branch: str
    iteration: int


class BranchChanged(FileModel):
    """The steps of a branch were changed."""

    type: Literal["branch_changed"] = "branch_changed"
    branch: str
    iteration: int
    """Number of completed steps; the change affects later steps."""
    change: str
    """Readable description of the change."""


class BranchDeleted(FileModel):
    """A branch was deleted."""

    type: Literal["branch_deleted"] = "branch_deleted"
    branch: str


class CommandDone(FileModel):
    """A command was executed."""

    type: Literal["command_done"] = "command_done"
    command_id: str
    command: str
    """Type of the command."""
    result: StoredValue
    """Result of the command; an object."""


class CommandFailed(FileModel):
    """A command was refused or failed; the session is unchanged."""

    type: Literal["command_failed"] = "command_failed"
    command_id: str
    command: str
    code: str
    """Error code, see `docs/errors.md`."""
    message: str
    exit_status: int


class CommandRejected(FileModel):
    """A line of the command file, which sessions once read, was not a valid command."""

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
