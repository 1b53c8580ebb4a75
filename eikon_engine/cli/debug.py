"""`eikon debug`: stop a mission anywhere, look, go back, try another way, compare."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from eikon_engine.cli.main import CommandEntry, LazyGroup

if TYPE_CHECKING:
    from collections.abc import Mapping

_START = "eikon_engine.cli.debug_start"
_READ = "eikon_engine.cli.debug_read"
_DRIVE = "eikon_engine.cli.debug_drive"

DEBUG_COMMANDS: Mapping[str, CommandEntry] = MappingProxyType(
    {
        name: CommandEntry(module=module, attribute=f"{name.replace('-', '_')}_command", summary=summary)
        for module, name, summary in (
            (_START, "start", "Begin a session on a bundle, paused before its first step."),
            (_START, "attach", "Drive a session from a prompt."),
            (_READ, "sessions", "List the sessions, also those that ended or crashed."),
            (_READ, "replay", "Tell a session, a run or a bundle once more, event by event, without a browser."),
            (_DRIVE, "pause", "Stand still before the next step."),
            (_DRIVE, "resume", "Go on until something stops the session."),
            (_DRIVE, "step", "Do the next step, or several."),
            (_DRIVE, "next-subgoal", "Go on until the next subgoal begins."),
            (_DRIVE, "run-to", "Go on until as many steps are done."),
            (_DRIVE, "inspect", "Look at the pages, the next action, network, storage, console and divergences."),
            (_DRIVE, "locate", "Ask how many elements a selector matches, and which."),
            (_DRIVE, "eval", "Run JavaScript in a page: a change of state."),
            (_DRIVE, "breakpoint", "Add, list, remove, enable and disable breakpoints."),
            (_DRIVE, "checkpoint", "Create, list, show and delete checkpoints."),
            (_DRIVE, "rewind", "Restore the state of a checkpoint, or of an iteration."),
            (_DRIVE, "branch", "Try another way from a checkpoint: create, change, save, delete, list."),
            (_DRIVE, "switch", "Go to another branch."),
            (_DRIVE, "diff", "Compare two branches."),
            (_DRIVE, "timeline", "Show branches and checkpoints, as text, JSON or a picture."),
            (_DRIVE, "quit", "End the session."),
        )
    }
)

debug_command = LazyGroup(
    DEBUG_COMMANDS, name="debug", summary="Stop a mission anywhere, look, go back, try another way, compare."
)
