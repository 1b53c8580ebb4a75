"""Read the events of a finished run: from its event log, derived from its outcome, or from the bundle of a mission."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, assert_never

from pydantic import ValidationError

from eikon_engine.errors import TraceError
from eikon_engine.files.json_text import canonical_json
from eikon_engine.files.limits import parse_json, read_document
from eikon_engine.files.models import describe_value, syntax_error, validation_error
from eikon_engine.files.paths import resolve_inside
from eikon_engine.network.exchange import ABORTED_ERROR
from eikon_engine.network.store import read_network
from eikon_engine.outcome.event_log import EVENTS_FILE
from eikon_engine.outcome.events import (
    ActionPerformed,
    ActionStart,
    CompletionReceived,
    DivergenceFound,
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
    action_event,
    skill_event,
)
from eikon_engine.outcome.outcomes import OUTCOME_VERSION, FailedRequest, NetworkOutcome, ReplayOutcome
from eikon_engine.outcome.read_events import read_events
from eikon_engine.outcome.stored_values import InlineValue, ValueStore
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.execution import ActionTrace, CompletionUsage, Failed, SkillUsage, Succeeded, ToolUsage
from eikon_engine.trace.trace_file import JOURNAL_FILE, TRACE_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.gates.meter import ResolveValue
    from eikon_engine.network.exchange import Exchange
    from eikon_engine.outcome.outcomes import ActionOutcome, SubgoalOutcome
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import Result, SubgoalTrace


def events_of_outcome(outcome: ReplayOutcome) -> Iterator[EventLine]:
    """Yield the events of a replay; all lines except the last have the start time."""
    events = (
        RunStart(
            kind="bundle_replay",
            mission_id=outcome.mission_id,
            mission_text=outcome.mission_text,
            network_mode=outcome.network_mode,
            headless=outcome.headless,
            browser=outcome.browser,
            environment=outcome.environment,
            subgoals=outcome.counts.subgoals_recorded,
            steps=outcome.counts.actions_recorded + outcome.counts.skills_recorded,
        ),
        *(event for subgoal in outcome.subgoals for event in _subgoal_events(subgoal)),
    )
    for number, event in enumerate(events, start=1):
        yield EventLine(sequence=number, at=outcome.started_at, event=event)
    end = RunEnd(
        how="complete" if outcome.ended_early is None else "stopped",
        ended_early=outcome.ended_early,
        network=outcome.network,
    )
    yield EventLine(sequence=len(events) + 1, at=outcome.ended_at, event=end)


def _subgoal_events(subgoal: SubgoalOutcome) -> Iterator[Event]:
    yield SubgoalStart(
        number=subgoal.number,
        id=subgoal.id,
        subgoal_id=subgoal.subgoal_id,
        description=subgoal.description,
        steps=subgoal.steps_recorded,
    )
    for step in subgoal.steps:
        if step.kind == "action":
            yield from _outcome_action_events(subgoal.id, step)
        else:
            yield skill_event(subgoal.id, step)
        for divergence in step.divergences:
            yield DivergenceFound(divergence=divergence)
    yield SubgoalEnd(number=subgoal.number, id=subgoal.id, verdict=subgoal.verdict)


def _outcome_action_events(attempt: str, action: ActionOutcome) -> Iterator[Event]:
    if action.result is not None:
        yield ActionStart(subgoal=attempt, sequence=action.sequence, action=action.type, label=action.label)
    if action.observation is not None:
        yield ObservationMade(subgoal=attempt, sequence=action.sequence, observation=action.observation)
    yield action_event(attempt, action)


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


OUTCOME_FILE: Final = "outcome.json"
_KNOWN_FILES: Final = (EVENTS_FILE, OUTCOME_FILE, TRACE_FILE, JOURNAL_FILE)
"""Files to look for in a folder, most informative first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvents:
    """The events of one run."""

    file: Path
    """The file they were read from."""
    lines: tuple[EventLine, ...]
    value_of: ResolveValue
    truncation: str | None = None
    """Message about a truncated file; None if it is complete."""


def read_run_events(path: Path) -> RunEvents:
    """Read the events at `path`: `events.jsonl`, `outcome.json`, `trace.json`, or a folder with one of them.

    Raises:
        TraceError: there is no such file, or it cannot be read.
        EventsError: the events cannot be read.
    """
    file = _find_file(path)
    value_of = ValueStore(file.parent).load
    if file.name == JOURNAL_FILE or (file.suffix != ".jsonl" and _version_key(file) == "trace_version"):
        lines = tuple(events_of_bundle(open_bundle(file)))
        return RunEvents(file=file, lines=lines, value_of=value_of)
    if file.suffix == ".jsonl":
        read = read_events(file)
        return RunEvents(file=file, lines=read.lines, value_of=value_of, truncation=read.truncation)
    return RunEvents(file=file, lines=tuple(events_of_outcome(read_outcome(file))), value_of=value_of)


def read_outcome(file: Path) -> ReplayOutcome:
    """Read the outcome of a replay.

    Raises:
        TraceError: the file cannot be read; the version is not supported.
        TraceSyntaxError: the text is not JSON.
        TraceFieldError: a field is missing, unknown or invalid.
    """
    folder = file.parent
    is_of_bundle = file.name in {OUTCOME_FILE, TRACE_FILE} and (folder / TRACE_FILE).exists()
    if is_of_bundle and not (folder / OUTCOME_FILE).exists():
        message = f"{folder}: expected the artifacts folder of a replay, got a bundle; use what `eikon replay` wrote"
        raise TraceError(message, code="trace-missing")
    data = _read_file(file)
    try:
        plain = parse_json(data)
    except ValueError as error:
        raise syntax_error(str(error), str(file)) from error
    version = plain.get("outcome_version") if isinstance(plain, dict) else None
    if version is None:
        message = f"{file}: expected {', '.join(_KNOWN_FILES[:3])} or a folder with one of them, got other JSON"
        raise TraceError(message, code="trace-missing")
    if version != OUTCOME_VERSION:
        message = (
            f"{file}: expected outcome_version {OUTCOME_VERSION}, got {describe_value(version)}; use a newer eikon"
        )
        raise TraceError(message, code="trace-version")
    try:
        return ReplayOutcome.model_validate_json(data)
    except ValidationError as error:
        raise validation_error(error, data, str(file)) from error


def _find_file(path: Path) -> Path:
    if path.is_dir():
        for name in _KNOWN_FILES:
            if (path / name).is_file():
                return path / name
        message = (
            f"{path}: expected a folder with {', '.join(_KNOWN_FILES[:3])}, got none of them; use the folder of the run"
        )
        raise TraceError(message, code="trace-missing")
    if not path.exists():
        message = f"{path}: expected {', '.join(_KNOWN_FILES[:3])} or a folder with one of them, got nothing"
        raise TraceError(message, code="trace-missing")
    return path


def _version_key(file: Path) -> str:
    """Return `trace_version` if a JSON file has that key, else an empty string."""
    try:
        plain = parse_json(_read_file(file))
    except ValueError:
        return ""
    return "trace_version" if isinstance(plain, dict) and "trace_version" in plain else ""


def _read_file(file: Path) -> bytes:
    try:
        return read_document(file, root=file.parent if file.name in _KNOWN_FILES else None)
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise TraceError(f"{file}: no such file; check the path", code="trace-missing") from error
        raise TraceError(f"{file}: cannot read the file ({error.strerror}); check its permissions") from error
