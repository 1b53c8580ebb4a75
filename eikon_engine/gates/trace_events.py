"""The events of a mission, derived from the trace of its bundle."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, assert_never

from eikon_engine.network.exchange import ABORTED_ERROR
from eikon_engine.network.store import read_network
from eikon_engine.outcome.events import (
    ActionPerformed,
    CompletionReceived,
    Event,
    EventLine,
    ObservationMade,
    RecordedAction,
    RecordedSkill,
    RunEnd,
    RunStart,
    SkillRun,
    SubgoalEnd,
    SubgoalStart,
    ToolCall,
    ToolFailure,
    ToolResult,
)
from eikon_engine.outcome.outcomes import FailedRequest, NetworkOutcome
from eikon_engine.outcome.stored import InlineValue
from eikon_engine.trace.bundle_path import resolve_inside
from eikon_engine.trace.execution import ActionTrace, CompletionUsage, Failed, SkillUsage, Succeeded, ToolUsage
from eikon_engine.trace.json_value import canonical_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from pydantic import JsonValue

    from eikon_engine.network.exchange import Exchange
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import Result, SubgoalTrace

_RecordedStep: TypeAlias = ActionTrace | SkillUsage | ToolUsage | CompletionUsage

_FIRST_ERROR_STATUS: Final = 400


def events_of_bundle(bundle: Bundle) -> Iterator[EventLine]:
    """Yield the events of a mission, as far as its bundle contains them.

    An unfinished recording has no `run_end`. What a trace does not record is None: the durations of skills, tools and
    completions, and token counts.

    Raises:
        TraceError: the recorded network cannot be read.
    """
    trace, at = bundle.trace, bundle.trace.started_at
    number = 0
    for number, timed in enumerate(_mission_events(bundle), start=1):
        at = timed.at or at
        yield EventLine(sequence=number, at=at, event=timed.event)
    if trace.ended_at is not None:
        is_complete = trace.status == "complete"
        end = RunEnd(
            how="complete" if is_complete else "stopped",
            ended_early=None if is_complete else f"the mission was recorded as {trace.status}",
            network=_network_outcome(bundle),
        )
        yield EventLine(sequence=number + 1, at=trace.ended_at, event=end)


@dataclass(frozen=True, slots=True)
class _TimedEvent:
    event: Event
    at: datetime | None = None
    """None if it was not recorded."""


def _mission_events(bundle: Bundle) -> Iterator[_TimedEvent]:
    trace = bundle.trace
    attempts = trace.subgoal_traces
    start = RunStart(
        kind="mission",
        mission_id=trace.mission_id,
        mission_text=trace.mission_text,
        environment=trace.environment,
        subgoals=len(attempts),
        steps=sum(len(attempt.steps) for attempt in attempts),
    )
    yield _TimedEvent(start, trace.started_at)
    calls: dict[tuple[str, str], int] = {}
    for number, attempt in enumerate(attempts, start=1):
        yield _TimedEvent(
            SubgoalStart(
                number=number,
                id=attempt.id,
                subgoal_id=attempt.subgoal_id,
                description=attempt.description,
                steps=len(attempt.steps),
            ),
            attempt.started_at,
        )
        for step in _sorted_steps(attempt):
            yield from _step_events(attempt.id, step, calls)
        yield _TimedEvent(SubgoalEnd(number=number, id=attempt.id, status=attempt.status), attempt.ended_at)


def _sorted_steps(attempt: SubgoalTrace) -> list[_RecordedStep]:
    return sorted((*attempt.steps, *attempt.tools_used, *attempt.completions), key=lambda step: step.sequence)


def _step_events(attempt: str, step: _RecordedStep, calls: dict[tuple[str, str], int]) -> Iterator[_TimedEvent]:
    match step:
        case ActionTrace():
            yield from _recorded_action_events(attempt, step)
        case SkillUsage():
            yield _TimedEvent(_skill_event(attempt, step))
        case ToolUsage():
            yield from (_TimedEvent(event) for event in _tool_events(attempt, step, calls))
        case CompletionUsage():
            yield _TimedEvent(_completion_event(attempt, step))
        case _:
            assert_never(step)


def _recorded_action_events(attempt: str, action: ActionTrace) -> Iterator[_TimedEvent]:
    if action.observation is not None:
        seen = ObservationMade(subgoal=attempt, sequence=action.sequence, observation=action.observation)
        yield _TimedEvent(seen, action.started_at)
    took = None
    if action.started_at is not None and action.ended_at is not None:
        took = max(0.0, (action.ended_at - action.started_at).total_seconds() * 1000)
    taken = RecordedAction(
        id=action.id,
        sequence=action.sequence,
        type=action.action.type,
        label=action.action.type,
        result=action.result,
        duration_ms=took,
        artifacts=action.artifacts,
    )
    yield _TimedEvent(ActionPerformed(subgoal=attempt, outcome=taken), action.ended_at)


def _skill_event(attempt: str, skill: SkillUsage) -> SkillRun:
    used = RecordedSkill(
        id=skill.id,
        sequence=skill.sequence,
        skill=skill.skill,
        version=skill.version,
        parameters=skill.parameters,
        result=skill.result,
        output_recorded=skill.output_recorded,
        duration_ms=None,
    )
    return SkillRun(subgoal=attempt, outcome=used, output=InlineValue(value=skill.output))


def _tool_events(attempt: str, tool: ToolUsage, calls: dict[tuple[str, str], int]) -> Iterator[Event]:
    digest = _digest(tool.arguments)
    occurrence = calls[tool.tool, digest] = calls.get((tool.tool, digest), 0) + 1
    yield ToolCall(
        subgoal=attempt,
        sequence=tool.sequence,
        call_id=tool.id,
        tool=tool.tool,
        args=InlineValue(value=tool.arguments),
        args_hash=digest,
        occurrence=occurrence,
    )
    succeeded = isinstance(tool.result, Succeeded)
    yield ToolResult(
        subgoal=attempt,
        sequence=tool.sequence,
        call_id=tool.id,
        tool=tool.tool,
        source="executed",
        result=InlineValue(value=tool.output) if succeeded else None,
        error=None if succeeded else ToolFailure(kind=tool.result.kind, message=_failure_text(tool.result)),
        latency_ms=None,
    )


def _completion_event(attempt: str, completion: CompletionUsage) -> CompletionReceived:
    succeeded = isinstance(completion.result, Succeeded)
    return CompletionReceived(
        subgoal=attempt,
        sequence=completion.sequence,
        metric_id=completion.id,
        model=completion.model,
        prompt_digest=_digest(completion.prompt),
        source="live",
        response=InlineValue(value=completion.response) if succeeded else None,
        error=None if succeeded else _failure_text(completion.result),
        latency_ms=None,
    )


def _failure_text(result: Result) -> str:
    match result:
        case Failed(code=code, message=message):
            return message or code
        case Succeeded():
            return ""
        case _:
            return result.reason


def _digest(value: JsonValue) -> str:
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def _network_outcome(bundle: Bundle) -> NetworkOutcome | None:
    """Return the failed requests of the recorded network; None if there is none or it is incomplete."""
    part = bundle.trace.network
    if part is None:
        return None
    recording = read_network(resolve_inside(bundle.root, part.folder, "network.folder"))
    if recording.truncation is not None:
        return None
    failed = (_failed_request(exchange) for exchange in recording.exchanges)
    return NetworkOutcome(failed=tuple(each for each in failed if each is not None))


def _failed_request(exchange: Exchange) -> FailedRequest | None:
    request = exchange.request
    if exchange.failure is not None and exchange.failure != ABORTED_ERROR:
        return FailedRequest(method=request.method, url=request.url, what=exchange.failure)
    if exchange.response is not None and exchange.response.status >= _FIRST_ERROR_STATUS:
        return FailedRequest(method=request.method, url=request.url, what=str(exchange.response.status))
    return None
