"""The trace: one mission with its subgoals, actions and skills, in order."""

from collections import Counter
from typing import Annotated, Final, Literal, Self, TypeAlias

from pydantic import AwareDatetime, Field, model_validator

from eikon_engine.files.blobs import BlobRef
from eikon_engine.files.models import FileModel, FiniteJson
from eikon_engine.secrets.redaction import Redaction
from eikon_engine.trace.actions import Action
from eikon_engine.trace.environment import Environment
from eikon_engine.trace.masks import Mask
from eikon_engine.trace.observation import Observation
from eikon_engine.trace.rules import VolatileRule


class MovedDelivery(FileModel):
    """A moment of the recorded network and its replacement.

    An agent that does not wait acts while responses are pending. Replays wait for idle pages after each action, as any
    comparison requires; `eikon certify` determines what is delivered when.
    """

    was: int = Field(ge=0)
    """Position in the order of everything delivered in the recording."""
    order: int = Field(ge=0)
    """Position in the order of everything delivered in a replay."""
    at_ms: int = Field(ge=0)
    """Page time since the start of the mission."""
    phase: int = Field(ge=0)
    """Phase of the mission in which it is delivered, as in the recorded network."""


class TokenUsage(FileModel):
    """Tokens of one response; None if the model did not report them."""

    prompt_tokens: int | None = Field(default=None, ge=0)
    completion_tokens: int | None = Field(default=None, ge=0)


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


class Succeeded(FileModel):
    """The action or skill succeeded."""

    kind: Literal["ok"] = "ok"


class Failed(FileModel):
    """The action or skill failed; a replay expects the same failure."""

    kind: Literal["failed"] = "failed"
    code: str
    """Code of the error, see `eikon_engine.errors`; `unknown` if an older format did not record it."""
    message: str = ""


class Blocked(FileModel):
    """The action was planned but not performed; a replay does not perform it either."""

    kind: Literal["blocked"] = "blocked"
    reason: str = ""


Result: TypeAlias = Annotated[Succeeded | Failed | Blocked, Field(discriminator="kind")]


class Artifact(FileModel):
    """A file of the bundle for people to look at."""

    name: str
    path: str
    """Relative to the bundle, with forward slashes."""


class RecordedTiming(FileModel):
    """Original timing of an action whose observation or preceding steps were removed by an edit.

    The recorded network keeps its timeline, and a sealed replay of the edited mission must follow it.
    """

    actions_before: int = Field(ge=0)
    """Number of actions performed before it in the recording, including deleted ones."""
    begun_ms: float | None = Field(default=None, ge=0)
    """As `Observation.begun_ms`; None if nothing was recorded."""
    acted_ms: float | None = Field(default=None, ge=0)
    """As `Observation.acted_ms`."""
    virtual_ms: float | None = Field(default=None, ge=0)
    """As `Observation.virtual_ms`; None if nothing was recorded."""


class StoredPage(FileModel):
    """A page that an older format stored as an HTML file, without form state, shadow roots and frames."""

    path: str
    """Relative to the bundle, with forward slashes."""
    url: str = ""
    """Of the last document that the mission is known to have loaded; empty if none is known."""


class ActionTrace(FileModel):
    """One performed action."""

    id: str
    sequence: int = Field(ge=1)
    """Position among the actions and skills of its subgoal attempt."""
    started_at: AwareDatetime | None = None
    ended_at: AwareDatetime | None = None
    action: Action
    result: Result
    observation: Observation | None = None
    """None if nothing was recorded to compare with."""
    artifacts: tuple[Artifact, ...] = ()
    timing: RecordedTiming | None = None
    """None unless the mission was edited before this action, or what followed it was deleted."""
    stored_page: StoredPage | None = None
    """The page after the action, in recordings of an older format, which have no observation."""

    @property
    def baseline(self) -> Observation | None:
        """The observation that a replay compares with; None if the pages had not settled."""
        return self.observation if self.observation is not None and self.observation.settled else None


class SkillInputRef(FileModel):
    """The stored document that a skill ran on."""

    snapshot: BlobRef
    """Page snapshot in the `dom` folder."""
    frame: str = ""
    """Path of the frame in the snapshot."""
    url: str


class SkillUsage(FileModel):
    """One call of a skill, in sequence with the actions."""

    id: str
    sequence: int = Field(ge=1)
    skill: str
    version: int | None = None
    parameters: dict[str, FiniteJson] = Field(default_factory=dict)
    source: SkillInputRef | None = None
    """None if the document is unknown: not recorded, or invalidated by an edit."""
    result: Result
    output: FiniteJson = None
    output_recorded: bool = True
    """Whether `output` is what the skill returned; false if the recording did not store it."""
    stored_page: StoredPage | None = None
    """The page that the skill ran on, in recordings of an older format, which have no `source`."""
    unverifiable: str | None = None
    """Why a replay cannot verify the use: a skill of an older format did something else, or returned another form of
    output. None otherwise."""


class ToolUsage(FileModel):
    """One call of a tool other than the browser, in sequence with the actions; a replay does not repeat it."""

    id: str
    sequence: int = Field(ge=1)
    tool: str = Field(min_length=1)
    arguments: dict[str, FiniteJson] = Field(default_factory=dict)
    result: Result
    output: FiniteJson = None


class CompletionUsage(FileModel):
    """One response of a language model, in sequence with the actions; a replay does not request it again."""

    id: str
    sequence: int = Field(ge=1)
    model: str | None = None
    """As requested."""
    prompt: FiniteJson
    """A text, or messages in the format of the model."""
    response: FiniteJson = None
    result: Result
    metric_id: str | None = None
    """What the response is for. From here on, fields are copied from the recorded response, null if there is none."""
    sample_index: int | None = Field(default=None, ge=0)
    file_path: str = ""
    parameters: dict[str, FiniteJson] = Field(default_factory=dict)
    prompt_digest: str | None = None
    answered_by: str | None = None
    """The model named in the response."""
    usage: TokenUsage = TokenUsage()
    finish_reason: str | None = None
    duration_seconds: float | None = Field(default=None, ge=0)


class SubgoalTrace(FileModel):
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
    def _check_unique_sequences(self) -> Self:
        counts = Counter(each.sequence for each in (*self.steps, *self.tools_used, *self.completions))
        twice = sorted(sequence for sequence, count in counts.items() if count > 1)
        if twice:
            message = f"sequence {twice[0]} of subgoal attempt {self.id} is used {counts[twice[0]]} times"
            raise ValueError(message)
        return self

    @property
    def steps(self) -> tuple[ActionTrace | SkillUsage, ...]:
        """Actions and skills, which a replay repeats, in order of their sequence."""
        return tuple(sorted((*self.actions_taken, *self.skills_used), key=lambda step: step.sequence))


class PageIntent(FileModel):
    """What an older recording classified a page as."""

    id: str
    intent: str
    strategy: str | None = None
    confidence: float | None = None
    signals: tuple[FiniteJson, ...] = ()
    step_id: str | None = None


class Extraction(FileModel):
    """Data that the mission extracted."""

    name: str
    value: FiniteJson


class Failure(FileModel):
    """A failure outside the result of an action."""

    message: str
    subgoal_id: str | None = None


class StartState(FileModel):
    """The state a session starts with."""

    url: str | None = None
    storage_state: str | None = None
    """Path of the storage state in the bundle (Playwright's format): cookies, local storage, IndexedDB."""
    session_storage: str | None = None
    """Path of the session storage in the bundle: `{origin: {key: value}}`."""
    secrets: tuple[str, ...] = ()
    """Names of the secrets that were redacted from the start; others were redacted once they were typed."""


class LostData(FileModel):
    """Data of the mission that the recording could not keep, so that no replay can be faithful."""

    what: str
    """What is missing, such as a response body with its URL."""
    why: str


class NetworkPart(FileModel):
    """Where the recorded network is stored, and which parts of its requests may vary."""

    folder: str = "network"
    rules: tuple[VolatileRule, ...] = ()
    """Parts of requests that a sealed replay ignores if no recorded request matches exactly."""
    timeline: tuple[MovedDelivery, ...] = ()
    """When a sealed replay delivers recorded responses, if that differs from the recording because the agent did not
    wait or the mission was changed; empty otherwise."""
    incomplete: tuple[LostData, ...] = ()
    """What the recording could not keep; such a bundle is not certified."""


class ExecutionTrace(FileModel):
    """The recording of one mission, `trace.json` of a bundle."""

    trace_version: Literal[4] = TRACE_VERSION
    id: str = Field(min_length=1)
    mission_id: str = Field(min_length=1)
    mission_text: str
    started_at: AwareDatetime
    ended_at: AwareDatetime | None = None
    status: MissionStatus
    environment: Environment | None = None
    """None if it was not recorded."""
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
    """Recorded values of `{{name}}` in texts and URLs of actions; null if every replay must provide a value.

    Braces around a name that is not declared here are plain text."""
    redaction: Redaction = Redaction()
    """Stand-ins that replace secrets found in the files."""
    migrated_from: str | None = None
    """Version the trace was migrated from; None if it was written in the current one."""

    @model_validator(mode="after")
    def _check_unique_attempts(self) -> Self:
        counts = Counter(subgoal.id for subgoal in self.subgoal_traces)
        twice = sorted(name for name, count in counts.items() if count > 1)
        if twice:
            message = f"subgoal attempt {twice[0]} appears {counts[twice[0]]} times in the trace"
            raise ValueError(message)
        return self
