"""The trace: one mission, its subgoals, their actions and skills, in the order in which they happened."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Final, Literal, Self, TypeAlias

from pydantic import AwareDatetime, Field, model_validator

from eikon_engine.trace.actions import Action
from eikon_engine.trace.blobs import BlobRef
from eikon_engine.trace.environment import Environment
from eikon_engine.trace.found_secret import Redaction
from eikon_engine.trace.mask import Mask
from eikon_engine.trace.observation import Observation
from eikon_engine.trace.record import FiniteJson, Record
from eikon_engine.trace.timeline import Moved
from eikon_engine.trace.token_usage import TokenUsage
from eikon_engine.trace.volatile import VolatileRule

TRACE_VERSION: Final = 4

VariableName: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]

MissionStatus: TypeAlias = Literal[
    "running",
    "complete",
    "failed",
    "aborted",
    "halted",
    "refused_by_learning",
    "ask_human",
    "skipped",
    "pending",
]


class Succeeded(Record):
    """The action or skill did what it was asked."""

    kind: Literal["ok"] = "ok"


class Failed(Record):
    """It failed, and is expected to fail again in the same way."""

    kind: Literal["failed"] = "failed"
    code: str
    """Code of the error, see `eikon_engine.errors`; `unknown` where an older format did not say."""
    message: str = ""


class Blocked(Record):
    """It was decided on but never performed; a replay does not perform it either."""

    kind: Literal["blocked"] = "blocked"
    reason: str = ""


Result: TypeAlias = Annotated[Succeeded | Failed | Blocked, Field(discriminator="kind")]


class Artifact(Record):
    """A file of the bundle that people look at."""

    name: str
    path: str
    """Relative to the bundle, with forward slashes."""


class Timing(Record):
    """When an action was done in the recording, where an edit left no observation or other steps to tell it.

    The recorded network has its own timeline, to which a sealed replay of the edited mission has to keep.
    """

    actions_before: int = Field(ge=0)
    """Actions that had been performed before, those that were deleted since included."""
    begun_ms: float | None = Field(default=None, ge=0)
    """As `Observation.begun_ms`; None where nothing was recorded."""
    acted_ms: float | None = Field(default=None, ge=0)
    """As `Observation.acted_ms`."""
    virtual_ms: float | None = Field(default=None, ge=0)
    """As `Observation.virtual_ms`; None where nothing was recorded."""


class ActionTrace(Record):
    """One action as it was performed."""

    id: str
    sequence: int = Field(ge=1)
    """Order among the actions and skills of its subgoal attempt."""
    started_at: AwareDatetime | None = None
    ended_at: AwareDatetime | None = None
    action: Action
    result: Result
    observation: Observation | None = None
    """None where nothing was recorded to compare with."""
    artifacts: tuple[Artifact, ...] = ()
    timing: Timing | None = None
    """None where nothing before the action was edited."""

    @property
    def baseline(self) -> Observation | None:
        """Return what a replay compares with: nothing where the pages had not come to rest."""
        return self.observation if self.observation is not None and self.observation.settled else None


class SkillInputRef(Record):
    """The stored document a skill worked on."""

    snapshot: BlobRef
    """Page snapshot in the `dom` folder."""
    frame: str = ""
    """Path of the frame in the snapshot."""
    url: str


class SkillUsage(Record):
    """One use of a skill, in its place among the actions."""

    id: str
    sequence: int = Field(ge=1)
    skill: str
    version: int | None = None
    parameters: dict[str, FiniteJson] = Field(default_factory=dict)
    source: SkillInputRef | None = None
    """None where no document is known: the recording kept none, or the mission was edited before."""
    result: Result
    output: FiniteJson = None
    output_recorded: bool = True
    """Whether `output` is what the skill returned; false where the recording kept none."""


class ToolUsage(Record):
    """One call of a tool that is no browser, in its place among the actions; a replay calls none."""

    id: str
    sequence: int = Field(ge=1)
    tool: str = Field(min_length=1)
    arguments: dict[str, FiniteJson] = Field(default_factory=dict)
    result: Result
    output: FiniteJson = None


class CompletionUsage(Record):
    """One answer of a language model, in its place among the actions; a replay asks none."""

    id: str
    sequence: int = Field(ge=1)
    model: str | None = None
    """As it was asked for."""
    prompt: FiniteJson
    """A text, or messages in the form of the model."""
    response: FiniteJson = None
    result: Result
    metric_id: str | None = None
    """What the answer was for. This and what follows is that of a recorded response, null where there is none."""
    sample_index: int | None = Field(default=None, ge=0)
    file_path: str = ""
    parameters: dict[str, FiniteJson] = Field(default_factory=dict)
    prompt_digest: str | None = None
    answered_by: str | None = None
    """The model as the answer names it."""
    usage: TokenUsage = TokenUsage()
    finish_reason: str | None = None
    duration_seconds: float | None = Field(default=None, ge=0)


class SubgoalTrace(Record):
    """One attempt at one step of the mission's plan."""

    id: str
    subgoal_id: str
    description: str
    attempt_number: int = Field(default=1, ge=1)
    started_at: AwareDatetime | None = None
    ended_at: AwareDatetime | None = None
    status: MissionStatus
    error: str | None = None
    actions_taken: tuple[ActionTrace, ...] = ()
    skills_used: tuple[SkillUsage, ...] = ()
    tools_used: tuple[ToolUsage, ...] = ()
    completions: tuple[CompletionUsage, ...] = ()

    @model_validator(mode="after")
    def _sequences_are_unique(self) -> Self:
        counts = Counter(each.sequence for each in (*self.steps, *self.tools_used, *self.completions))
        twice = sorted(sequence for sequence, count in counts.items() if count > 1)
        if twice:
            message = f"sequence {twice[0]} of subgoal attempt {self.id} is used {counts[twice[0]]} times"
            raise ValueError(message)
        return self

    @property
    def steps(self) -> tuple[ActionTrace | SkillUsage, ...]:
        """Return actions and skills, which a replay repeats, in their one order."""
        return tuple(sorted((*self.actions_taken, *self.skills_used), key=lambda step: step.sequence))


class PageIntent(Record):
    """What an older recording took a page for."""

    id: str
    intent: str
    strategy: str | None = None
    confidence: float | None = None
    signals: tuple[FiniteJson, ...] = ()
    step_id: str | None = None


class Extraction(Record):
    """Data that the mission brought home."""

    name: str
    value: FiniteJson


class Failure(Record):
    """A failure the recording speaks of, outside the result of an action."""

    message: str
    subgoal_id: str | None = None


class StartState(Record):
    """What the session began with."""

    url: str | None = None
    storage_state: str | None = None
    """Path of the storage state in the bundle (Playwright's format): cookies, local storage, IndexedDB."""
    session_storage: str | None = None
    """Path of the session storage in the bundle: `{origin: {key: value}}`."""
    secrets: tuple[str, ...] = ()
    """Names of the secrets that were kept out of everything from the start; others were since they were typed."""


class NetworkPart(Record):
    """Where the recorded network lies, and what of its requests may change."""

    folder: str = "network"
    rules: tuple[VolatileRule, ...] = ()
    """Parts of requests that a sealed replay does not compare when nothing was recorded for exactly this request."""
    timeline: tuple[Moved, ...] = ()
    """When what was recorded comes in a sealed replay, where an agent did not wait for it, or the mission goes another
    way; empty where it comes as it was recorded."""


class ExecutionTrace(Record):
    """The recording of one mission, `trace.json` of a bundle."""

    trace_version: Literal[4] = TRACE_VERSION
    id: str = Field(min_length=1)
    mission_id: str = Field(min_length=1)
    mission_text: str
    started_at: AwareDatetime
    ended_at: AwareDatetime | None = None
    status: MissionStatus
    environment: Environment | None = None
    """None where the recording did not keep it."""
    start: StartState = StartState()
    subgoal_traces: tuple[SubgoalTrace, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    page_intents: tuple[PageIntent, ...] = ()
    extractions: tuple[Extraction, ...] = ()
    failures: tuple[Failure, ...] = ()
    warnings: tuple[str, ...] = ()
    network: NetworkPart | None = None
    masks: tuple[Mask, ...] = ()
    """Parts of pages that are not compared."""
    variables: dict[VariableName, str | None] = Field(default_factory=dict)
    """Values, as recorded, of what stands as `{{name}}` in texts and URLs of actions; null where it is always given.

    What stands in such braces and is not named here is a text like any other."""
    redaction: Redaction = Redaction()
    """What stands in the files in the place of secrets that nobody named."""
    migrated_from: str | None = None
    """Version the trace was written in, if not this one."""

    @model_validator(mode="after")
    def _attempts_are_unique(self) -> Self:
        counts = Counter(subgoal.id for subgoal in self.subgoal_traces)
        twice = sorted(name for name, count in counts.items() if count > 1)
        if twice:
            message = f"subgoal attempt {twice[0]} stands {counts[twice[0]]} times in the trace"
            raise ValueError(message)
        return self
