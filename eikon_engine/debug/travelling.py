"""Move a session to another position: back on the active branch, or to another branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.debug.discarded import discard
from eikon_engine.debug.marking import keep_place
from eikon_engine.debug.place_in_timeline import demand_branch, lost_by, place_of
from eikon_engine.errors import BranchError, UsageError
from eikon_engine.outcome.debug_events import BranchSwitched, Rewound

if TYPE_CHECKING:
    from eikon_engine.debug.commands import BranchSwitch, Rewind
    from eikon_engine.debug.journey import Journey
    from eikon_engine.debug.results import Stand
    from eikon_engine.debug.timeline import Branch


async def rewind(journey: Journey, command: Rewind) -> Stand:
    """Restore an earlier position of the active branch; what came after it is discarded.

    Raises:
        CheckpointMissingError: no such checkpoint.
        BranchError: the checkpoint belongs to another branch.
        UsageError: no such position, or steps would be discarded without --force.
        CheckpointError: the checkpoint was modified outside the session.
        RewindNotFaithfulError: re-running the steps led to a different state; the session did not move.
    """
    place = place_of(journey.timeline, command.checkpoint, command.iteration, journey.way)
    lost = lost_by(journey.timeline, place)
    if lost.is_anything and not command.force:
        message = f"rewind: this would discard {lost} of {journey.active.name}"
        raise UsageError(f"{message}; confirm with --force")
    journey.settle()
    restored = await journey.lines.at(journey.way_to(place), place.iteration)
    discard(journey, lost, place.iteration)
    journey.lines.parking.leave(journey.line)
    journey.stand_at(restored.line, journey.active.name)
    await journey.look_for_selectors()
    journey.tell(
        Rewound(
            checkpoint_id=place.checkpoint.id if place.checkpoint else f"iteration {place.iteration}",
            branch=journey.active.name,
            iteration=place.iteration,
            way=restored.way,
            reexecuted=restored.reexecuted,
            verified=restored.verified,
            discarded=lost.steps,
            duration_ms=restored.duration_ms,
        )
    )
    return journey.pause("rewind", place.checkpoint.label or place.checkpoint.id if place.checkpoint else "")


async def switch(journey: Journey, command: BranchSwitch) -> Stand:
    """Go to where another branch was left, or to its fork; the current branch loses nothing.

    Raises:
        BranchError: no such branch, or it is the active one.
        RewindNotFaithfulError: re-running its steps led to a different state; the session did not move.
    """
    branch = demand_branch(journey.timeline, command.name, "switch")
    if branch.name == journey.active.name:
        raise BranchError(f"switch: {branch.name} is already the active branch")
    await go_over(journey, branch, branch.iteration)
    journey.tell(BranchSwitched(branch=branch.name, iteration=journey.line.iteration))
    return journey.pause("branch", branch.name)


async def go_over(journey: Journey, branch: Branch, iteration: int) -> None:
    """Move to another branch, and create a checkpoint at the position that is left.

    The previous context stays parked there, capacity permitting.
    """
    journey.settle()
    await keep_place(journey)
    restored = await journey.lines.at(journey.ways[branch.name].until(iteration), iteration)
    left = journey.line
    journey.stand_at(restored.line, branch.name)
    journey.lines.parking.add(left)
    await journey.look_for_selectors()
