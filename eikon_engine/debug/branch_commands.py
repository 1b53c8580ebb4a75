"""The branch commands of a session: create, change, record, save and delete branches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from eikon_engine.certify.options import CertifyOptions
from eikon_engine.debug.branches.branch import edit_step, insert_step, open_branch, require_branch_name, skip_step
from eikon_engine.debug.branches.interactive import InteractiveRecorder, insert_all
from eikon_engine.debug.branches.lifecycle import (
    BranchSpec,
    create_branch_bundle,
    delete_branch_bundle,
    save_as_bundle,
    save_as_patch,
)
from eikon_engine.debug.checkpoint_policy import ensure_checkpoint
from eikon_engine.debug.commands import BranchCreate, BranchEdit, BranchInsert, BranchSkip
from eikon_engine.debug.results import SavedBranch
from eikon_engine.debug.rewind import move_to_branch
from eikon_engine.debug.session_folder import branch_bundle_path
from eikon_engine.debug.timeline import Branch
from eikon_engine.debug.timeline_queries import find_branch_with_steps, find_checkpoint, require_branch
from eikon_engine.errors import UsageError
from eikon_engine.outcome.debug_events import MAIN_BRANCH, BranchChanged, BranchCreated, BranchDeleted, BranchSwitched
from eikon_engine.outcome.events import Note
from eikon_engine.report.certification import render_certification
from eikon_engine.trace.labels import action_label, step_label

if TYPE_CHECKING:
    from eikon_engine.debug.branches.branch import BranchBundle as BranchOnDisk
    from eikon_engine.debug.commands import BranchDelete, BranchRecord, BranchSave
    from eikon_engine.debug.results import Position
    from eikon_engine.debug.session import DebugSession
    from eikon_engine.debug.timeline import CheckpointEntry
    from eikon_engine.outcome.certification import CertificationReport


async def create_branch(session: DebugSession, command: BranchCreate) -> Position:
    """Create a branch at a checkpoint and switch to it; without a checkpoint, one is created at the current position.

    Raises:
        RequirementError: there is no such checkpoint.
        CheckpointError: the checkpoint was modified outside the session.
        UsageError: the name is taken or invalid.
        ReplayError: the position could not be restored; the branch exists but is not active.
    """
    timeline = session.timeline
    require_branch_name(command.name)  # before creating a checkpoint
    if timeline.find_branch(command.name) is not None:
        message = f"branch create: branch {command.name!r} already exists"
        raise UsageError(f"{message}; choose another name, or switch to it", code="branch")
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
        UsageError: no such upcoming step, or the name of the new branch is taken.
        TraceFieldError: no such field, or the value does not fit it.
        EikonError: the changed mission cannot be replayed; the branch is unchanged.
    """
    _require_applicable(session, command)
    if session.active_branch.name == MAIN_BRANCH:
        await create_branch(session, branch_create_command(session, command.name))
    elif command.name is not None:
        message = f"{command.type}: --name only applies on {MAIN_BRANCH}, where a branch is created"
        raise UsageError(f"{message}; the active branch is {session.active_branch.name}, remove --name", code="branch")
    runner = session.branch_runner
    assert runner is not None  # noqa: S101 - the active branch is not `main`
    iteration = session.context.iteration
    row = max(iteration, session.last_inserted)
    changed, change = _apply_change(runner.branch, row if isinstance(command, BranchInsert) else iteration, command)
    runner.replan(changed)
    session.last_inserted = row + _row_growth(command, row - iteration)
    session.update_branch()
    session.record(BranchChanged(branch=session.active_branch.name, iteration=session.context.iteration, change=change))
    return session.pause("branch", change)


def delete_branch(session: DebugSession, command: BranchDelete) -> Position:
    """Delete a branch that is not active and has no child branches.

    Raises:
        UsageError: it is active, has child branches, is `main`, or does not exist.
    """
    timeline = session.timeline
    branch = require_branch(timeline, command.name, "branch delete")
    if branch.name == MAIN_BRANCH:
        raise UsageError(f"branch delete: {MAIN_BRANCH} is the recording itself and cannot be deleted", code="branch")
    if branch.name == timeline.active_branch:
        raise UsageError(
            f"branch delete: {branch.name} is the active branch; switch to another branch first", code="branch"
        )
    child = next((each.name for each in timeline.branches if each.parent_branch == branch.name), None)
    if child is not None:
        raise UsageError(f"branch delete: {child} was forked from {branch.name}; delete {child} first", code="branch")
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
    created = create_branch_bundle(session.histories[parent.name].bundle, session.folder.branches, spec)
    session.histories[command.name] = saved.history(created.bundle)
    return Branch(
        name=command.name,
        parent_branch=parent.name,
        fork_point=entry.id,
        fork_iteration=entry.iteration,
        created=spec.created,
        bundle=f"{session.folder.branches.name}/{created.bundle.root.name}",
        parent_sha256=created.file.parent_sha256,
        is_live=command.live,
        iteration=entry.iteration,
        step_count=len(created.steps),
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
    iteration, count = session.context.iteration, session.context.step_count
    number = command.iteration if isinstance(command, BranchEdit) and command.iteration is not None else iteration + 1
    if isinstance(command, BranchInsert) or iteration < number <= count:
        return
    upcoming = f"{iteration + 1} to {count}" if iteration < count else "none"
    message = f"{command.type}: expected an upcoming step ({upcoming}), got {number}"
    raise UsageError(f"{message}; rewind to change earlier steps", code="branch")


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


_INTERACTIVE_REASON = "recorded interactively"


async def begin_interactive(session: DebugSession, command: BranchRecord) -> Position:
    """Let the user act in the pages; on `main`, create a branch first.

    Raises:
        UsageError: a recording is already active, or the name of the new branch is invalid.
    """
    if session.interactive_recording is not None:
        raise UsageError("branch record: a recording is already active; end or discard it", code="branch")
    if session.active_branch.name == MAIN_BRANCH:
        await create_branch(session, branch_create_command(session, command.name))
    session.finish_branch_step()
    recorder = InteractiveRecorder(session.context)
    await recorder.begin()
    session.interactive_recording = recorder
    return session.pause("branch", "interactive recording: branch record end keeps the actions, discard drops them")


async def end_interactive(session: DebugSession, *, keep_actions: bool) -> int:
    """Restore the position where the recording began; return how many actions were inserted there.

    Raises:
        UsageError: no recording is active.
        ReplayError: the position could not be restored.
    """
    recorder, runner = session.interactive_recording, session.branch_runner
    if recorder is None or runner is None:
        raise UsageError("branch record: no recording is active; begin one", code="branch")
    session.interactive_recording = session.branch_runner = None
    name, iteration, branch = session.active_branch.name, session.context.iteration, runner.branch
    count = 0
    if keep_actions:
        done = await recorder.end(branch.bundle.files)
        branch, count = insert_all(branch, iteration + 1, done.actions, _INTERACTIVE_REASON), len(done.actions)
        for action in done.actions:
            session.record(
                BranchChanged(
                    branch=name, iteration=iteration, change=f"recorded interactively: {action_label(action)}"
                )
            )
        for warning in done.warnings:
            session.record(Note(text=warning))
    else:
        await recorder.stop()
    history = replace(session.histories[name], bundle=branch.bundle).until(iteration)
    restored = await session.pool.restore(history, iteration)
    session.pool.parking.discard(session.context)
    session.move_to(restored.context, name)
    return count


async def abort_interactive(session: DebugSession) -> None:
    """Stop recording without restoring the position, because the session is over."""
    if session.interactive_recording is not None:
        recorder, session.interactive_recording, session.branch_runner = session.interactive_recording, None, None
        await recorder.stop()


async def save_branch(session: DebugSession, command: BranchSave) -> SavedBranch:
    """Save a branch as a certified bundle of its own, or as a patch on the original.

    Raises:
        UsageError: no such branch, it is `main`, or it has live responses that a patch cannot contain.
        OutputError: the output exists, or cannot be written.
        EikonError: a certifying replay could not be completed.
    """
    named = require_branch(session.timeline, command.name, "branch save")
    if named.name == MAIN_BRANCH:
        raise UsageError(f"branch save: {MAIN_BRANCH} is the recording itself; choose another branch", code="branch")
    session.finish_branch_step()
    branch, output = open_branch(branch_bundle_path(session.folder, named)), Path(command.output)
    if command.form == "patch":
        patch = save_as_patch(branch, output)
        lines = (f"{output}: {len(patch.operations)} changes; next: eikon trace apply … {output} -o …",)
        return SavedBranch(path=str(output), lines=lines)
    replay = session.pool.replay_options
    options = CertifyOptions(browser_path=replay.browser_path, secrets=replay.secrets, variables=replay.variables)
    report = await save_as_bundle(branch, output, options)
    return SavedBranch(path=str(output), lines=describe_saved_trace(output, report))


def describe_saved_trace(output: Path, report: CertificationReport) -> tuple[str, ...]:
    """Describe the result of saving a branch as a bundle, for the user."""
    first = f"{output}: saved as a bundle, {report.status}"
    if report.status == "certified":
        return (first, *report.notes)
    return (f"{first}, without a certificate:", *render_certification(report).splitlines()[1:])
