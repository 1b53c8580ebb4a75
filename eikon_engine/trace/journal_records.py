"""The lines of a journal: a closed union of what happens while a mission is recorded."""

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
    """Everything of the trace that is known when the mission starts; always the first line."""

    record: Literal["header"] = "header"
    trace: ExecutionTrace


class SubgoalStarted(Record):
    """An attempt at a subgoal begins."""

    record: Literal["subgoal_started"] = "subgoal_started"
    subgoal: SubgoalTrace
    """Without actions and skills, which follow."""


class ActionDone(Record):
    """An action was performed and observed."""

    record: Literal["action"] = "action"
    attempt: str
    """Id of the subgoal attempt."""
    action: ActionTrace


class SkillDone(Record):
    """A skill was used."""

    record: Literal["skill"] = "skill"
    attempt: str
    skill: SkillUsage


class ToolDone(Record):
    """A tool was called."""

    record: Literal["tool"] = "tool"
    attempt: str
    tool: ToolUsage


class CompletionDone(Record):
    """A language model answered."""

    record: Literal["completion"] = "completion"
    attempt: str
    completion: CompletionUsage


class SubgoalEnded(Record):
    """An attempt at a subgoal ends."""

    record: Literal["subgoal_ended"] = "subgoal_ended"
    attempt: str
    ended_at: AwareDatetime | None = None
    status: MissionStatus
    error: str | None = None


class WarningNoted(Record):
    """The recording could not keep something."""

    record: Literal["warning"] = "warning"
    text: str


class SecretsFound(Record):
    """Secrets were found and replaced; each such line holds all of them until then."""

    record: Literal["secrets_found"] = "secrets_found"
    redaction: Redaction


class ArtifactKept(Record):
    """A file was put into the bundle."""

    record: Literal["artifact"] = "artifact"
    artifact: Artifact


class ExtractionMade(Record):
    """The mission brought home data."""

    record: Literal["extraction"] = "extraction"
    extraction: Extraction


class FailureNoted(Record):
    """The mission failed at something outside an action."""

    record: Literal["failure"] = "failure"
    failure: Failure


class MissionEnded(Record):
    """The mission is over; always the last line."""

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
