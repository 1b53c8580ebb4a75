"""`eikon debug`: pause a mission anywhere, inspect, rewind, try a branch, compare."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from eikon_engine.cli.main import LazyCommand, LazyGroup

if TYPE_CHECKING:
    from collections.abc import Mapping

_START = "eikon_engine.cli.debug_start"
_RECORDED = "eikon_engine.cli.debug_recorded"
_CONTROL = "eikon_engine.cli.debug_control"

DEBUG_COMMANDS: Mapping[str, LazyCommand] = MappingProxyType(
    {
        name: LazyCommand(module=module, attribute=f"{name.replace('-', '_')}_command", summary=summary)
        for module, name, summary in (
            (_START, "start", "Start a session on a bundle, paused before its first step."),
            (_START, "attach", "Control a session from an interactive prompt."),
            (_RECORDED, "sessions", "List all sessions, including ended and crashed ones."),
            (_RECORDED, "replay", "Print a session, run or bundle again, event by event."),
            (_CONTROL, "pause", "Pause before the next step."),
            (_CONTROL, "resume", "Run until something stops the session."),
            (_CONTROL, "step", "Run the next step, or several."),
            (_CONTROL, "next-subgoal", "Run until the next subgoal begins."),
            (_CONTROL, "run-to", "Run until this many steps are done."),
            (_CONTROL, "inspect", "Inspect pages, next action, network, storage, console …"),
            (_CONTROL, "locate", "Count and list the elements that a selector matches."),
            (_CONTROL, "eval", "Run JavaScript in a page; this modifies its state."),
            (_CONTROL, "breakpoint", "Add, list, remove, enable and disable breakpoints."),
            (_CONTROL, "checkpoint", "Create, list, show and delete checkpoints."),
            (_CONTROL, "rewind", "Restore a checkpoint, or an iteration."),
            (_CONTROL, "branch", "Try variants from a checkpoint; save, list and delete them."),
            (_CONTROL, "switch", "Switch to another branch."),
            (_CONTROL, "diff", "Compare two branches."),
            (_CONTROL, "timeline", "Show branches and checkpoints as text, JSON or SVG."),
            (_CONTROL, "quit", "End the session."),
        )
    }
)

debug_command = LazyGroup(
    DEBUG_COMMANDS, name="debug", summary="Pause a mission anywhere, inspect, rewind, try a branch, compare."
)
