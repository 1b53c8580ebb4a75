"""One line of text for each event."""

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
"""Characters of a value that are shown; the file has all of it."""


def line_text(line: JournalLine) -> str:
    """Write time of day, number, type and what happened, in one line."""
    time = line.at.strftime("%H:%M:%S.%f")[:-3]
    what = " ".join(event_text(line.event).split())
    return printable(f"{time} {line.sequence:>5} {line.event.type:<13} {what}".rstrip())


def event_text(event: Event) -> str:  # noqa: C901, PLR0911, PLR0912 - one case a kind
    """Say what happened."""
    match event:
        case RunStart():
            return f"{event.kind} of {event.mission_id}: {event.mission_text}"
        case SubgoalStart():
            return f"{event.number}. {event.description} [{event.id}]"
        case ActionStart():
            return f"{event.sequence:03d} {event.label}"
        case ObservationMade():
            seen = event.observation
            return f"{event.sequence:03d} {', '.join(page.url for page in seen.pages)}; {_requests(event)}"
        case ActionTaken() | SkillUsed():
            return _step(event)
        case ToolCall():
            return f"{event.sequence:03d} {event.tool} {_value(event.args)}"
        case ToolResult() | CompletionGiven():
            return _answer(event)
        case Note(text=text):
            return text
        case GateResultGiven():
            return f"{event.gate}: {event.word}: {event.message}"
        case DivergenceFound(divergence=found):
            return f"{found.sequence:03d} {found.code}: {found.message}"
        case SubgoalEnd():
            return f"{event.number}. [{event.id}]: {event.verdict or event.status}"
        case RunEnd():
            return event.how + (f": {event.ended_early}" if event.ended_early else "")
        case _:
            return debug_event_text(event)


def _step(event: ActionTaken | SkillUsed) -> str:
    outcome = event.outcome
    name = outcome.label if isinstance(outcome, ActionOutcome | RecordedAction) else outcome.skill
    ended = outcome.result if isinstance(outcome, RecordedAction | RecordedSkill) else outcome.verdict
    return f"{outcome.sequence:03d} {name}: {_ended(ended)}{_took(outcome.duration_ms)}"


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
