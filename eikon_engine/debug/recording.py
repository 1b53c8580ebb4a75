"""Record the user's actions in the window of a session as the next steps of a branch."""

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

_REASON = "recorded interactively"


async def begin_by_hand(journey: Journey, command: BranchRecord) -> Stand:
    """Let the user act in the pages; on `main`, create a branch first.

    Raises:
        BranchError: a recording is already active, or the name of the new branch is invalid.
    """
    if journey.hand is not None:
        raise BranchError("branch record: a recording is already active; end or discard it")
    if journey.active.name == MAIN_BRANCH:
        await create(journey, new_branch(journey, command.name))
    journey.settle()
    hand = HandTaking(journey.line)
    await hand.begin()
    journey.hand = hand
    return journey.pause("branch", "interactive recording: branch record end keeps the actions, discard drops them")


async def end_by_hand(journey: Journey, *, is_taken: bool) -> int:
    """Restore the position where the recording began; return how many actions were inserted there.

    Raises:
        BranchError: no recording is active.
        RewindNotFaithfulError: the position could not be restored.
    """
    hand, runner = journey.hand, journey.walk
    if hand is None or runner is None:
        raise BranchError("branch record: no recording is active; begin one")
    journey.hand = journey.walk = None
    name, here, branch = journey.active.name, journey.line.iteration, runner.branch
    count = 0
    if is_taken:
        done = await hand.end(branch.bundle.files)
        branch, count = insert_all(branch, here + 1, done.actions, _REASON), len(done.actions)
        for action in done.actions:
            journey.tell(BranchChanged(branch=name, iteration=here, change=f"recorded interactively: {label(action)}"))
        for warning in done.warnings:
            journey.tell(Note(text=warning))
    else:
        await hand.stop()
    history = replace(journey.ways[name], bundle=branch.bundle).until(here)
    restored = await journey.lines.at(history, here)
    journey.lines.parking.leave(journey.line)
    journey.stand_at(restored.line, name)
    return count


async def give_up_by_hand(journey: Journey) -> None:
    """Stop recording without restoring the position, because the session is over."""
    if journey.hand is not None:
        hand, journey.hand, journey.walk = journey.hand, None, None
        await hand.stop()
