"""Record the user's actions in the window of a session as the next steps of a branch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eikon_engine.debug.branches.by_hand import InteractiveRecorder, insert_all
from eikon_engine.debug.branching import branch_create_command, create_branch
from eikon_engine.errors import BranchError
from eikon_engine.outcome.debug_events import MAIN_BRANCH, BranchChanged
from eikon_engine.outcome.events import Note
from eikon_engine.replay.label import action_label

if TYPE_CHECKING:
    from eikon_engine.debug.commands import BranchRecord
    from eikon_engine.debug.journey import DebugSession
    from eikon_engine.debug.results import Position

_INTERACTIVE_REASON = "recorded interactively"


async def begin_interactive(session: DebugSession, command: BranchRecord) -> Position:
    """Let the user act in the pages; on `main`, create a branch first.

    Raises:
        BranchError: a recording is already active, or the name of the new branch is invalid.
    """
    if session.interactive_recording is not None:
        raise BranchError("branch record: a recording is already active; end or discard it")
    if session.active_branch.name == MAIN_BRANCH:
        await create_branch(session, branch_create_command(session, command.name))
    session.finish_branch_step()
    hand = InteractiveRecorder(session.context)
    await hand.begin()
    session.interactive_recording = hand
    return session.pause("branch", "interactive recording: branch record end keeps the actions, discard drops them")


async def end_interactive(session: DebugSession, *, keep_actions: bool) -> int:
    """Restore the position where the recording began; return how many actions were inserted there.

    Raises:
        BranchError: no recording is active.
        RewindDivergedError: the position could not be restored.
    """
    hand, runner = session.interactive_recording, session.branch_runner
    if hand is None or runner is None:
        raise BranchError("branch record: no recording is active; begin one")
    session.interactive_recording = session.branch_runner = None
    name, here, branch = session.active_branch.name, session.context.iteration, runner.branch
    count = 0
    if keep_actions:
        done = await hand.end(branch.bundle.files)
        branch, count = insert_all(branch, here + 1, done.actions, _INTERACTIVE_REASON), len(done.actions)
        for action in done.actions:
            session.record(
                BranchChanged(branch=name, iteration=here, change=f"recorded interactively: {action_label(action)}")
            )
        for warning in done.warnings:
            session.record(Note(text=warning))
    else:
        await hand.stop()
    history = replace(session.histories[name], bundle=branch.bundle).until(here)
    restored = await session.pool.restore(history, here)
    session.pool.parking.discard(session.context)
    session.move_to(restored.context, name)
    return count


async def abort_interactive(session: DebugSession) -> None:
    """Stop recording without restoring the position, because the session is over."""
    if session.interactive_recording is not None:
        hand, session.interactive_recording, session.branch_runner = session.interactive_recording, None, None
        await hand.stop()
