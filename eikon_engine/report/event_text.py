"""Format events as text, one line each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, assert_never

from eikon_engine.files.text import pluralize
from eikon_engine.outcome.debug_events import (
    BranchChanged,
    BranchCreated,
    BranchDeleted,
    BranchSwitched,
    BreakpointHit,
    Checkpoint,
    CommandDone,
    CommandFailed,
    CommandRejected,
    DebugEvent,
    Evaluated,
    Paused,
    Resumed,
    Rewound,
)
from eikon_engine.outcome.events import (
    ActionPerformed,
    ActionStart,
    CompletionReceived,
    DivergenceFound,
    Event,
    GateEvaluated,
    Note,
    ObservationMade,
    RecordedAction,
    RecordedSkill,
    RunEnd,
    RunStart,
    SkillRun,
    SubgoalEnd,
    SubgoalStart,
    ToolCall,
    ToolResult,
)
from eikon_engine.outcome.outcomes import ActionOutcome
from eikon_engine.outcome.stored_values import InlineValue
from eikon_engine.outcome.terminal import safe_line

if TYPE_CHECKING:
    from eikon_engine.outcome.events import EventLine
    from eikon_engine.outcome.stored_values import StoredValue
    from eikon_engine.trace.execution import Result


def format_debug_event(event: DebugEvent) -> str:  # noqa: C901, PLR0911, PLR0912 - one case a kind
    """Format the content of an event of a debug session."""
    match event:
        case Checkpoint():
            return f"{event.iteration or event.sequence:03d} {event.label or event.reason or ''} [{event.id}]"
        case BreakpointHit(breakpoint=hit, context=context):
            condition = "" if hit.condition is None else f" {hit.condition}"
            why = f": {context.error}" if context.error else ""
            return f"{context.iteration:03d} {hit.type}{condition} [{hit.id}], {pluralize(event.hit_count, 'hit')}{why}"
        case Paused():
            detail = f" ({event.detail})" if event.detail else ""
            return f"{event.iteration:03d} {event.branch}: {event.reason}{detail}; next: {event.next or 'nothing'}"
        case Resumed():
            return f"{event.iteration:03d} {event.branch}: {event.how}"
        case Rewound():
            done = f"{pluralize(event.reexecuted, 'step')} re-run, {pluralize(event.verified, 'digest')} verified"
            restored = f"{event.way}, {done}, {event.duration_ms:.0f} ms"
            return f"{event.iteration:03d} {event.branch}: to [{event.checkpoint_id}], {restored}"
        case Evaluated():
            effect = "read" if event.reads_only else "the page state may have changed"
            ended = f"failed: {event.error}" if event.error is not None else effect
            return f"{event.iteration:03d} {event.expression}: {ended}"
        case BranchCreated():
            return f"{event.iteration:03d} {event.name} from {event.parent_branch} at [{event.fork_point}]"
        case BranchSwitched():
            return f"{event.iteration:03d} {event.branch}"
        case BranchChanged():
            return f"{event.iteration:03d} {event.branch}: {event.change}"
        case BranchDeleted():
            return event.branch
        case CommandDone():
            return f"{event.command} [{event.command_id}]"
        case CommandFailed():
            return f"{event.command} [{event.command_id}]: {event.code}: {event.message}"
        case CommandRejected():
            return f"line {event.line}: {event.message}"
        case _:
            assert_never(event)


_MAX_VALUE_LENGTH: Final = 100
"""Maximum number of characters shown of a value; the file has the whole value."""


def format_event_line(line: EventLine, iteration: int | None = None) -> str:
    """Format time of day, line number, type and content of an event as one line.

    Steps are numbered by their sequence in the attempt or, in a debug session, by `iteration`.
    """
    time = line.at.strftime("%H:%M:%S.%f")[:-3]
    what = " ".join(format_event(line.event, iteration).split())
    return safe_line(f"{time} {line.sequence:>5} {line.event.type:<13} {what}".rstrip())


def format_event(event: Event, iteration: int | None = None) -> str:  # noqa: C901, PLR0911, PLR0912 - one case a kind
    """Format the content of an event; `iteration` is the number of the step in a debug session."""
    match event:
        case RunStart():
            return f"{event.kind} of {event.mission_id}: {event.mission_text}"
        case SubgoalStart():
            return f"{event.number}. {event.description} [{event.id}]"
        case ActionStart():
            return f"{_step_number(event.sequence, iteration)} {event.label}"
        case ObservationMade():
            seen = event.observation
            pages = ", ".join(page.url for page in seen.pages)
            return f"{_step_number(event.sequence, iteration)} {pages}; {_request_count(event)}"
        case ActionPerformed() | SkillRun():
            return _step_text(event, iteration)
        case ToolCall():
            return f"{event.sequence:03d} {event.tool} {_value_text(event.args)}"
        case ToolResult() | CompletionReceived():
            return _call_text(event)
        case Note(text=text):
            return text
        case GateEvaluated():
            return f"{event.gate}: {event.word}: {event.message}"
        case DivergenceFound(divergence=found):
            return f"{_step_number(found.sequence, iteration)} {found.code}: {found.message}"
        case SubgoalEnd():
            return f"{event.number}. [{event.id}]: {event.verdict or event.status}"
        case RunEnd():
            return event.how + (f": {event.ended_early}" if event.ended_early else "")
        case _:
            return format_debug_event(event)


def _step_number(sequence: int, iteration: int | None) -> str:
    return f"{sequence if iteration is None else iteration:03d}"


def _step_text(event: ActionPerformed | SkillRun, iteration: int | None) -> str:
    outcome = event.outcome
    name = outcome.label if isinstance(outcome, ActionOutcome | RecordedAction) else outcome.skill
    ended = outcome.result if isinstance(outcome, RecordedAction | RecordedSkill) else outcome.verdict
    return f"{_step_number(outcome.sequence, iteration)} {name}: {_result_text(ended)}{_duration(outcome.duration_ms)}"


def _call_text(event: ToolResult | CompletionReceived) -> str:
    if isinstance(event, ToolResult):
        failed = event.error.message if event.error is not None else None
        name, result_text = event.tool, _call_result(event.result, failed)
    else:
        name, result_text = event.metric_id, _call_result(event.response, event.error)
    return f"{event.sequence:03d} {name}, {event.source}: {result_text}{_duration(event.latency_ms)}"


def _request_count(event: ObservationMade) -> str:
    failed = f", {len(event.failed)} failed" if event.failed else ""
    return pluralize(len(event.observation.requests), "request") + failed


def _result_text(ended: Result | str | None) -> str:
    if isinstance(ended, str):
        return ended
    return "not performed" if ended is None else ended.kind


def _call_result(stored: StoredValue | None, failed: str | None) -> str:
    return _value_text(stored) if stored is not None else f"failed: {failed}"


def _duration(duration_ms: float | None) -> str:
    return "" if duration_ms is None else f", {duration_ms:.0f} ms"


def _value_text(stored: StoredValue) -> str:
    if not isinstance(stored, InlineValue):
        return f"{stored.path} ({stored.bytes} bytes)"
    text = json.dumps(stored.value, ensure_ascii=False)
    return text if len(text) <= _MAX_VALUE_LENGTH else text[:_MAX_VALUE_LENGTH] + "…"
