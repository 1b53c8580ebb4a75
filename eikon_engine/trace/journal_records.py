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
from eikon_engine.trace.record import Record


class Header(Record):
    """Everything about the trace that is known when the mission starts; always the first record."""

    record: Literal["header"] = "header"
    trace: ExecutionTrace


class SubgoalStarted(Record):
    """An attempt at a subgoal started."""

    record: Literal["subgoal_started"] = "subgoal_started"
    subgoal: SubgoalTrace
    """Without actions and skills, which have records of their own."""


class ActionDone(Record):
    """An action was performed and observed."""

    record: Literal["action"] = "action"
    attempt: str
    """Id of the subgoal attempt."""
    action: ActionTrace


class SkillDone(Record):
    """A skill was called."""

    record: Literal["skill"] = "skill"
    attempt: str
    skill: SkillUsage


class ToolDone(Record):
    """A tool was called."""

    record: Literal["tool"] = "tool"
    attempt: str
    tool: ToolUsage


class CompletionDone(Record):
    """A language model responded."""

    record: Literal["completion"] = "completion"
    attempt: str
    completion: CompletionUsage


class SubgoalEnded(Record):
    """An attempt at a subgoal ended."""

    record: Literal["subgoal_ended"] = "subgoal_ended"
    attempt: str
    ended_at: AwareDatetime | None = None
    status: MissionStatus
    error: str | None = None


class WarningNoted(Record):
    """Something could not be recorded."""

    record: Literal["warning"] = "warning"
    text: str


class SecretsFound(Record):
    """Secrets were found and replaced; each record lists all found so far."""

    record: Literal["secrets_found"] = "secrets_found"
    redaction: Redaction


class ArtifactKept(Record):
    """A file was added to the bundle."""

    record: Literal["artifact"] = "artifact"
    artifact: Artifact


class ExtractionMade(Record):
    """The mission extracted data."""

    record: Literal["extraction"] = "extraction"
    extraction: Extraction


class FailureNoted(Record):
    """The mission failed outside an action."""

    record: Literal["failure"] = "failure"
    failure: Failure


class MissionEnded(Record):
    """The mission ended; always the last record."""

    record: Literal["mission_ended"] = "mission_ended"
    ended_at: AwareDatetime | None = None
    status: MissionStatus


JournalRecord: TypeAlias = Annotated[
    Header
    | SubgoalStarted
    | ActionDone
    | SkillDone
    | ToolDone
    | CompletionDone
    | SubgoalEnded
    | WarningNoted
    | SecretsFound
    | ArtifactKept
    | ExtractionMade
    | FailureNoted
    | MissionEnded,
    Field(discriminator="record"),
]
