"""The events of a run: one stream for `events.jsonl`, the progress display, the gates and the collector.

Replays, debug sessions and scenario runs share the same events. `docs/events.md` describes the format, and
`events_schema` returns its JSON Schema.
"""

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import AliasChoices, AwareDatetime, Field

from eikon_engine.files.models import FileModel, FiniteJson
from eikon_engine.outcome.debug_events import DebugEvent
from eikon_engine.outcome.divergence import DIVERGENCE_FLAG, Divergence, DivergenceFlag
from eikon_engine.outcome.outcomes import (
    ActionOutcome,
    FailedRequest,
    GateResult,
    NetworkMode,
    NetworkOutcome,
    ResumePoint,
    SkillOutcome,
    Verdict,
)
from eikon_engine.outcome.stored_values import InlineValue, StoredValue
from eikon_engine.trace.environment import Environment
from eikon_engine.trace.execution import Artifact, MissionStatus, Result
from eikon_engine.trace.observation import Observation

EVENTS_VERSION: Literal[2] = 2

RunKind: TypeAlias = Literal["bundle_replay", "debug_session", "scenario_record", "scenario_replay", "mission"]
"""Kind of run: the replay of a bundle, a debug session, or a scenario in one of its modes. `mission`: the events were
derived from a recorded trace."""
RunEnding: TypeAlias = Literal["complete", "stopped", "failed", "interrupted", "fault"]
"""How a run ended: all steps done; stopped by a divergence, gate or controller; failed with an error; interrupted by
the user or a signal; ended by an internal fault."""


class RunStart(FileModel):
    """A run starts."""

    type: Literal["run_start"] = "run_start"
    events_version: Literal[2] = EVENTS_VERSION
    kind: RunKind
    run_id: str | None = None
    mission_id: str
    mission_text: str
    network_mode: NetworkMode | None = None
    """None if the run has no browser."""
    headless: bool | None = None
    browser: str | None = None
    """Name and version of the browser."""
    environment: Environment | None = None
    subgoals: int | None = None
    """Number of planned subgoals; None if unknown."""
    steps: int | None = None
    plan_digest: str | None = None
    """SHA-256 of the planned steps of a replay."""
    resume_point: Annotated[ResumePoint | None, Field(validation_alias=AliasChoices("resume_point", "second_part"))] = (
        None
    )
    """Where the replay resumes; a note marks it. `second_part` in earlier files."""


class SubgoalStart(FileModel):
    """A subgoal attempt starts."""

    type: Literal["subgoal_start"] = "subgoal_start"
    number: int
    id: str
    subgoal_id: str
    description: str
    steps: int


class ActionStart(FileModel):
    """An action is about to be performed."""

    type: Literal["action_start"] = "action_start"
    subgoal: str
    sequence: int
    action: str
    label: str


class ObservationMade(FileModel):
    """The pages were observed after an action, before the comparison."""

    type: Literal["observation"] = "observation"
    subgoal: str
    sequence: int
    observation: Observation
    failed: tuple[FailedRequest, ...] | None = None
    """Requests that failed since the previous observation; None if unknown."""


class RecordedAction(FileModel):
    """The result of an action that has no recording to compare with."""

    kind: Literal["recorded_action"] = "recorded_action"
    id: str
    sequence: int
    type: str
    label: str
    result: Result
    duration_ms: float | None
    artifacts: tuple[Artifact, ...] = ()


class ActionPerformed(FileModel):
    """An action was performed, and compared if there is a recording."""

    type: Literal["action"] = "action"
    subgoal: str
    outcome: Annotated[ActionOutcome | RecordedAction, Field(discriminator="kind")]
    """Without the observation, which is in the preceding event."""


class RecordedSkill(FileModel):
    """The result of a skill that has no recording to compare with."""

    kind: Literal["recorded_skill"] = "recorded_skill"
    id: str
    sequence: int
    skill: str
    version: int | None = None
    parameters: dict[str, FiniteJson] = Field(default_factory=dict)
    result: Result
    output_recorded: bool = True
    """Whether `output` of the event is what the skill returned; false if the recording did not store it."""
    duration_ms: float | None
    artifacts: tuple[Artifact, ...] = ()


class SkillRun(FileModel):
    """A skill was run, and compared if there is a recording."""

    type: Literal["skill"] = "skill"
    subgoal: str
    outcome: Annotated[SkillOutcome | RecordedSkill, Field(discriminator="kind")]
    """Without the outputs, which are in the fields below."""
    output: StoredValue
    """Null if the skill failed."""
    expected_output: StoredValue | None = None
    """None if there is no recorded output."""


class ToolCall(FileModel):
    """A tool is about to be called."""

    type: Literal["tool_call"] = "tool_call"
    subgoal: str
    sequence: int
    call_id: str
    """Unique in the run; links the call to its result."""
    tool: str
    args: StoredValue
    """An object."""
    args_hash: str
    """SHA-256 of the arguments as canonical JSON, hexadecimal."""
    occurrence: int = Field(ge=1)
    """Number of this call among the calls of the tool with equal arguments, from 1."""


class ToolFailure(FileModel):
    """The exception raised by a tool."""

    kind: str
    """Class name of the exception."""
    message: str


class ToolResult(FileModel):
    """A tool call returned, executed or served from a fixture."""

    type: Literal["tool_result"] = "tool_result"
    subgoal: str
    sequence: int
    call_id: str
    tool: str
    source: Literal["executed", "fixture"]
    result: StoredValue | None
    """None if the call failed."""
    error: ToolFailure | None = None
    latency_ms: float | None
    """None if it was not recorded."""


class TokenUsage(FileModel):
    """Token counts reported by a model; None if not reported."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class CompletionReceived(FileModel):
    """A model returned a completion, live or from a recorded response."""

    type: Literal["completion"] = "completion"
    subgoal: str
    sequence: int
    metric_id: str
    """Purpose of the completion: a step or a skill."""
    model: str | None
    prompt_digest: str
    """SHA-256 of the prompt, hexadecimal."""
    source: Literal["live", "replayed", "captured"]
    response: StoredValue | None
    """None if it failed."""
    error: str | None = None
    usage: TokenUsage = TokenUsage()
    latency_ms: float | None
    """None if it was not recorded."""


class Note(FileModel):
    """Information that no other event covers."""

    type: Literal["note"] = "note"
    text: str


class GateEvaluated(GateResult):
    """The result of a gate, when it is exceeded or at the end of the run."""

    type: Literal["gate_result"] = "gate_result"


class DivergenceFound(FileModel):
    """The run diverged from its recording."""

    type: Literal["divergence"] = "divergence"
    flag: DivergenceFlag = DIVERGENCE_FLAG
    """The same word as in `replay_summary.txt`; the code is that of `divergence`."""
    divergence: Divergence


class SubgoalEnd(FileModel):
    """A subgoal attempt ends."""

    type: Literal["subgoal_end"] = "subgoal_end"
    number: int
    id: str
    verdict: Verdict | None = None
    """None if there is no recording to compare with."""
    status: MissionStatus | None = None
    """Status of a recorded attempt; None in a replay."""


class RunEnd(FileModel):
    """The run ends."""

    type: Literal["run_end"] = "run_end"
    how: RunEnding
    ended_early: str | None = None
    """Why the run stopped before the last step."""
    network: NetworkOutcome | None = None
    """None if unknown."""


Event: TypeAlias = Annotated[
    RunStart
    | SubgoalStart
    | ActionStart
    | ObservationMade
    | ActionPerformed
    | SkillRun
    | ToolCall
    | ToolResult
    | CompletionReceived
    | Note
    | GateEvaluated
    | DivergenceFound
    | DebugEvent
    | SubgoalEnd
    | RunEnd,
    Field(discriminator="type"),
]


class EventLine(FileModel):
    """One line of `events.jsonl`."""

    sequence: int = Field(ge=1)
    """Number of the line, from 1."""
    at: AwareDatetime
    event: Event


def action_event(subgoal: str, outcome: ActionOutcome) -> ActionPerformed:
    """Return the event for a replayed action, without its observation, which has an event of its own."""
    return ActionPerformed(subgoal=subgoal, outcome=outcome.model_copy(update={"observation": None}))


def verdict_of(event: ActionPerformed | SkillRun) -> Verdict:
    """Return the verdict of a step; `unverifiable` if there is no recording to compare with."""
    match event.outcome:
        case ActionOutcome(verdict=verdict) | SkillOutcome(verdict=verdict):
            return verdict
        case RecordedAction() | RecordedSkill():
            return "unverifiable"


def skill_event(subgoal: str, outcome: SkillOutcome) -> SkillRun:
    """Return the event for a rerun skill, with the outputs in fields of their own."""
    return SkillRun(
        subgoal=subgoal,
        outcome=outcome.model_copy(update={"output": None, "expected_output": None}),
        output=InlineValue(value=outcome.output),
        expected_output=InlineValue(value=outcome.expected_output),
    )


def restore_outputs(outcome: SkillOutcome, event: SkillRun) -> SkillOutcome:
    """Reverse `skill_event`: put the inline outputs of an event back into the outcome."""
    values = {
        name: stored.value
        for name, stored in (("output", event.output), ("expected_output", event.expected_output))
        if isinstance(stored, InlineValue)
    }
    return outcome.model_copy(update=values)


EVENTS_SCHEMA_ID: Final = f"urn:eikon-engine:events:{EVENTS_VERSION}"


def events_schema() -> dict[str, object]:
    """Return the schema of version 2 of a line, in JSON Schema 2020-12."""
    from eikon_engine.trace.schema import build_schema  # noqa: PLC0415 - nothing else needs it

    return build_schema(
        EventLine,
        schema_id=EVENTS_SCHEMA_ID,
        title="Eikon event",
        description="One line of events.jsonl: an event of a run, in the order of occurrence. See docs/events.md.",
    )
