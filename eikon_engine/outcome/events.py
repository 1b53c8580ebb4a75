"""The events of a run: one stream, read by `events.jsonl`, the progress display, the gates and the collector.

Replays of bundles and runs of scenarios have the same events. `docs/events.md` has the format.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import AwareDatetime, Field

from eikon_engine.outcome.debug_events import DebugEvent
from eikon_engine.outcome.divergence import Divergence
from eikon_engine.outcome.gate_result import GateResult
from eikon_engine.outcome.outcomes import (
    ActionOutcome,
    FailedRequest,
    NetworkMode,
    NetworkOutcome,
    SecondPart,
    SkillOutcome,
    Verdict,
)
from eikon_engine.outcome.stored import InlineValue, Stored
from eikon_engine.trace.environment import Environment
from eikon_engine.trace.execution import Artifact, MissionStatus, Result
from eikon_engine.trace.observation import Observation
from eikon_engine.trace.record import FiniteJson, Record

EVENTS_VERSION: Literal[2] = 2

RunKind: TypeAlias = Literal["bundle_replay", "debug_session", "scenario_record", "scenario_replay", "mission"]
"""What runs: the replay of a bundle, a debug session, or a scenario in one of its modes; `mission` where the events are
those of a recording, told from its trace."""
Ending: TypeAlias = Literal["complete", "stopped", "failed", "interrupted", "fault"]
"""How a run ended: every step was done; stopped at a divergence, by a gate or a controller; cut off by an error; by a
person or a signal; by a fault of ours."""


class RunStart(Record):
    """A run begins."""

    type: Literal["run_start"] = "run_start"
    events_version: Literal[2] = EVENTS_VERSION
    kind: RunKind
    run_id: str | None = None
    mission_id: str
    mission_text: str
    network_mode: NetworkMode | None = None
    """None where no browser is part of it."""
    headless: bool | None = None
    browser: str | None = None
    """Name and version of the browser."""
    environment: Environment | None = None
    subgoals: int | None = None
    """How many there are to be; None where that is not known."""
    steps: int | None = None
    plan_digest: str | None = None
    """Of a replay: SHA-256 of what is to be done."""
    second_part: SecondPart | None = None
    """Of a replay: where it is to go on after steps that lead there; a note tells when it does."""


class SubgoalStart(Record):
    """A subgoal attempt begins."""

    type: Literal["subgoal_start"] = "subgoal_start"
    number: int
    id: str
    subgoal_id: str
    description: str
    steps: int


class ActionStart(Record):
    """An action is about to be performed."""

    type: Literal["action_start"] = "action_start"
    subgoal: str
    sequence: int
    action: str
    label: str


class ObservationMade(Record):
    """The pages were looked at, after an action and before it is compared."""

    type: Literal["observation"] = "observation"
    subgoal: str
    sequence: int
    observation: Observation
    failed: tuple[FailedRequest, ...] | None = None
    """Requests that failed since the observation before; None where that is not known."""


class RecordedAction(Record):
    """One action as it was performed, with nothing to compare it with."""

    kind: Literal["recorded_action"] = "recorded_action"
    id: str
    sequence: int
    type: str
    label: str
    result: Result
    duration_ms: float | None
    artifacts: tuple[Artifact, ...] = ()


class ActionTaken(Record):
    """An action was performed, and compared if there was something to compare it with."""

    type: Literal["action"] = "action"
    subgoal: str
    outcome: Annotated[ActionOutcome | RecordedAction, Field(discriminator="kind")]
    """Without its observation, which is the event before it."""


class RecordedSkill(Record):
    """One use of a skill, with nothing to compare it with."""

    kind: Literal["recorded_skill"] = "recorded_skill"
    id: str
    sequence: int
    skill: str
    version: int | None = None
    parameters: dict[str, FiniteJson] = Field(default_factory=dict)
    result: Result
    output_recorded: bool = True
    """Whether the output beside it is what the skill returned; false where the recording kept none."""
    duration_ms: float | None
    artifacts: tuple[Artifact, ...] = ()


class SkillUsed(Record):
    """A skill was used, and compared if there was something to compare it with."""

    type: Literal["skill"] = "skill"
    subgoal: str
    outcome: Annotated[SkillOutcome | RecordedSkill, Field(discriminator="kind")]
    """Without its outputs, which stand beside it."""
    output: Stored
    """Null where the skill failed."""
    expected_output: Stored | None = None
    """None where nothing was recorded to compare with."""


class ToolCall(Record):
    """A tool is about to be called."""

    type: Literal["tool_call"] = "tool_call"
    subgoal: str
    sequence: int
    call_id: str
    """What its result refers to; one call of a run."""
    tool: str
    args: Stored
    """An object."""
    args_hash: str
    """SHA-256 of the arguments as canonical JSON, hexadecimal."""
    occurrence: int = Field(ge=1)
    """Which of the calls of this tool with these arguments it is."""


class ToolFailure(Record):
    """The error that a tool raised."""

    kind: str
    """Name of its class."""
    message: str


class ToolResult(Record):
    """A tool has answered, or a fixture in its place."""

    type: Literal["tool_result"] = "tool_result"
    subgoal: str
    sequence: int
    call_id: str
    tool: str
    source: Literal["executed", "fixture"]
    result: Stored | None
    """None where it failed."""
    error: ToolFailure | None = None
    latency_ms: float | None
    """None where it was not recorded."""


class TokensSpent(Record):
    """What a model counted; None where it did not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class CompletionGiven(Record):
    """A model has answered, or a recorded response in its place."""

    type: Literal["completion"] = "completion"
    subgoal: str
    sequence: int
    metric_id: str
    """What it was asked for."""
    model: str | None
    prompt_digest: str
    """SHA-256 of the prompt, hexadecimal."""
    source: Literal["live", "replayed", "captured"]
    response: Stored | None
    """None where it failed."""
    error: str | None = None
    usage: TokensSpent = TokensSpent()
    latency_ms: float | None
    """None where it was not recorded."""


class Note(Record):
    """Something worth telling that is no other event."""

    type: Literal["note"] = "note"
    text: str


class GateResultGiven(GateResult):
    """A gate was exceeded, or is known at the end of the run."""

    type: Literal["gate_result"] = "gate_result"


class DivergenceFound(Record):
    """The run left its recording."""

    type: Literal["divergence"] = "divergence"
    divergence: Divergence


class SubgoalEnd(Record):
    """A subgoal attempt is over."""

    type: Literal["subgoal_end"] = "subgoal_end"
    number: int
    id: str
    verdict: Verdict | None = None
    """None where there was nothing to compare with."""
    status: MissionStatus | None = None
    """How the attempt ended in a recording; None in a replay."""


class RunEnd(Record):
    """The run is over."""

    type: Literal["run_end"] = "run_end"
    how: Ending
    ended_early: str | None = None
    """Why not every step was done."""
    network: NetworkOutcome | None = None
    """None where it is not known."""


Event: TypeAlias = Annotated[
    RunStart
    | SubgoalStart
    | ActionStart
    | ObservationMade
    | ActionTaken
    | SkillUsed
    | ToolCall
    | ToolResult
    | CompletionGiven
    | Note
    | GateResultGiven
    | DivergenceFound
    | DebugEvent
    | SubgoalEnd
    | RunEnd,
    Field(discriminator="type"),
]


class JournalLine(Record):
    """One line of `events.jsonl`."""

    sequence: int = Field(ge=1)
    """Number of the line, from 1."""
    at: AwareDatetime
    event: Event


def action_taken(subgoal: str, outcome: ActionOutcome) -> ActionTaken:
    """Tell of a replayed action; its observation has an event of its own."""
    return ActionTaken(subgoal=subgoal, outcome=outcome.model_copy(update={"observation": None}))


def verdict_of(event: ActionTaken | SkillUsed) -> Verdict:
    """Return what a step came to; unverifiable where there was nothing to compare it with."""
    match event.outcome:
        case ActionOutcome(verdict=verdict) | SkillOutcome(verdict=verdict):
            return verdict
        case RecordedAction() | RecordedSkill():
            return "unverifiable"


def skill_used(subgoal: str, outcome: SkillOutcome) -> SkillUsed:
    """Tell of a rerun skill; its outputs stand beside it."""
    return SkillUsed(
        subgoal=subgoal,
        outcome=outcome.model_copy(update={"output": None, "expected_output": None}),
        output=InlineValue(value=outcome.output),
        expected_output=InlineValue(value=outcome.expected_output),
    )


def with_outputs(outcome: SkillOutcome, event: SkillUsed) -> SkillOutcome:
    """Undo `skill_used` on an event that was read by nobody yet: its values stand in it."""
    values = {
        name: stored.value
        for name, stored in (("output", event.output), ("expected_output", event.expected_output))
        if isinstance(stored, InlineValue)
    }
    return outcome.model_copy(update=values)
