"""The branch commands of a session: create, change and delete branches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.debug.branches.branch import demand_name, open_branch
from eikon_engine.debug.branches.changes import edit, insert, skip
from eikon_engine.debug.branches.fork import Fork, delete_branch, fork
from eikon_engine.debug.commands import BranchCreate, BranchEdit, BranchInsert, BranchSkip
from eikon_engine.debug.marking import keep_place
from eikon_engine.debug.passing import holder
from eikon_engine.debug.place_in_timeline import demand_branch, find_checkpoint
from eikon_engine.debug.session_folder import bundle_path
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
    """Create a branch at a checkpoint and switch to it; without a checkpoint, one is created at the current position.

    Raises:
        CheckpointMissingError: there is no such checkpoint.
        CheckpointError: the checkpoint was modified outside the session.
        BranchError: the name is taken or invalid.
        RewindNotFaithfulError: the position could not be restored; the branch exists but is not active.
    """
    timeline = journey.timeline
    demand_name(command.name)  # before creating a checkpoint
    if timeline.branch(command.name) is not None:
        message = f"branch create: branch {command.name!r} already exists"
        raise BranchError(f"{message}; choose another name, or switch to it")
    journey.settle()
    if command.checkpoint is None:
        _, entry = await keep_place(journey)
        parent = journey.active  # its upcoming steps may differ from those of the branch it forked from here
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
    """Change the upcoming steps of the active branch; on `main`, create a branch first.

    Inserted actions go before the next step, after those inserted just before.

    Raises:
        BranchError: no such upcoming step, or the name of the new branch is taken.
        TraceFieldError: no such field, or the value does not fit it.
        EikonError: the changed mission cannot be replayed; the branch is unchanged.
    """
    _demand_possible(journey, command)
    if journey.active.name == MAIN_BRANCH:
        await create(journey, new_branch(journey, command.name))
    elif command.name is not None:
        message = f"{command.type}: --name only applies on {MAIN_BRANCH}, where a branch is created"
        raise BranchError(f"{message}; the active branch is {journey.active.name}, remove --name")
    runner = journey.walk
    assert runner is not None  # noqa: S101 - the active branch is not `main`
    here = journey.line.iteration
    row = max(here, journey.put_in)
    changed, told = _changed(runner.branch, row if isinstance(command, BranchInsert) else here, command)
    runner.change(changed)
    journey.put_in = row + _growth(command, row - here)
    journey.note_way()
    journey.tell(BranchChanged(branch=journey.active.name, iteration=journey.line.iteration, change=told))
    return journey.pause("branch", told)


def delete(journey: Journey, command: BranchDelete) -> Stand:
    """Delete a branch that is not active and has no child branches.

    Raises:
        BranchError: it is active, has child branches, is `main`, or does not exist.
    """
    timeline = journey.timeline
    branch = demand_branch(timeline, command.name, "branch delete")
    if branch.name == MAIN_BRANCH:
        raise BranchError(f"branch delete: {MAIN_BRANCH} is the recording itself and cannot be deleted")
    if branch.name == timeline.active_branch:
        raise BranchError(f"branch delete: {branch.name} is the active branch; switch to another branch first")
    child = next((each.name for each in timeline.branches if each.parent_branch == branch.name), None)
    if child is not None:
        raise BranchError(f"branch delete: {child} was forked from {branch.name}; delete {child} first")
    delete_branch(open_branch(bundle_path(journey.folder, branch)))
    journey.drop_branch(branch.name)
    journey.tell(BranchDeleted(branch=branch.name))
    return journey.stand


def new_branch(journey: Journey, name: str | None) -> BranchCreate:
    """Return the command that creates a branch at the current position; without a name, the branch is numbered."""
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
    """Create the bundle of a branch and its history up to the fork."""
    saved = journey.saved_checkpoint(parent, entry)
    spec = Fork(
        name=command.name,
        parent=parent.name,
        fork_point=entry.id,
        iteration=entry.iteration,
        created=journey.now(),
        is_live=command.live,
        variables=dict(journey.lines.replay.variables),
    )
    made = fork(journey.ways[parent.name].bundle, journey.folder.branches, spec)
    journey.ways[command.name] = saved.way(made.bundle)
    return Branch(
        name=command.name,
        parent_branch=parent.name,
        fork_point=entry.id,
        fork_iteration=entry.iteration,
        created=spec.created,
        bundle=f"{journey.folder.branches.name}/{made.bundle.root.name}",
        parent_sha256=made.file.parent_sha256,
        is_live=command.live,
        iteration=entry.iteration,
        step_count=len(made.steps),
        evaluations=tuple(each.entry for each in saved.evaluations),
    )


def _growth(command: BranchSkip | BranchEdit | BranchInsert, row: int) -> int:
    """Return by how many steps a change lengthens the run of inserted steps."""
    match command:
        case BranchInsert():
            return 1
        case BranchSkip() if row:
            return -1
        case _:
            return 0


def _demand_possible(journey: Journey, command: BranchSkip | BranchEdit | BranchInsert) -> None:
    """Reject an impossible change before a branch is created for it."""
    here, count = journey.line.iteration, journey.line.step_count
    number = command.iteration if isinstance(command, BranchEdit) and command.iteration is not None else here + 1
    if isinstance(command, BranchInsert) or here < number <= count:
        return
    upcoming = f"{here + 1} to {count}" if here < count else "none"
    message = f"{command.type}: expected an upcoming step ({upcoming}), got {number}"
    raise BranchError(f"{message}; rewind to change earlier steps")


def _changed(
    branch: BranchOnDisk, iteration: int, command: BranchSkip | BranchEdit | BranchInsert
) -> tuple[BranchOnDisk, str]:
    """Return the changed branch and a description of the change."""
    match command:
        case BranchSkip(reason=reason):
            skipped = step_label(branch.steps[iteration])
            return skip(branch, iteration + 1, reason), f"skipped: {skipped}"
        case BranchEdit(fields=fields, reason=reason):
            number = command.iteration or iteration + 1
            named = ", ".join(fields)
            return edit(branch, number, fields, reason), f"changed {named} of step {number}"
        case BranchInsert(action=action, reason=reason):
            return insert(branch, iteration + 1, action, reason), f"inserted: {label(action)}"
