"""Format events as text, one line each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from eikon_engine.outcome.debug_event_text import debug_event_text
from eikon_engine.outcome.events import (
    ActionStart,
    ActionTaken,
    CompletionGiven,
    DivergenceFound,
    Event,
    GateResultGiven,
    Note,
    ObservationMade,
    RecordedAction,
    RecordedSkill,
    RunEnd,
    RunStart,
    SkillUsed,
    SubgoalEnd,
    SubgoalStart,
    ToolCall,
    ToolResult,
)
from eikon_engine.outcome.outcomes import ActionOutcome
from eikon_engine.outcome.printable import printable
from eikon_engine.outcome.stored import InlineValue
from eikon_engine.trace.wording import counted

if TYPE_CHECKING:
    from eikon_engine.outcome.events import JournalLine
    from eikon_engine.outcome.stored import Stored
    from eikon_engine.trace.execution import Result

_LONGEST: Final = 100
"""Maximum number of characters shown of a value; the file has the whole value."""


def line_text(line: JournalLine, iteration: int | None = None) -> str:
    """Format time of day, line number, type and content of an event as one line.

    Steps are numbered by their sequence in the attempt or, in a debug session, by `iteration`.
    """
    time = line.at.strftime("%H:%M:%S.%f")[:-3]
    what = " ".join(event_text(line.event, iteration).split())
    return printable(f"{time} {line.sequence:>5} {line.event.type:<13} {what}".rstrip())


def event_text(event: Event, iteration: int | None = None) -> str:  # noqa: C901, PLR0911, PLR0912 - one case a kind
    """Format the content of an event; `iteration` is the number of the step in a debug session."""
    match event:
        case RunStart():
            return f"{event.kind} of {event.mission_id}: {event.mission_text}"
        case SubgoalStart():
            return f"{event.number}. {event.description} [{event.id}]"
        case ActionStart():
            return f"{_number(event.sequence, iteration)} {event.label}"
        case ObservationMade():
            seen = event.observation
            pages = ", ".join(page.url for page in seen.pages)
            return f"{_number(event.sequence, iteration)} {pages}; {_requests(event)}"
        case ActionTaken() | SkillUsed():
            return _step(event, iteration)
        case ToolCall():
            return f"{event.sequence:03d} {event.tool} {_value(event.args)}"
        case ToolResult() | CompletionGiven():
            return _answer(event)
        case Note(text=text):
            return text
        case GateResultGiven():
            return f"{event.gate}: {event.word}: {event.message}"
        case DivergenceFound(divergence=found):
            return f"{_number(found.sequence, iteration)} {found.code}: {found.message}"
        case SubgoalEnd():
            return f"{event.number}. [{event.id}]: {event.verdict or event.status}"
        case RunEnd():
            return event.how + (f": {event.ended_early}" if event.ended_early else "")
        case _:
            return debug_event_text(event)


def _number(sequence: int, iteration: int | None) -> str:
    return f"{sequence if iteration is None else iteration:03d}"


def _step(event: ActionTaken | SkillUsed, iteration: int | None) -> str:
    outcome = event.outcome
    name = outcome.label if isinstance(outcome, ActionOutcome | RecordedAction) else outcome.skill
    ended = outcome.result if isinstance(outcome, RecordedAction | RecordedSkill) else outcome.verdict
    return f"{_number(outcome.sequence, iteration)} {name}: {_ended(ended)}{_took(outcome.duration_ms)}"


def _answer(event: ToolResult | CompletionGiven) -> str:
    if isinstance(event, ToolResult):
        failed = event.error.message if event.error is not None else None
        name, came = event.tool, _came(event.result, failed)
    else:
        name, came = event.metric_id, _came(event.response, event.error)
    return f"{event.sequence:03d} {name}, {event.source}: {came}{_took(event.latency_ms)}"


def _requests(event: ObservationMade) -> str:
    failed = f", {len(event.failed)} failed" if event.failed else ""
    return counted(len(event.observation.requests), "request") + failed


def _ended(ended: Result | str | None) -> str:
    if isinstance(ended, str):
        return ended
    return "not performed" if ended is None else ended.kind


def _came(stored: Stored | None, failed: str | None) -> str:
    return _value(stored) if stored is not None else f"failed: {failed}"


def _took(duration_ms: float | None) -> str:
    return "" if duration_ms is None else f", {duration_ms:.0f} ms"


def _value(stored: Stored) -> str:
    if not isinstance(stored, InlineValue):
        return f"{stored.path} ({stored.bytes} bytes)"
    text = json.dumps(stored.value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
