"""Go to other moments: back on the active branch, or over to another branch."""

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
    """Restore the state of an earlier moment of the active branch; what came after it is discarded.

    Raises:
        CheckpointMissingError: there is no such checkpoint.
        BranchError: the checkpoint is of another branch.
        UsageError: there is no such moment, or steps or evaluations would be lost and that was not agreed to.
        CheckpointError: the checkpoint was changed by hand.
        RewindNotFaithfulError: doing it again led to another state; the session stays where it was.
    """
    place = place_of(journey.timeline, command.checkpoint, command.iteration, journey.way)
    lost = lost_by(journey.timeline, place)
    if lost.is_anything and not command.force:
        message = f"rewind: {lost} of {journey.active.name} would be discarded, and that was not agreed to"
        raise UsageError(f"{message}; give --force")
    journey.settle()
    arrived = await journey.lines.at(journey.way_to(place), place.iteration)
    discard(journey, lost, place.iteration)
    journey.lines.parking.leave(journey.line)
    journey.stand_at(arrived.line, journey.active.name)
    await journey.look_for_selectors()
    journey.tell(
        Rewound(
            checkpoint_id=place.checkpoint.id if place.checkpoint else f"iteration {place.iteration}",
            branch=journey.active.name,
            iteration=place.iteration,
            way=arrived.way,
            reexecuted=arrived.reexecuted,
            verified=arrived.verified,
            discarded=lost.steps,
            duration_ms=arrived.duration_ms,
        )
    )
    return journey.pause("rewind", place.checkpoint.label or place.checkpoint.id if place.checkpoint else "")


async def switch(journey: Journey, command: BranchSwitch) -> Stand:
    """Go to where another branch was left, or to where it begins; the branch that is left loses nothing.

    Raises:
        BranchError: there is no such branch, or it is the active one.
        RewindNotFaithfulError: doing its steps again led to another state; the session stays where it was.
    """
    branch = demand_branch(journey.timeline, command.name, "switch")
    if branch.name == journey.active.name:
        raise BranchError(f"switch: wanted another branch than the active one, found {branch.name}")
    await go_over(journey, branch, branch.iteration)
    journey.tell(BranchSwitched(branch=branch.name, iteration=journey.line.iteration))
    return journey.pause("branch", branch.name)


async def go_over(journey: Journey, branch: Branch, iteration: int) -> None:
    """Stand on another branch; where the session was gets a checkpoint, to come back to.

    The line that was left waits there, as long as there is room.
    """
    journey.settle()
    await keep_place(journey)
    arrived = await journey.lines.at(journey.ways[branch.name].until(iteration), iteration)
    left = journey.line
    journey.stand_at(arrived.line, branch.name)
    journey.lines.parking.add(left)
    await journey.look_for_selectors()
