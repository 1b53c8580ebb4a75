"""The records of a journal: a closed union of the events of a recording."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import AwareDatetime, Field

from eikon_engine.trace.execution import (
    ActionTrace,
    Artifact,
    CompletionUsage,
    ExecutionTrace,
    Extraction,
    Failure,
    MissionStatus,
    SkillUsage,
    SubgoalTrace,
    ToolUsage,
)
from eikon_engine.trace.found_secret import Redaction
from eikon_engine.trace.record import FileModel


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
    | SecretsFound
    | ArtifactAdded
    | ExtractionAdded
    | FailureAdded
    | MissionEnded,
    Field(discriminator="record"),
]
