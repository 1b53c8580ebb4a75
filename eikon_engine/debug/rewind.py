"""Move a session to another position: rewind the active branch, or switch to another branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import AwareDatetime

from eikon_engine.debug.checkpoint_policy import ensure_checkpoint
from eikon_engine.debug.timeline import CheckpointEntry, EvaluationEntry, StepEntry
from eikon_engine.debug.timeline_queries import RewindTarget, require_branch, resolve_target, rewind_loss
from eikon_engine.errors import CheckpointError, OutputError, UsageError
from eikon_engine.files.models import FileModel
from eikon_engine.files.writing import write_atomically, write_error_message
from eikon_engine.outcome.debug_events import BranchSwitched, Rewound

if TYPE_CHECKING:
    from eikon_engine.debug.commands import BranchSwitch, Rewind
    from eikon_engine.debug.results import Position
    from eikon_engine.debug.session import DebugSession
    from eikon_engine.debug.timeline import Branch
    from eikon_engine.debug.timeline_queries import RewindLoss


class DiscardedFile(FileModel):
    """What one rewind discarded."""

    at: AwareDatetime
    branch: str
    iteration: int
    """Where the branch was rewound to."""
    steps: tuple[StepEntry, ...]
    evaluations: tuple[EvaluationEntry, ...]
    checkpoints: tuple[CheckpointEntry, ...]
    """Their files lie beside this one."""


def discard(session: DebugSession, loss: RewindLoss, iteration: int) -> None:
    """Move discarded steps and checkpoints of the active branch aside.

    Raises:
        OutputError: the files cannot be written.
    """
    if not loss.needs_confirmation:
        return
    active = session.active_branch
    number = 1
    while (aside := session.folder.discarded / f"{number:03d}").exists():
        number += 1
    discarded = DiscardedFile(
        at=session.now(),
        branch=active.name,
        iteration=iteration,
        steps=tuple(step for step in active.steps if step.iteration > loss.since),
        evaluations=active.evaluations[len(active.evaluations) - loss.evaluations :],
        checkpoints=loss.checkpoints,
    )
    write_atomically(aside / "discarded.json", discarded.model_dump_json(indent=1).encode() + b"\n")
    for entry in loss.checkpoints:
        for path in session.folder.checkpoints.glob(f"{entry.id}.*"):
            try:
                path.rename(aside / path.name)
            except OSError as error:
                raise OutputError(write_error_message(aside / path.name, error)) from error
    remaining = tuple(entry for entry in active.checkpoints if entry not in loss.checkpoints)
    session.save_timeline(session.timeline.with_branch(active.model_copy(update={"checkpoints": remaining})))


async def rewind_session(session: DebugSession, command: Rewind) -> Position:
    """Restore an earlier position of the active branch; what came after it is discarded.

    Raises:
        RequirementError: no such checkpoint.
        UsageError: the checkpoint belongs to another branch; no such position, or steps would be discarded without
            --force.
        CheckpointError: the checkpoint was modified outside the session; one at an iteration that was done is not
            needed.
        ReplayError: re-running the steps led to a different state; the session did not move.
    """
    target = resolve_target(session.timeline, command.checkpoint, command.iteration, session.history)
    try:
        history = session.history_to(target)
    except CheckpointError:
        if command.checkpoint is not None or target.iteration > session.active_branch.iteration:
            raise
        target = RewindTarget(target.iteration, None)
        history = session.history_to(target)
    loss = rewind_loss(session.timeline, target)
    if loss.needs_confirmation and not command.force:
        message = f"rewind: this would discard {loss} of {session.active_branch.name}"
        raise UsageError(f"{message}; confirm with --force")
    session.finish_branch_step()
    restored = await session.pool.restore(history, target.iteration)
    discard(session, loss, target.iteration)
    session.pool.parking.discard(session.context)
    session.move_to(restored.context, session.active_branch.name)
    await session.update_selector_matches()
    session.record(
        Rewound(
            checkpoint_id=target.checkpoint.id if target.checkpoint else f"iteration {target.iteration}",
            branch=session.active_branch.name,
            iteration=target.iteration,
            way=restored.method,
            reexecuted=restored.reexecuted,
            verified=restored.verified,
            discarded=loss.steps,
            duration_ms=restored.duration_ms,
        )
    )
    return session.pause("rewind", target.checkpoint.label or target.checkpoint.id if target.checkpoint else "")


async def switch_branch(session: DebugSession, command: BranchSwitch) -> Position:
    """Go to where another branch was left, or to its fork; the current branch loses nothing.

    Raises:
        UsageError: no such branch, or it is the active one.
        ReplayError: re-running its steps led to a different state; the session did not move.
    """
    branch = require_branch(session.timeline, command.name, "switch")
    if branch.name == session.active_branch.name:
        raise UsageError(f"switch: {branch.name} is already the active branch", code="branch")
    await move_to_branch(session, branch, branch.iteration)
    session.record(BranchSwitched(branch=branch.name, iteration=session.context.iteration))
    return session.pause("branch", branch.name)


async def move_to_branch(session: DebugSession, branch: Branch, iteration: int) -> None:
    """Move to another branch, and create a checkpoint at the position that is left.

    The previous context stays parked there, capacity permitting.
    """
    session.finish_branch_step()
    await ensure_checkpoint(session)
    restored = await session.pool.restore(session.histories[branch.name].until(iteration), iteration)
    previous = session.context
    session.move_to(restored.context, branch.name)
    session.pool.parking.add(previous)
    await session.update_selector_matches()
