"""Render the results of commands as text, and choose the events to show."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from eikon_engine.debug.commands import (
    BranchSave,
    BreakpointAdd,
    BreakpointChange,
    BreakpointClear,
    BreakpointList,
    CheckpointCreate,
    CheckpointDelete,
    Evaluate,
    Inspect,
    Locate,
    Quit,
)
from eikon_engine.debug.inspection import Inspection, LocateResult
from eikon_engine.debug.inspection_text import render_inspection, render_locate_result
from eikon_engine.debug.results import BreakpointListing, CheckpointChange, EvaluationResult, Position, SavedBranch
from eikon_engine.outcome.debug_events import (
    BranchChanged,
    BranchCreated,
    BranchDeleted,
    BranchSwitched,
    BreakpointHit,
    Checkpoint,
    CommandFailed,
    CommandRejected,
    Evaluated,
    Paused,
    Resumed,
    Rewound,
)
from eikon_engine.outcome.events import ActionPerformed, DivergenceFound, Note, RunEnd, SkillRun, SubgoalStart
from eikon_engine.trace.json_value import canonical_json

if TYPE_CHECKING:
    from pydantic import JsonValue

    from eikon_engine.debug.breakpoints import ListedBreakpoint
    from eikon_engine.debug.commands import Command
    from eikon_engine.outcome.events import Event

_SHOWN_WHILE_WAITING: Final = (
    ActionPerformed,
    BranchChanged,
    BranchCreated,
    BranchSwitched,
    BreakpointHit,
    Checkpoint,
    DivergenceFound,
    Note,
    Rewound,
    SkillRun,
    SubgoalStart,
)
_SHOWN_WHEN_FOLLOWING: Final = (BranchDeleted, CommandFailed, CommandRejected, Evaluated, Paused, Resumed, RunEnd)


def is_shown_while_waiting(event: Event) -> bool:
    """Return whether to print an event while waiting for a response, which reports the rest."""
    return isinstance(event, _SHOWN_WHILE_WAITING)


def is_shown_when_following(event: Event) -> bool:
    """Return whether to print an event when following a session: pauses and failed commands as well."""
    return isinstance(event, (*_SHOWN_WHILE_WAITING, *_SHOWN_WHEN_FOLLOWING))


def render_result(command: Command, result: JsonValue) -> str:  # noqa: PLR0911 - one case a kind
    """Return the result of a command as lines of text."""
    text = canonical_json(result)
    match command:
        case BreakpointAdd() | BreakpointList() | BreakpointChange() | BreakpointClear():
            return _render_breakpoints(BreakpointListing.model_validate_json(text).breakpoints)
        case CheckpointCreate() | CheckpointDelete():
            return f"{CheckpointChange.model_validate_json(text)}\n"
        case Evaluate():
            return _render_evaluation(EvaluationResult.model_validate_json(text))
        case Inspect():
            return render_inspection(Inspection.model_validate_json(text))
        case Locate():
            return render_locate_result(LocateResult.model_validate_json(text))
        case BranchSave():
            return "".join(f"{line}\n" for line in SavedBranch.model_validate_json(text).lines)
        case Quit():
            return "session ended\n"
        case _:
            return f"{Position.model_validate_json(text)}\n"


def _render_breakpoints(breakpoints: tuple[ListedBreakpoint, ...]) -> str:
    return "".join(f"{each}\n" for each in breakpoints) or "no breakpoints\n"


def _render_evaluation(evaluated: EvaluationResult) -> str:
    if evaluated.error is not None:
        return f"failed: {evaluated.error}\nthe state may have changed; checkpoints and branches note it\n"
    return f"{json.dumps(evaluated.result, ensure_ascii=False)}\nthe state may have changed; checkpoints note it\n"
