"""What a session can be told to do: one line of `commands.jsonl` each."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import AwareDatetime, Field

from eikon_engine.outcome.debug_events import BreakpointType
from eikon_engine.trace.actions import Action
from eikon_engine.trace.record import FiniteJson, Record


class Pause(Record):
    """Stand still before the next step."""

    type: Literal["pause"] = "pause"


class Resume(Record):
    """Go on until something stops the session."""

    type: Literal["resume"] = "resume"


class Step(Record):
    """Do the next steps, then stand still."""

    type: Literal["step"] = "step"
    count: int = Field(default=1, ge=1)


class NextSubgoal(Record):
    """Go on until the next subgoal attempt begins."""

    type: Literal["next_subgoal"] = "next_subgoal"


class RunTo(Record):
    """Go on until as many steps are done."""

    type: Literal["run_to"] = "run_to"
    iteration: int = Field(ge=0)


class Inspect(Record):
    """Look at where the session stands."""

    type: Literal["inspect"] = "inspect"
    what: Literal["all", "page", "screenshot", "next", "network", "storage", "console", "divergences"] = "all"
    page: int = Field(default=0, ge=0)


class Locate(Record):
    """Ask how many elements a selector matches, and which; nothing is changed."""

    type: Literal["locate"] = "locate"
    selector: str
    page: int = Field(default=0, ge=0)
    frame: str = ""


class Evaluate(Record):
    """Run JavaScript in a page: a change of state, which is told from then on."""

    type: Literal["evaluate"] = "evaluate"
    expression: str
    page: int = Field(default=0, ge=0)
    frame: str = ""


class Quit(Record):
    """End the session."""

    type: Literal["quit"] = "quit"


class BreakpointAdd(Record):
    """Add a breakpoint."""

    type: Literal["breakpoint_add"] = "breakpoint_add"
    on: BreakpointType
    value: str | int | None = None
    """Name, iteration, regular expression, subgoal id, URL pattern or selector; None for errors and divergences."""
    condition: str | None = None
    """Regular expression that the input has to match too."""


class BreakpointList(Record):
    """List the breakpoints."""

    type: Literal["breakpoint_list"] = "breakpoint_list"


class BreakpointChange(Record):
    """Remove, enable or disable one breakpoint."""

    type: Literal["breakpoint_change"] = "breakpoint_change"
    id: str
    change: Literal["remove", "enable", "disable"]


class BreakpointClear(Record):
    """Remove all breakpoints."""

    type: Literal["breakpoint_clear"] = "breakpoint_clear"


class CheckpointCreate(Record):
    """Make a checkpoint here."""

    type: Literal["checkpoint_create"] = "checkpoint_create"
    label: str = ""


class CheckpointDelete(Record):
    """Delete a checkpoint."""

    type: Literal["checkpoint_delete"] = "checkpoint_delete"
    checkpoint: str
    """Id or label."""


class Rewind(Record):
    """Restore the state of a checkpoint, or of an iteration of the active branch; one of the two is given."""

    type: Literal["rewind"] = "rewind"
    checkpoint: str | None = None
    """Id or label."""
    iteration: int | None = Field(default=None, ge=0)
    force: bool = False
    """Whether steps that are lost were agreed to."""


class BranchCreate(Record):
    """Begin another way at a checkpoint, and switch to it."""

    type: Literal["branch_create"] = "branch_create"
    name: str
    checkpoint: str | None = None
    """Id or label; None makes one here."""
    live: bool = False
    """Whether requests that the recording does not know go to the network."""


class BranchSwitch(Record):
    """Go to the last checkpoint of another branch, or to its fork."""

    type: Literal["branch_switch"] = "branch_switch"
    name: str


class BranchDelete(Record):
    """Delete a branch that is not active and has no branches of its own."""

    type: Literal["branch_delete"] = "branch_delete"
    name: str


class BranchSkip(Record):
    """Leave the next step out. On `main`, this makes a branch."""

    type: Literal["branch_skip"] = "branch_skip"
    name: str | None = None
    """Of the branch that is made on `main`."""
    reason: str = "skipped by hand"


class BranchEdit(Record):
    """Give fields of a step to come other values. On `main`, this makes a branch."""

    type: Literal["branch_edit"] = "branch_edit"
    iteration: int | None = Field(default=None, ge=1)
    """Of the step; None for the next one."""
    fields: dict[str, FiniteJson]
    """As `SetFields.fields`, such as `action.target.selector`."""
    name: str | None = None
    reason: str = "edited by hand"


class BranchInsert(Record):
    """Put an action in front of the next step, behind those that were put in just before.

    On `main`, this makes a branch.
    """

    type: Literal["branch_insert"] = "branch_insert"
    action: Action
    perform: bool = False
    """Whether it is performed at once, with those that were put in just before."""
    name: str | None = None
    reason: str = "given by hand"


class BranchRecord(Record):
    """Begin or end to take what a person does in the window for actions of the branch."""

    type: Literal["branch_record"] = "branch_record"
    change: Literal["begin", "end", "discard"]
    name: str | None = None


class BranchSave(Record):
    """Write a branch as a trace of its own, or as a patch on the original."""

    type: Literal["branch_save"] = "branch_save"
    name: str
    form: Literal["trace", "patch"]
    output: str
    """Path of the folder or file, absolute."""


GoingCommand: TypeAlias = Resume | Step | NextSubgoal | RunTo
"""What lets the session go on."""
BranchCommand: TypeAlias = (
    BranchCreate | BranchDelete | BranchSkip | BranchEdit | BranchInsert | BranchRecord | BranchSave
)
"""What makes, changes or keeps branches."""
StandingCommand: TypeAlias = (
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
"""What needs the pages, and a session that stands still; of breakpoints, those on selectors."""
AnytimeCommand: TypeAlias = Pause | Quit | BreakpointList | BreakpointChange | BreakpointClear
"""What may be said while the session goes on."""

Command: TypeAlias = Annotated[GoingCommand | StandingCommand | AnytimeCommand, Field(discriminator="type")]


class CommandLine(Record):
    """One line of `commands.jsonl`."""

    id: str = Field(min_length=1, max_length=64)
    """Chosen by whoever writes it; the answer names it."""
    at: AwareDatetime
    command: Command
