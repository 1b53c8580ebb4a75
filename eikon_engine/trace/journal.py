"""The journal: an append-only log of a recording, one record per line.

If the process is killed, the journal can be read up to its last complete line. When the mission ends, `trace.json` is
written from the journal and takes precedence over it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Final, Literal, Self, TypeAlias, assert_never

from pydantic import AwareDatetime, Field, ValidationError

from eikon_engine.errors import TraceError, TraceFieldError
from eikon_engine.files.limits import read_lines
from eikon_engine.files.models import DeferredAdapter, FileModel, syntax_error, validation_error
from eikon_engine.files.writing import AppendOnlyFile
from eikon_engine.secrets.redaction import Redaction
from eikon_engine.trace.execution import (
    ActionTrace,
    Artifact,
    CompletionUsage,
    ExecutionTrace,
    Extraction,
    Failure,
    LostData,
    MissionStatus,
    NetworkPart,
    SkillUsage,
    SubgoalTrace,
    ToolUsage,
)

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType


class JournalHeader(FileModel):
    """Everything about the trace that is known when the mission starts; always the first record."""

    record: Literal["header"] = "header"
    trace: ExecutionTrace


class SubgoalStarted(FileModel):
    """An attempt at a subgoal started."""

    record: Literal["subgoal_started"] = "subgoal_started"
    subgoal: SubgoalTrace
    """Without actions and skills, which have records of their own."""


class ActionRecorded(FileModel):
    """An action was performed and observed."""

    record: Literal["action"] = "action"
    attempt: str
    """Id of the subgoal attempt."""
    action: ActionTrace


class SkillRecorded(FileModel):
    """A skill was called."""

    record: Literal["skill"] = "skill"
    attempt: str
    skill: SkillUsage


class ToolRecorded(FileModel):
    """A tool was called."""

    record: Literal["tool"] = "tool"
    attempt: str
    tool: ToolUsage


class CompletionRecorded(FileModel):
    """A language model responded."""

    record: Literal["completion"] = "completion"
    attempt: str
    completion: CompletionUsage


class SubgoalEnded(FileModel):
    """An attempt at a subgoal ended."""

    record: Literal["subgoal_ended"] = "subgoal_ended"
    attempt: str
    ended_at: AwareDatetime | None = None
    status: MissionStatus
    error: str | None = None


class WarningAdded(FileModel):
    """Something could not be recorded."""

    record: Literal["warning"] = "warning"
    text: str


class DataLost(FileModel):
    """Data of the mission could not be kept."""

    record: Literal["data_lost"] = "data_lost"
    lost: LostData


class SecretsFound(FileModel):
    """Secrets were found and replaced; each record lists all found so far."""

    record: Literal["secrets_found"] = "secrets_found"
    redaction: Redaction


class ArtifactAdded(FileModel):
    """A file was added to the bundle."""

    record: Literal["artifact"] = "artifact"
    artifact: Artifact


class ExtractionAdded(FileModel):
    """The mission extracted data."""

    record: Literal["extraction"] = "extraction"
    extraction: Extraction


class FailureAdded(FileModel):
    """The mission failed outside an action."""

    record: Literal["failure"] = "failure"
    failure: Failure


class MissionEnded(FileModel):
    """The mission ended; always the last record."""

    record: Literal["mission_ended"] = "mission_ended"
    ended_at: AwareDatetime | None = None
    status: MissionStatus


JournalRecord: TypeAlias = Annotated[
    JournalHeader
    | SubgoalStarted
    | ActionRecorded
    | SkillRecorded
    | ToolRecorded
    | CompletionRecorded
    | SubgoalEnded
    | WarningAdded
    | DataLost
    | SecretsFound
    | ArtifactAdded
    | ExtractionAdded
    | FailureAdded
    | MissionEnded,
    Field(discriminator="record"),
]


_MOVED_ASIDE: Final = re.compile(r".+\.unfinished-[0-9]+")


def aside_path(folder: Path, number: int) -> Path:
    """Return where the unfinished recording of a folder is moved to, if another one is made there."""
    return folder.with_name(f"{folder.name}.unfinished-{number}")


def is_moved_aside(name: str) -> bool:
    """Return whether a folder of this name has an unfinished recording that was moved aside."""
    return _MOVED_ASIDE.fullmatch(name) is not None


_MissionRecord: TypeAlias = WarningAdded | DataLost | SecretsFound | ArtifactAdded | ExtractionAdded | FailureAdded
_RECORD_ADAPTER: Final[DeferredAdapter[JournalRecord]] = DeferredAdapter(JournalRecord)


class JournalWriter:
    """Appends records to a new journal, one write per line."""

    def __init__(self, path: Path) -> None:
        """Create the journal.

        Raises:
            OutputError: a journal exists already, or the file cannot be written.
        """
        self._file = AppendOnlyFile(
            path, exists_message="a recording exists already; choose another folder or remove it"
        )

    def append(self, record: JournalRecord) -> None:
        """Append one record.

        Raises:
            OutputError: the file cannot be written.
        """
        self._file.append(record.model_dump_json())

    def close(self) -> None:
        """Flush the journal to disk and close it.

        Raises:
            OutputError: the file cannot be written.
        """
        self._file.close()

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the journal."""
        self.close()


@dataclass(slots=True)
class _AttemptState:
    """State of one attempt while its records are read."""

    started: SubgoalTrace
    actions: list[ActionTrace] = field(default_factory=list)
    skills: list[SkillUsage] = field(default_factory=list)
    tools: list[ToolUsage] = field(default_factory=list)
    completions: list[CompletionUsage] = field(default_factory=list)
    sequences: set[int] = field(default_factory=set)
    ended: SubgoalEnded | None = None


_AttemptRecord: TypeAlias = ActionRecorded | SkillRecorded | ToolRecorded | CompletionRecorded | SubgoalEnded


@dataclass(slots=True)
class _JournalState:
    """State of the trace while its journal is read."""

    trace: ExecutionTrace
    attempts: dict[str, _AttemptState] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    lost: list[LostData] = field(default_factory=list)
    artifacts: list[Artifact] = field(default_factory=list)
    extractions: list[Extraction] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    redaction: Redaction | None = None
    ended: MissionEnded | None = None


def read_journal(path: Path) -> ExecutionTrace:
    """Rebuild the trace of a recording from the complete lines of its journal.

    A mission without an end gets the status `aborted` and a warning; an open attempt gets the status `aborted`.

    Raises:
        TraceSyntaxError: there is no complete line, or a line before the last is not JSON.
        TraceFieldError: a field is invalid, or a record is out of order.
    """
    try:
        lines, rest = read_lines(path, root=path.parent)
    except OSError as error:
        message = f"{path}: cannot read the journal ({error.strerror}); check the path and its permissions"
        raise TraceError(message) from error
    if not lines:
        raise syntax_error("a journal without a complete line", str(path))
    header = _parse_record(lines[0], _line_label(path, 1))
    if not isinstance(header, JournalHeader):
        raise _unexpected_record(_line_label(path, 1), header, "a header")
    if header.trace.subgoal_traces:
        raise _unexpected_record(
            _line_label(path, 1), header, "a header without subgoals, which have records of their own"
        )
    reading = _JournalState(header.trace)
    for number, line in enumerate(lines[1:], start=2):
        _apply_record(reading, _parse_record(line, _line_label(path, number)), _line_label(path, number))
    return _build_trace(reading, is_truncated=bool(rest))


def _line_label(path: Path, number: int) -> str:
    return f"{path} line {number}"


def _parse_record(line: bytes, place: str) -> JournalRecord:
    try:
        return _RECORD_ADAPTER.validate_json(line)
    except ValidationError as error:
        raise validation_error(error, line, place) from error


def _apply_record(reading: _JournalState, record: JournalRecord, place: str) -> None:
    if reading.ended is not None:
        raise _unexpected_record(place, record, "nothing after mission_ended")
    match record:
        case JournalHeader():
            raise _unexpected_record(place, record, "one header, in line 1")
        case SubgoalStarted():
            _start_attempt(reading, record, place)
        case ActionRecorded() | SkillRecorded() | ToolRecorded() | CompletionRecorded() | SubgoalEnded():
            _apply_attempt_record(reading, record, place)
        case MissionEnded():
            reading.ended = record
        case _:
            _apply_mission_record(reading, record)


def _apply_mission_record(reading: _JournalState, record: _MissionRecord) -> None:
    match record:
        case WarningAdded(text=text):
            reading.warnings.append(text)
        case DataLost(lost=lost):
            reading.lost.append(lost)
        case SecretsFound(redaction=redaction):
            reading.redaction = redaction
        case ArtifactAdded(artifact=artifact):
            reading.artifacts.append(artifact)
        case ExtractionAdded(extraction=extraction):
            reading.extractions.append(extraction)
        case FailureAdded(failure=failure):
            reading.failures.append(failure)
        case _:
            assert_never(record)


def _start_attempt(reading: _JournalState, record: SubgoalStarted, place: str) -> None:
    subgoal = record.subgoal
    if subgoal.steps:
        raise _unexpected_record(place, record, "an attempt without steps, which have records of their own")
    if subgoal.id in reading.attempts:
        raise _unexpected_record(place, record, f"a new attempt, but {subgoal.id} has already started")
    reading.attempts[subgoal.id] = _AttemptState(subgoal)


def _apply_attempt_record(reading: _JournalState, record: _AttemptRecord, place: str) -> None:
    attempt = reading.attempts.get(record.attempt)
    if attempt is None or attempt.ended is not None:
        raise _unexpected_record(place, record, f"an open attempt, but {record.attempt} is not open")
    if isinstance(record, SubgoalEnded):
        attempt.ended = record
        return
    step = _recorded_step(record)
    if step.sequence in attempt.sequences:
        raise _unexpected_record(
            place, record, f"a unique sequence, but {step.sequence} is already used in {record.attempt}"
        )
    attempt.sequences.add(step.sequence)
    match step:
        case ActionTrace():
            attempt.actions.append(step)
        case SkillUsage():
            attempt.skills.append(step)
        case ToolUsage():
            attempt.tools.append(step)
        case CompletionUsage():
            attempt.completions.append(step)


def _recorded_step(
    record: ActionRecorded | SkillRecorded | ToolRecorded | CompletionRecorded,
) -> ActionTrace | SkillUsage | ToolUsage | CompletionUsage:
    match record:
        case ActionRecorded(action=action):
            return action
        case SkillRecorded(skill=skill):
            return skill
        case ToolRecorded(tool=tool):
            return tool
        case CompletionRecorded(completion=completion):
            return completion


def _unexpected_record(place: str, record: JournalRecord, expected: str) -> TraceFieldError:
    return TraceFieldError(f"{place}: expected {expected}, got {record.record}; restore the file or record again")


def _build_trace(reading: _JournalState, *, is_truncated: bool) -> ExecutionTrace:
    known, ended = reading.trace, reading.ended
    early = []
    if is_truncated:
        early.append("recording ended early: the last line of the journal was truncated and is ignored")
    if ended is None:
        early.append("recording ended early: the journal has no mission_ended record")
    network = known.network
    if reading.lost:
        network = network or NetworkPart()
        network = network.model_copy(update={"incomplete": (*network.incomplete, *reading.lost)})
    changes = {
        "network": network,
        "subgoal_traces": tuple(_build_attempt(attempt) for attempt in reading.attempts.values()),
        "warnings": (*known.warnings, *reading.warnings, *early),
        "redaction": reading.redaction or known.redaction,
        "artifacts": (*known.artifacts, *reading.artifacts),
        "extractions": (*known.extractions, *reading.extractions),
        "failures": (*known.failures, *reading.failures),
        "ended_at": ended.ended_at if ended else None,
        "status": ended.status if ended else "aborted",
    }
    return known.model_copy(update=changes)


def _build_attempt(attempt: _AttemptState) -> SubgoalTrace:
    ended = attempt.ended
    changes = {
        "ended_at": ended.ended_at if ended else None,
        "status": ended.status if ended else "aborted",
        "error": ended.error if ended else None,
        "actions_taken": tuple(sorted(attempt.actions, key=lambda each: each.sequence)),
        "skills_used": tuple(attempt.skills),
        "tools_used": tuple(attempt.tools),
        "completions": tuple(attempt.completions),
    }
    return attempt.started.model_copy(update=changes)
