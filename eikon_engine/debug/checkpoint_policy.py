"""When a session creates checkpoints, and which ones it deletes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from eikon_engine.debug.checkpoint_files import CheckpointInfo, delete_checkpoint, save_checkpoint
from eikon_engine.debug.context_pool import PoolSlot
from eikon_engine.debug.results import CheckpointChange
from eikon_engine.debug.timeline import CheckpointEntry
from eikon_engine.debug.timeline_queries import checkpoints_in_history, find_checkpoint, require_no_fork
from eikon_engine.errors import BrowserDiedError, EikonError, UsageError
from eikon_engine.outcome.debug_events import Checkpoint
from eikon_engine.outcome.events import DivergenceFound, Note, verdict_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eikon_engine.debug.checkpoint_files import CheckpointFile
    from eikon_engine.debug.replay_context import ReplayContext
    from eikon_engine.debug.session import DebugSession
    from eikon_engine.debug.timeline import Branch
    from eikon_engine.outcome.debug_events import CheckpointReason
    from eikon_engine.outcome.events import Event

DEFAULT_RETAINED: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionPolicy:
    """What is retained besides manual checkpoints and those at which branches were forked."""

    automatic: int = DEFAULT_RETAINED
    """How many automatic checkpoints are retained, newest first; see `select_surplus`."""


def select_surplus(branches: Sequence[Branch], policy: RetentionPolicy | None = None) -> tuple[CheckpointEntry, ...]:
    """Return the checkpoints to delete.

    A mission that went wrong diverges at step after step: checkpoints before follow-up divergences are deleted first,
    and the one before the first divergence of a branch is retained.
    """
    limit = (policy or RetentionPolicy()).automatic
    protected = {branch.fork_point for branch in branches} | {_first_divergence(branch) for branch in branches}
    follow = {entry.id for branch in branches for entry in branch.checkpoints if _is_follow_up(branch, entry)}
    entries = [entry for branch in branches for entry in branch.checkpoints]
    own = sorted(
        (each for each in entries if each.reason != "manual"),
        key=lambda each: (each.id not in follow, each.timestamp, each.id),
        reverse=True,
    )
    dropped = {each.id for each in own[limit:]} - protected
    return tuple(each for each in entries if each.id in dropped)


def _first_divergence(branch: Branch) -> str | None:
    before = [entry for entry in branch.checkpoints if entry.reason == "divergence"]
    first = min(before, key=lambda each: (each.iteration, each.timestamp), default=None)
    return None if first is None else first.id


def _is_follow_up(branch: Branch, entry: CheckpointEntry) -> bool:
    """Return whether a checkpoint was created between two divergences."""
    last = next((step for step in branch.steps if step.iteration == entry.iteration), None)
    return entry.reason == "divergence" and last is not None and last.verdict == "diverged"


DEFAULT_INTERVAL: Final = 5
MAX_LABEL_LENGTH: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPolicy:
    """When a session creates checkpoints automatically, and which ones it retains."""

    interval: int = DEFAULT_INTERVAL
    """Number of steps without a checkpoint; 0 disables automatic checkpoints."""
    retention: RetentionPolicy = field(default_factory=RetentionPolicy)


async def create_checkpoint(session: DebugSession, label: str) -> CheckpointChange:
    """Create a checkpoint at the current position on request.

    Raises:
        UsageError: the label is not a single line of text, or is taken.
        OutputError: it cannot be written.
    """
    if len(label) > MAX_LABEL_LENGTH or not label.isprintable() or label != label.strip():
        found = repr(label) if len(label) <= MAX_LABEL_LENGTH else f"{len(label)} characters"
        message = f"checkpoint create: expected a label of at most {MAX_LABEL_LENGTH} printable characters"
        raise UsageError(f"{message} without surrounding whitespace, got {found}; choose another label")
    taken = next((each for _, each in session.timeline.checkpoints() if label and label in {each.label, each.id}), None)
    if taken is not None:
        message = f"checkpoint create: label {label!r} is taken by {taken.id}"
        raise UsageError(f"{message}; choose another label")
    entry = await _save_and_add(session, session.context, label, "manual")
    return CheckpointChange(change="created", branch=session.active_branch.name, checkpoint=entry)


def delete_checkpoint_by_name(session: DebugSession, name: str) -> CheckpointChange:
    """Delete a checkpoint.

    Raises:
        RequirementError: no such checkpoint.
        UsageError: a branch was forked from it.
        CheckpointError: its files cannot be deleted.
    """
    branch, entry = find_checkpoint(session.timeline, name, "checkpoint delete")
    require_no_fork(session.timeline, entry)
    _delete_checkpoints(session, (entry,))
    return CheckpointChange(change="deleted", branch=branch.name, checkpoint=entry)


async def before_step(session: DebugSession) -> CheckpointFile | None:
    """Save the current state if the last step diverged, because the next one may diverge as well.

    Returning here through diverging steps would be slow. The checkpoint is reported only if it is used.
    """
    last = session.context.outcomes[-1:]
    if not last or verdict_of(last[0]) != "diverged" or _has_checkpoint(session, session.context.iteration):
        return None
    return await save_checkpoint(
        session.context, session.folder.checkpoints, _checkpoint_info(session, "", "divergence")
    )


async def after_step(
    session: DebugSession, policy: CheckpointPolicy, before: CheckpointFile | None, events: tuple[Event, ...]
) -> None:
    """Create the automatic checkpoints after a step, and delete surplus ones.

    `before` is the checkpoint saved before the step.
    """
    diverged = any(isinstance(event, DivergenceFound) for event in events)
    is_created = False
    if diverged and before is not None:
        _add_to_timeline(session, before, session.context)
        is_created = True
    elif before is not None:
        delete_checkpoint(session.folder.checkpoints, before.id)
    elif diverged:
        is_created = await _create_before_divergence(session)
    if _is_due(session, policy):
        await _save_and_add(session, session.context, "", "automatic")
        is_created = True
    if is_created:
        _delete_checkpoints(session, select_surplus(session.timeline.branches, policy.retention))


def parking_slots(session: DebugSession) -> tuple[PoolSlot, ...]:
    """Return the positions to park contexts at: the checkpoints in the history, newest first."""
    current = session.context.iteration
    entries = [entry for _, entry in _checkpoints_in_history(session) if entry.iteration <= current]
    entries.sort(key=lambda entry: (entry.timestamp, entry.id), reverse=True)
    iterations = dict.fromkeys(entry.iteration for entry in entries)
    return tuple(PoolSlot(history=session.history.until(iteration), iteration=iteration) for iteration in iterations)


async def ensure_checkpoint(session: DebugSession) -> tuple[Branch, CheckpointEntry]:
    """Return a checkpoint at the current position, with its branch; create it if needed."""
    for owner, entry in _checkpoints_in_history(session):
        if entry.iteration == session.context.iteration:
            return owner, entry
    return session.active_branch, await _save_and_add(session, session.context, "", "automatic")


async def _create_before_divergence(session: DebugSession) -> bool:
    """Create a checkpoint before the diverged step in a new context, which stays parked there."""
    before = session.context.iteration - 1
    if _has_checkpoint(session, before):
        return False
    try:
        restored = await session.pool.restore(session.history.until(before), before)
    except BrowserDiedError:
        raise
    except EikonError as error:
        session.record(Note(text=f"no checkpoint before the divergence: {error.message}"))
        return False
    await _save_and_add(session, restored.context, "", "divergence")
    session.pool.parking.add(restored.context)
    return True


def _is_due(session: DebugSession, policy: CheckpointPolicy) -> bool:
    passed = (each.iteration for _, each in _checkpoints_in_history(session))
    current = session.context.iteration
    last = max((iteration for iteration in passed if iteration <= current), default=0)
    return policy.interval > 0 and current - last >= policy.interval


def _has_checkpoint(session: DebugSession, iteration: int) -> bool:
    """Return whether the history of the active branch has a checkpoint at an iteration."""
    return any(each.iteration == iteration for _, each in _checkpoints_in_history(session))


def _checkpoints_in_history(session: DebugSession) -> Iterator[tuple[Branch, CheckpointEntry]]:
    return checkpoints_in_history(session.timeline, session.active_branch, session.history)


async def _save_and_add(
    session: DebugSession, context: ReplayContext, label: str, reason: CheckpointReason
) -> CheckpointEntry:
    saved = await save_checkpoint(context, session.folder.checkpoints, _checkpoint_info(session, label, reason))
    return _add_to_timeline(session, saved, context)


def _checkpoint_info(session: DebugSession, label: str, reason: CheckpointReason) -> CheckpointInfo:
    return CheckpointInfo(label=label, branch=session.active_branch.name, reason=reason, now=session.now())


def _add_to_timeline(session: DebugSession, saved: CheckpointFile, context: ReplayContext) -> CheckpointEntry:
    """Add a checkpoint to the timeline of the active branch, and record it."""
    active = session.active_branch
    entry = CheckpointEntry(
        id=saved.id,
        label=saved.label,
        iteration=saved.iteration,
        reason=saved.reason,
        timestamp=saved.timestamp,
        steps_sha256=saved.trace_sha256,
        evaluations=tuple(each.timeline_entry for each in saved.evaluations),
    )
    placed = sorted((*active.checkpoints, entry), key=lambda each: (each.iteration, each.timestamp))
    session.save_timeline(session.timeline.with_branch(active.model_copy(update={"checkpoints": tuple(placed)})))
    last = context.step_before(saved.iteration)
    session.record(
        Checkpoint(
            id=saved.id,
            subgoal="" if last is None else last.subgoal.id,
            sequence=0 if last is None else last.step.sequence,
            label=saved.label,
            iteration=saved.iteration,
            branch=active.name,
            reason=saved.reason,
        )
    )
    return entry


def _delete_checkpoints(session: DebugSession, dropped: tuple[CheckpointEntry, ...]) -> None:
    """Remove checkpoints from the timeline, then from disk."""
    if not dropped:
        return
    dropped_ids = {entry.id for entry in dropped}
    timeline = session.timeline
    for branch in timeline.branches:
        remaining = tuple(entry for entry in branch.checkpoints if entry.id not in dropped_ids)
        timeline = timeline.with_branch(branch.model_copy(update={"checkpoints": remaining}))
    session.save_timeline(timeline)
    for entry in dropped:
        delete_checkpoint(session.folder.checkpoints, entry.id)
