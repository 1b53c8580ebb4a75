"""`eikon debug`: pause a mission anywhere, inspect, rewind, try a branch, compare."""

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
            (_START, "start", "Start a session on a bundle, paused before its first step."),
            (_START, "attach", "Control a session from an interactive prompt."),
            (_READ, "sessions", "List all sessions, including ended and crashed ones."),
            (_READ, "replay", "Print a session, run or bundle again, event by event, without a browser."),
            (_DRIVE, "pause", "Pause before the next step."),
            (_DRIVE, "resume", "Run until something stops the session."),
            (_DRIVE, "step", "Run the next step, or several."),
            (_DRIVE, "next-subgoal", "Run until the next subgoal begins."),
            (_DRIVE, "run-to", "Run until this many steps are done."),
            (_DRIVE, "inspect", "Inspect pages, next action, network, storage, console and divergences."),
            (_DRIVE, "locate", "Count and list the elements that a selector matches."),
            (_DRIVE, "eval", "Run JavaScript in a page; this modifies its state."),
            (_DRIVE, "breakpoint", "Add, list, remove, enable and disable breakpoints."),
            (_DRIVE, "checkpoint", "Create, list, show and delete checkpoints."),
            (_DRIVE, "rewind", "Restore a checkpoint, or an iteration."),
            (_DRIVE, "branch", "Try variants from a checkpoint: create, change, record, save, delete, list."),
            (_DRIVE, "switch", "Switch to another branch."),
            (_DRIVE, "diff", "Compare two branches."),
            (_DRIVE, "timeline", "Show branches and checkpoints as text, JSON or SVG."),
            (_DRIVE, "quit", "End the session."),
        )
    }
)

debug_command = LazyGroup(
    DEBUG_COMMANDS, name="debug", summary="Pause a mission anywhere, inspect, rewind, try a branch, compare."
)
