"""When a session creates checkpoints, and which ones it deletes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from eikon_engine.debug.checkpoint import CheckpointName, delete_checkpoint, make_checkpoint
from eikon_engine.debug.parking import Berth
from eikon_engine.debug.passing import on_the_way
from eikon_engine.debug.place_in_timeline import demand_no_fork, find_checkpoint
from eikon_engine.debug.pruning import PrunePolicy, prune
from eikon_engine.debug.results import Marked
from eikon_engine.debug.timeline import CheckpointEntry
from eikon_engine.errors import BrowserDiedError, EikonError, UsageError
from eikon_engine.outcome.debug_events import Checkpoint
from eikon_engine.outcome.events import DivergenceFound, Note, verdict_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.debug.checkpoint import SavedCheckpoint
    from eikon_engine.debug.journey import Journey
    from eikon_engine.debug.line import Line
    from eikon_engine.debug.timeline import Branch
    from eikon_engine.outcome.debug_events import CheckpointReason
    from eikon_engine.outcome.events import Event

DEFAULT_INTERVAL: Final = 5
LONGEST_LABEL: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Marking:
    """When a session creates checkpoints automatically, and which ones it retains."""

    interval: int = DEFAULT_INTERVAL
    """Number of steps without a checkpoint; 0 disables automatic checkpoints."""
    policy: PrunePolicy = field(default_factory=PrunePolicy)


async def create(journey: Journey, label: str) -> Marked:
    """Create a checkpoint at the current position on request.

    Raises:
        UsageError: the label is not a single line of text, or is taken.
        OutputError: it cannot be written.
    """
    if len(label) > LONGEST_LABEL or not label.isprintable() or label != label.strip():
        found = repr(label) if len(label) <= LONGEST_LABEL else f"{len(label)} characters"
        message = f"checkpoint create: expected a label of at most {LONGEST_LABEL} printable characters"
        raise UsageError(f"{message} without surrounding whitespace, got {found}; choose another label")
    taken = next((each for _, each in journey.timeline.checkpoints() if label and label in {each.label, each.id}), None)
    if taken is not None:
        message = f"checkpoint create: label {label!r} is taken by {taken.id}"
        raise UsageError(f"{message}; choose another label")
    entry = await _make(journey, journey.line, label, "manual")
    return Marked(change="created", branch=journey.active.name, checkpoint=entry)


def delete(journey: Journey, name: str) -> Marked:
    """Delete a checkpoint.

    Raises:
        CheckpointMissingError: no such checkpoint.
        BranchError: a branch was forked from it.
        CheckpointError: its files cannot be deleted.
    """
    branch, entry = find_checkpoint(journey.timeline, name, "checkpoint delete")
    demand_no_fork(journey.timeline, entry)
    _drop(journey, (entry,))
    return Marked(change="deleted", branch=branch.name, checkpoint=entry)


async def before_step(journey: Journey) -> SavedCheckpoint | None:
    """Save the current state if the last step diverged, because the next one may diverge as well.

    Returning here through diverging steps would be slow. The checkpoint is reported only if it is used.
    """
    last = journey.line.outcomes[-1:]
    if not last or verdict_of(last[0]) != "diverged" or _is_marked(journey, journey.line.iteration):
        return None
    return await make_checkpoint(journey.line, journey.folder.checkpoints, _name(journey, "", "divergence"))


async def after_step(
    journey: Journey, marking: Marking, before: SavedCheckpoint | None, events: tuple[Event, ...]
) -> None:
    """Create the automatic checkpoints after a step, and delete surplus ones.

    `before` is the checkpoint saved before the step.
    """
    diverged = any(isinstance(event, DivergenceFound) for event in events)
    made = False
    if diverged and before is not None:
        _place(journey, before, journey.line)
        made = True
    elif before is not None:
        delete_checkpoint(journey.folder.checkpoints, before.id)
    elif diverged:
        made = await _before_the_divergence(journey)
    if _is_due(journey, marking):
        await _make(journey, journey.line, "", "automatic")
        made = True
    if made:
        _drop(journey, prune(journey.timeline.branches, marking.policy))


def berths(journey: Journey) -> tuple[Berth, ...]:
    """Return the positions to park contexts at: the checkpoints in the history, newest first."""
    here = journey.line.iteration
    entries = [entry for _, entry in _passed(journey) if entry.iteration <= here]
    entries.sort(key=lambda entry: (entry.timestamp, entry.id), reverse=True)
    iterations = dict.fromkeys(entry.iteration for entry in entries)
    return tuple(Berth(way=journey.way.until(iteration), iteration=iteration) for iteration in iterations)


async def keep_place(journey: Journey) -> tuple[Branch, CheckpointEntry]:
    """Return a checkpoint at the current position, with its branch; create it if needed."""
    for owner, entry in _passed(journey):
        if entry.iteration == journey.line.iteration:
            return owner, entry
    return journey.active, await _make(journey, journey.line, "", "automatic")


async def _before_the_divergence(journey: Journey) -> bool:
    """Create a checkpoint before the diverged step in a new context, which stays parked there."""
    before = journey.line.iteration - 1
    if _is_marked(journey, before):
        return False
    try:
        restored = await journey.lines.at(journey.way.until(before), before)
    except BrowserDiedError:
        raise
    except EikonError as error:
        journey.tell(Note(text=f"no checkpoint before the divergence: {error.message}"))
        return False
    await _make(journey, restored.line, "", "divergence")
    journey.lines.parking.add(restored.line)
    return True


def _is_due(journey: Journey, marking: Marking) -> bool:
    passed = (each.iteration for _, each in _passed(journey))
    here = journey.line.iteration
    last = max((iteration for iteration in passed if iteration <= here), default=0)
    return marking.interval > 0 and here - last >= marking.interval


def _is_marked(journey: Journey, iteration: int) -> bool:
    """Return whether the history of the active branch has a checkpoint at an iteration."""
    return any(each.iteration == iteration for _, each in _passed(journey))


def _passed(journey: Journey) -> Iterator[tuple[Branch, CheckpointEntry]]:
    return on_the_way(journey.timeline, journey.active, journey.way)


async def _make(journey: Journey, line: Line, label: str, reason: CheckpointReason) -> CheckpointEntry:
    saved = await make_checkpoint(line, journey.folder.checkpoints, _name(journey, label, reason))
    return _place(journey, saved, line)


def _name(journey: Journey, label: str, reason: CheckpointReason) -> CheckpointName:
    return CheckpointName(label=label, branch=journey.active.name, reason=reason, now=journey.now())


def _place(journey: Journey, saved: SavedCheckpoint, line: Line) -> CheckpointEntry:
    """Add a checkpoint to the timeline of the active branch, and record it."""
    active = journey.active
    entry = CheckpointEntry(
        id=saved.id,
        label=saved.label,
        iteration=saved.iteration,
        reason=saved.reason,
        timestamp=saved.timestamp,
        steps_sha256=saved.trace_sha256,
        evaluations=tuple(each.entry for each in saved.evaluations),
    )
    placed = sorted((*active.checkpoints, entry), key=lambda each: (each.iteration, each.timestamp))
    journey.keep(journey.timeline.with_branch(active.model_copy(update={"checkpoints": tuple(placed)})))
    last = line.plan_step(saved.iteration)
    journey.tell(
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


def _drop(journey: Journey, dropped: tuple[CheckpointEntry, ...]) -> None:
    """Remove checkpoints from the timeline, then from disk."""
    if not dropped:
        return
    gone = {entry.id for entry in dropped}
    timeline = journey.timeline
    for branch in timeline.branches:
        left = tuple(entry for entry in branch.checkpoints if entry.id not in gone)
        timeline = timeline.with_branch(branch.model_copy(update={"checkpoints": left}))
    journey.keep(timeline)
    for entry in dropped:
        delete_checkpoint(journey.folder.checkpoints, entry.id)
