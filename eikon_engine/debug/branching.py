"""Branches of a journey: begun at checkpoints, changed before steps to come, taught by what their steps show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.debug.branches.branch import demand_name, open_branch
from eikon_engine.debug.branches.changes import edit, insert, skip
from eikon_engine.debug.branches.fork import Fork, delete_branch, fork
from eikon_engine.debug.commands import BranchCreate, BranchEdit, BranchInsert, BranchSkip
from eikon_engine.debug.marking import keep_place
from eikon_engine.debug.passing import holder
from eikon_engine.debug.place_in_timeline import demand_branch, find_checkpoint
from eikon_engine.debug.step_fields import bundle_path
from eikon_engine.debug.timeline import Branch
from eikon_engine.debug.travelling import go_over
from eikon_engine.errors import BranchError
from eikon_engine.outcome.debug_events import MAIN_BRANCH, BranchChanged, BranchCreated, BranchDeleted, BranchSwitched
from eikon_engine.replay.label import label, step_label

if TYPE_CHECKING:
    from eikon_engine.debug.branches.branch import Branch as BranchOnDisk
    from eikon_engine.debug.commands import BranchDelete
    from eikon_engine.debug.journey import Journey
    from eikon_engine.debug.results import Stand
    from eikon_engine.debug.timeline import CheckpointEntry


async def create(journey: Journey, command: BranchCreate) -> Stand:
    """Begin another way at a checkpoint, and switch to it; without one, one is made where the session stands.

    Raises:
        CheckpointMissingError: there is no such checkpoint.
        CheckpointError: it was changed by hand.
        BranchError: the name is taken, or can be none.
        RewindNotFaithfulError: the place could not be restored; the branch is there, and was not switched to.
    """
    timeline = journey.timeline
    demand_name(command.name)  # before a checkpoint is made
    if timeline.branch(command.name) is not None:
        message = f"branch create: wanted a new name, found {command.name!r}, which is there already"
        raise BranchError(f"{message}; choose another one, or switch to it")
    journey.settle()
    if command.checkpoint is None:
        _, entry = await keep_place(journey)
        parent = journey.active  # its steps to come may be other ones than those of a branch that it left here
    else:
        owner, entry = find_checkpoint(timeline, command.checkpoint, "branch create")
        parent = holder(timeline, owner, entry)
    new = _fork(journey, parent, entry, command)
    journey.keep(journey.timeline.with_branch(new))
    journey.tell(
        BranchCreated(name=new.name, fork_point=entry.id, parent_branch=parent.name, iteration=entry.iteration)
    )
    return await _over(journey, new)


async def change(journey: Journey, command: BranchSkip | BranchEdit | BranchInsert) -> Stand:
    """Let the active branch do something else from here on; on `main`, a branch is made first.

    What is put in comes in front of the next step, behind what was put in there just before.

    Raises:
        BranchError: there is no such step to come, or the name of the new branch is taken.
        TraceFieldError: there is no such field, or the value does not fit it.
        EikonError: the changed mission cannot be replayed; the branch stays as it was.
    """
    _demand_possible(journey, command)
    if journey.active.name == MAIN_BRANCH:
        await create(journey, new_branch(journey, command.name))
    elif command.name is not None:
        message = f"{command.type}: --name is for the branch that is made on {MAIN_BRANCH}"
        raise BranchError(f"{message}, found the branch {journey.active.name}; leave it out")
    walk = journey.walk
    assert walk is not None  # noqa: S101 - the active branch is not `main`
    here = journey.line.iteration
    row = max(here, journey.put_in)
    changed, told = _changed(walk.branch, row if isinstance(command, BranchInsert) else here, command)
    walk.change(changed)
    journey.put_in = row + _growth(command, row - here)
    journey.note_way()
    journey.tell(BranchChanged(branch=journey.active.name, iteration=journey.line.iteration, change=told))
    return journey.pause("branch", told)


def delete(journey: Journey, command: BranchDelete) -> Stand:
    """Delete a branch that is not active and has no branches of its own.

    Raises:
        BranchError: it is active, has branches, is `main`, or is not there.
    """
    timeline = journey.timeline
    branch = demand_branch(timeline, command.name, "branch delete")
    if branch.name == MAIN_BRANCH:
        raise BranchError(f"branch delete: {MAIN_BRANCH} is the recording itself; it stays")
    if branch.name == timeline.active_branch:
        raise BranchError(f"branch delete: {branch.name} is the active branch; switch to another one first")
    child = next((each.name for each in timeline.branches if each.parent_branch == branch.name), None)
    if child is not None:
        raise BranchError(f"branch delete: {child} begins on {branch.name}; delete {child} first")
    delete_branch(open_branch(bundle_path(journey.folder, branch)))
    journey.drop_branch(branch.name)
    journey.tell(BranchDeleted(branch=branch.name))
    return journey.stand


def new_branch(journey: Journey, name: str | None) -> BranchCreate:
    """Return the command that makes a branch where the session stands; without a name, it gets a number."""
    names = {branch.name for branch in journey.timeline.branches}
    number = len(names)
    while f"branch-{number}" in names:
        number += 1
    return BranchCreate(name=name or f"branch-{number}")


async def _over(journey: Journey, branch: Branch) -> Stand:
    await go_over(journey, branch, branch.fork_iteration)
    journey.tell(BranchSwitched(branch=branch.name, iteration=journey.line.iteration))
    return journey.pause("branch", branch.name)


def _fork(journey: Journey, parent: Branch, entry: CheckpointEntry, command: BranchCreate) -> Branch:
    """Make the bundle of a branch, and the way to where it begins."""
    saved = journey.saved_checkpoint(parent, entry)
    wanted = Fork(
        name=command.name,
        parent=parent.name,
        fork_point=entry.id,
        iteration=entry.iteration,
        created=journey.now(),
        is_live=command.live,
        variables=dict(journey.lines.replay.variables),
    )
    made = fork(journey.ways[parent.name].bundle, journey.folder.branches, wanted)
    journey.ways[command.name] = saved.way(made.bundle)
    return Branch(
        name=command.name,
        parent_branch=parent.name,
        fork_point=entry.id,
        fork_iteration=entry.iteration,
        created=wanted.created,
        bundle=f"{journey.folder.branches.name}/{made.bundle.root.name}",
        parent_sha256=made.file.parent_sha256,
        is_live=command.live,
        iteration=entry.iteration,
        step_count=len(made.steps),
        evaluations=tuple(each.entry for each in saved.evaluations),
    )


def _growth(command: BranchSkip | BranchEdit | BranchInsert, row: int) -> int:
    """Say how many steps more there are in a row of those that were put in."""
    match command:
        case BranchInsert():
            return 1
        case BranchSkip() if row:
            return -1
        case _:
            return 0


def _demand_possible(journey: Journey, command: BranchSkip | BranchEdit | BranchInsert) -> None:
    """Refuse what can be no change before a branch is made for it."""
    here, count = journey.line.iteration, journey.line.step_count
    number = command.iteration if isinstance(command, BranchEdit) and command.iteration is not None else here + 1
    if isinstance(command, BranchInsert) or here < number <= count:
        return
    to_come = f"{here + 1} to {count}" if here < count else "none"
    message = f"{command.type}: wanted a step to come ({to_come}), found {number}"
    raise BranchError(f"{message}; go back to change earlier ones")


def _changed(
    branch: BranchOnDisk, iteration: int, command: BranchSkip | BranchEdit | BranchInsert
) -> tuple[BranchOnDisk, str]:
    """Return the changed branch, and what was changed, for people."""
    match command:
        case BranchSkip(reason=reason):
            skipped = step_label(branch.steps[iteration])
            return skip(branch, iteration + 1, reason), f"left out: {skipped}"
        case BranchEdit(fields=fields, reason=reason):
            number = command.iteration or iteration + 1
            named = ", ".join(fields)
            return edit(branch, number, fields, reason), f"changed {named} of step {number}"
        case BranchInsert(action=action, reason=reason):
            return insert(branch, iteration + 1, action, reason), f"put in: {label(action)}"
