"""The commands of a session."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import AwareDatetime, Field

from eikon_engine.files.models import FileModel, FiniteJson
from eikon_engine.outcome.debug_events import BreakpointType
from eikon_engine.trace.actions import Action


class Pause(FileModel):
    """Pause before the next step."""

    type: Literal["pause"] = "pause"


class Resume(FileModel):
    """Run until something stops the session."""

    type: Literal["resume"] = "resume"


class Step(FileModel):
    """Run the next steps, then pause."""

    type: Literal["step"] = "step"
    count: int = Field(default=1, ge=1)


class NextSubgoal(FileModel):
    """Run until the next subgoal attempt begins."""

    type: Literal["next_subgoal"] = "next_subgoal"


class RunTo(FileModel):
    """Run until this many steps are done."""

    type: Literal["run_to"] = "run_to"
    iteration: int = Field(ge=0)


class Inspect(FileModel):
    """Inspect the paused session."""

    type: Literal["inspect"] = "inspect"
    what: Literal["all", "page", "screenshot", "next", "network", "storage", "console", "divergences"] = "all"
    page: int = Field(default=0, ge=0)


class Locate(FileModel):
    """Count and list the elements that a selector matches; read-only."""

    type: Literal["locate"] = "locate"
    selector: str
    page: int = Field(default=0, ge=0)
    frame: str = ""


class Evaluate(FileModel):
    """Run JavaScript in a page; the session counts as modified from then on."""

    type: Literal["evaluate"] = "evaluate"
    expression: str
    page: int = Field(default=0, ge=0)
    frame: str = ""


class Quit(FileModel):
    """End the session."""

    type: Literal["quit"] = "quit"


class BreakpointAdd(FileModel):
    """Add a breakpoint."""

    type: Literal["breakpoint_add"] = "breakpoint_add"
    on: BreakpointType
    value: str | int | None = None
    """Name, iteration, regular expression, subgoal id, URL pattern or selector; None for errors and divergences."""
    condition: str | None = None
    """Regular expression that the input must match as well."""


class BreakpointList(FileModel):
    """List the breakpoints."""

    type: Literal["breakpoint_list"] = "breakpoint_list"


class BreakpointChange(FileModel):
    """Remove, enable or disable one breakpoint."""

    type: Literal["breakpoint_change"] = "breakpoint_change"
    id: str
    change: Literal["remove", "enable", "disable"]


class BreakpointClear(FileModel):
    """Remove all breakpoints."""

    type: Literal["breakpoint_clear"] = "breakpoint_clear"


class CheckpointCreate(FileModel):
    """Create a checkpoint at the current position."""

    type: Literal["checkpoint_create"] = "checkpoint_create"
    label: str = ""


class CheckpointDelete(FileModel):
    """Delete a checkpoint."""

    type: Literal["checkpoint_delete"] = "checkpoint_delete"
    checkpoint: str
    """Id or label."""


class Rewind(FileModel):
    """Restore a checkpoint, or an iteration of the active branch; exactly one of the two is given."""

    type: Literal["rewind"] = "rewind"
    checkpoint: str | None = None
    """Id or label."""
    iteration: int | None = Field(default=None, ge=0)
    force: bool = False
    """Whether the user agreed to discard steps."""


class BranchCreate(FileModel):
    """Create a branch at a checkpoint and switch to it."""

    type: Literal["branch_create"] = "branch_create"
    name: str
    checkpoint: str | None = None
    """Id or label; None creates one at the current position."""
    live: bool = False
    """Whether requests missing from the recording go to the network."""


class BranchSwitch(FileModel):
    """Switch to where another branch was left, or to its fork."""

    type: Literal["branch_switch"] = "branch_switch"
    name: str


class BranchDelete(FileModel):
    """Delete a branch that is not active and has no child branches."""

    type: Literal["branch_delete"] = "branch_delete"
    name: str


class BranchSkip(FileModel):
    """Skip the next step. On `main`, this creates a branch."""

    type: Literal["branch_skip"] = "branch_skip"
    name: str | None = None
    """Name of the branch created on `main`."""
    reason: str = "skipped manually"


class BranchEdit(FileModel):
    """Change fields of an upcoming step. On `main`, this creates a branch."""

    type: Literal["branch_edit"] = "branch_edit"
    iteration: int | None = Field(default=None, ge=1)
    """Number of the step; None for the next one."""
    fields: dict[str, FiniteJson]
    """As `SetFields.fields`, such as `action.target.selector`."""
    name: str | None = None
    reason: str = "edited manually"


class BranchInsert(FileModel):
    """Insert an action before the next step, after those inserted just before.

    On `main`, this creates a branch.
    """

    type: Literal["branch_insert"] = "branch_insert"
    action: Action
    perform: bool = False
    """Whether to run it at once, with those inserted just before."""
    name: str | None = None
    reason: str = "inserted manually"


class BranchRecord(FileModel):
    """Begin or end recording the user's actions in the window as steps of the branch."""

    type: Literal["branch_record"] = "branch_record"
    change: Literal["begin", "end", "discard"]
    name: str | None = None


class BranchSave(FileModel):
    """Save a branch as a bundle of its own, or as a patch on the original."""

    type: Literal["branch_save"] = "branch_save"
    name: str
    form: Literal["trace", "patch"]
    output: str
    """Absolute path of the folder or file."""


RunCommand: TypeAlias = Resume | Step | NextSubgoal | RunTo
"""Commands that run steps."""
BranchCommand: TypeAlias = (
    BranchCreate | BranchDelete | BranchSkip | BranchEdit | BranchInsert | BranchRecord | BranchSave
)
"""Commands that create, change or save branches."""
PausedCommand: TypeAlias = (
    Inspect
    | Locate
    | Evaluate
    | BreakpointAdd
    | CheckpointCreate
    | CheckpointDelete
    | Rewind
    | BranchSwitch
    | BranchCommand
)
"""Commands that need the pages of a paused session; among breakpoints, those on selectors."""
AnytimeCommand: TypeAlias = Pause | Quit | BreakpointList | BreakpointChange | BreakpointClear
"""Commands allowed while the session runs."""

Command: TypeAlias = Annotated[RunCommand | PausedCommand | AnytimeCommand, Field(discriminator="type")]


class CommandLine(FileModel):
    """One line of `commands.jsonl`, written before the command is executed."""

    id: str
    """Chosen by the client."""
    at: AwareDatetime
    command: Command
    """As executed: secrets are replaced by their names."""
