"""Take what a person does in the window of a session for the next steps of a branch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eikon_engine.debug.branches.by_hand import HandTaking, insert_all
from eikon_engine.debug.branching import create, new_branch
from eikon_engine.errors import BranchError
from eikon_engine.outcome.debug_events import MAIN_BRANCH, BranchChanged
from eikon_engine.outcome.events import Note
from eikon_engine.replay.label import label

if TYPE_CHECKING:
    from eikon_engine.debug.commands import BranchRecord
    from eikon_engine.debug.journey import Journey
    from eikon_engine.debug.results import Stand

_REASON = "done by hand"


async def begin_by_hand(journey: Journey, command: BranchRecord) -> Stand:
    """Let a person act in the pages; on `main`, a branch is made first.

    Raises:
        BranchError: somebody does already, or the name of the new branch cannot be.
    """
    if journey.hand is not None:
        raise BranchError("branch record: wanted to begin, found that it has begun; end it, or discard it")
    if journey.active.name == MAIN_BRANCH:
        await create(journey, new_branch(journey, command.name))
    journey.settle()
    hand = HandTaking(journey.line)
    await hand.begin()
    journey.hand = hand
    return journey.pause("branch", "a person acts in the pages; branch record end takes it, discard does not")


async def end_by_hand(journey: Journey, *, is_taken: bool) -> int:
    """Go back to where the person began; return how many actions were put in front of the next step.

    Raises:
        BranchError: nobody has begun.
        RewindNotFaithfulError: the place could not be restored.
    """
    hand, walk = journey.hand, journey.walk
    if hand is None or walk is None:
        raise BranchError("branch record: wanted one that has begun, found none; begin one")
    journey.hand = journey.walk = None
    name, here, branch = journey.active.name, journey.line.iteration, walk.branch
    count = 0
    if is_taken:
        done = await hand.end(branch.bundle.files)
        branch, count = insert_all(branch, here + 1, done.actions, _REASON), len(done.actions)
        for action in done.actions:
            journey.tell(BranchChanged(branch=name, iteration=here, change=f"done by hand: {label(action)}"))
        for warning in done.warnings:
            journey.tell(Note(text=warning))
    else:
        await hand.stop()
    way = replace(journey.ways[name], bundle=branch.bundle).until(here)
    arrived = await journey.lines.at(way, here)
    journey.lines.parking.leave(journey.line)
    journey.stand_at(arrived.line, name)
    return count


async def give_up_by_hand(journey: Journey) -> None:
    """End what a person does without going back: the session is over."""
    if journey.hand is not None:
        hand, journey.hand, journey.walk = journey.hand, None, None
        await hand.stop()
