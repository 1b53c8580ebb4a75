"""The branch commands of a session: create, change and delete branches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.debug.branches.branch import open_branch, require_branch_name
from eikon_engine.debug.branches.changes import edit_step, insert_step, skip_step
from eikon_engine.debug.branches.fork import BranchSpec, create_branch_bundle, delete_branch_bundle
from eikon_engine.debug.commands import BranchCreate, BranchEdit, BranchInsert, BranchSkip
from eikon_engine.debug.marking import ensure_checkpoint
from eikon_engine.debug.passing import find_branch_with_steps
from eikon_engine.debug.place_in_timeline import find_checkpoint, require_branch
from eikon_engine.debug.session_folder import branch_bundle_path
from eikon_engine.debug.timeline import Branch
from eikon_engine.debug.travelling import move_to_branch
from eikon_engine.errors import BranchError
from eikon_engine.outcome.debug_events import MAIN_BRANCH, BranchChanged, BranchCreated, BranchDeleted, BranchSwitched
from eikon_engine.replay.label import action_label, step_label

if TYPE_CHECKING:
    from eikon_engine.debug.branches.branch import BranchBundle as BranchOnDisk
    from eikon_engine.debug.commands import BranchDelete
    from eikon_engine.debug.journey import DebugSession
    from eikon_engine.debug.results import Position
    from eikon_engine.debug.timeline import CheckpointEntry


async def create_branch(session: DebugSession, command: BranchCreate) -> Position:
    """Create a branch at a checkpoint and switch to it; without a checkpoint, one is created at the current position.

    Raises:
        CheckpointMissingError: there is no such checkpoint.
        CheckpointError: the checkpoint was modified outside the session.
        BranchError: the name is taken or invalid.
        RewindDivergedError: the position could not be restored; the branch exists but is not active.
    """
    timeline = session.timeline
    require_branch_name(command.name)  # before creating a checkpoint
    if timeline.find_branch(command.name) is not None:
        message = f"branch create: branch {command.name!r} already exists"
        raise BranchError(f"{message}; choose another name, or switch to it")
    session.finish_branch_step()
    if command.checkpoint is None:
        _, entry = await ensure_checkpoint(session)
        parent = session.active_branch  # its upcoming steps may differ from those of the branch it forked from here
    else:
        owner, entry = find_checkpoint(timeline, command.checkpoint, "branch create")
        parent = find_branch_with_steps(timeline, owner, entry)
    new = _create_fork(session, parent, entry, command)
    session.save_timeline(session.timeline.with_branch(new))
    session.record(
        BranchCreated(name=new.name, fork_point=entry.id, parent_branch=parent.name, iteration=entry.iteration)
    )
    return await _switch_to(session, new)


async def change_branch(session: DebugSession, command: BranchSkip | BranchEdit | BranchInsert) -> Position:
    """Change the upcoming steps of the active branch; on `main`, create a branch first.

    Inserted actions go before the next step, after those inserted just before.

    Raises:
        BranchError: no such upcoming step, or the name of the new branch is taken.
        TraceFieldError: no such field, or the value does not fit it.
        EikonError: the changed mission cannot be replayed; the branch is unchanged.
    """
    _require_applicable(session, command)
    if session.active_branch.name == MAIN_BRANCH:
        await create_branch(session, branch_create_command(session, command.name))
    elif command.name is not None:
        message = f"{command.type}: --name only applies on {MAIN_BRANCH}, where a branch is created"
        raise BranchError(f"{message}; the active branch is {session.active_branch.name}, remove --name")
    runner = session.branch_runner
    assert runner is not None  # noqa: S101 - the active branch is not `main`
    here = session.context.iteration
    row = max(here, session.last_inserted)
    changed, told = _apply_change(runner.branch, row if isinstance(command, BranchInsert) else here, command)
    runner.replan(changed)
    session.last_inserted = row + _row_growth(command, row - here)
    session.update_branch()
    session.record(BranchChanged(branch=session.active_branch.name, iteration=session.context.iteration, change=told))
    return session.pause("branch", told)


def delete_branch(session: DebugSession, command: BranchDelete) -> Position:
    """Delete a branch that is not active and has no child branches.

    Raises:
        BranchError: it is active, has child branches, is `main`, or does not exist.
    """
    timeline = session.timeline
    branch = require_branch(timeline, command.name, "branch delete")
    if branch.name == MAIN_BRANCH:
        raise BranchError(f"branch delete: {MAIN_BRANCH} is the recording itself and cannot be deleted")
    if branch.name == timeline.active_branch:
        raise BranchError(f"branch delete: {branch.name} is the active branch; switch to another branch first")
    child = next((each.name for each in timeline.branches if each.parent_branch == branch.name), None)
    if child is not None:
        raise BranchError(f"branch delete: {child} was forked from {branch.name}; delete {child} first")
    delete_branch_bundle(open_branch(branch_bundle_path(session.folder, branch)))
    session.drop_branch(branch.name)
    session.record(BranchDeleted(branch=branch.name))
    return session.position


def branch_create_command(session: DebugSession, name: str | None) -> BranchCreate:
    """Return the command that creates a branch at the current position; without a name, the branch is numbered."""
    names = {branch.name for branch in session.timeline.branches}
    number = len(names)
    while f"branch-{number}" in names:
        number += 1
    return BranchCreate(name=name or f"branch-{number}")


async def _switch_to(session: DebugSession, branch: Branch) -> Position:
    await move_to_branch(session, branch, branch.fork_iteration)
    session.record(BranchSwitched(branch=branch.name, iteration=session.context.iteration))
    return session.pause("branch", branch.name)


def _create_fork(session: DebugSession, parent: Branch, entry: CheckpointEntry, command: BranchCreate) -> Branch:
    """Create the bundle of a branch and its history up to the fork."""
    saved = session.read_checkpoint(parent, entry)
    spec = BranchSpec(
        name=command.name,
        parent=parent.name,
        fork_point=entry.id,
        iteration=entry.iteration,
        created=session.now(),
        is_live=command.live,
        variables=dict(session.pool.replay_options.variables),
    )
    made = create_branch_bundle(session.histories[parent.name].bundle, session.folder.branches, spec)
    session.histories[command.name] = saved.history(made.bundle)
    return Branch(
        name=command.name,
        parent_branch=parent.name,
        fork_point=entry.id,
        fork_iteration=entry.iteration,
        created=spec.created,
        bundle=f"{session.folder.branches.name}/{made.bundle.root.name}",
        parent_sha256=made.file.parent_sha256,
        is_live=command.live,
        iteration=entry.iteration,
        step_count=len(made.steps),
        evaluations=tuple(each.timeline_entry for each in saved.evaluations),
    )


def _row_growth(command: BranchSkip | BranchEdit | BranchInsert, run_length: int) -> int:
    """Return by how many steps a change lengthens the run of inserted steps."""
    match command:
        case BranchInsert():
            return 1
        case BranchSkip() if run_length:
            return -1
        case _:
            return 0


def _require_applicable(session: DebugSession, command: BranchSkip | BranchEdit | BranchInsert) -> None:
    """Reject an impossible change before a branch is created for it."""
    here, count = session.context.iteration, session.context.step_count
    number = command.iteration if isinstance(command, BranchEdit) and command.iteration is not None else here + 1
    if isinstance(command, BranchInsert) or here < number <= count:
        return
    upcoming = f"{here + 1} to {count}" if here < count else "none"
    message = f"{command.type}: expected an upcoming step ({upcoming}), got {number}"
    raise BranchError(f"{message}; rewind to change earlier steps")


def _apply_change(
    branch: BranchOnDisk, iteration: int, command: BranchSkip | BranchEdit | BranchInsert
) -> tuple[BranchOnDisk, str]:
    """Return the changed branch and a description of the change."""
    match command:
        case BranchSkip(reason=reason):
            skipped = step_label(branch.steps[iteration])
            return skip_step(branch, iteration + 1, reason), f"skipped: {skipped}"
        case BranchEdit(fields=fields, reason=reason):
            number = command.iteration or iteration + 1
            named = ", ".join(fields)
            return edit_step(branch, number, fields, reason), f"changed {named} of step {number}"
        case BranchInsert(action=action, reason=reason):
            return insert_step(branch, iteration + 1, action, reason), f"inserted: {action_label(action)}"
