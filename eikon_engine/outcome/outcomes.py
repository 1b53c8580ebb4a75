"""The result of a replay, written to `outcome.json`, including the results of its gates. Reports need nothing else."""

from typing import Annotated, Final, Literal, Self, TypeAlias, TypeVar

from pydantic import AliasChoices, AwareDatetime, Field, JsonValue, field_validator, model_validator

from eikon_engine.files.models import FileModel, FiniteJson
from eikon_engine.files.text import shorten, shorten_pair
from eikon_engine.outcome.divergence import Consequence, Divergence, DivergenceFlag, Explanation
from eikon_engine.outcome.verdict import combine_verdicts
from eikon_engine.trace.certificate import CertificateStatus
from eikon_engine.trace.environment import Environment
from eikon_engine.trace.execution import Artifact, Result
from eikon_engine.trace.observation import Observation


class GateResult(FileModel):
    """The result of one gate."""

    gate: str
    """Name of the gate, with its scope in brackets if it has one: `latency_ms[tool=web_fetch]`."""
    passed: bool | None
    """None if the data is not sufficient to decide, which is not a pass."""
    limit: FiniteJson
    observed: FiniteJson
    """In the unit of the limit; None if nothing was observed."""
    message: str
    """One sentence that explains the result."""
    while_running: bool = False
    """Whether the limit was exceeded during the run, which stops the run."""

    @property
    def verdict(self) -> "Verdict":
        """Return the result as a verdict, to combine it with the verdicts of steps."""
        if self.passed is None:
            return "unverifiable"
        return "faithful" if self.passed else "diverged"

    @property
    def word(self) -> str:
        """Return `passed`, `failed` or `unverifiable`."""
        return {True: "passed", False: "failed", None: "unverifiable"}[self.passed]


OUTCOME_VERSION: Literal[1] = 1

Verdict: TypeAlias = Literal["faithful", "diverged", "unverifiable"]
NetworkMode: TypeAlias = Literal["sealed", "live", "snapshot", "recorded-api"]
SERVED_MODES: Final = frozenset({"sealed", "recorded-api"})
"""Network modes in which the recording responds, at least for the back end."""

ResumeNetwork: TypeAlias = Literal["sealed", "live"]
"""Source of responses from the step at which a replay resumes."""

ViolationKind: TypeAlias = Literal["page", "browser"]

EXIT_STATUS: dict[Verdict, int] = {"faithful": 0, "diverged": 1, "unverifiable": 3}


class RequestTime(FileModel):
    """When a request was sent and answered, in wall time."""

    method: str
    url: str
    begin_ms: float
    """When it was sent, since the action began; negative if that was before the action."""
    duration_ms: float | None
    """How long it took until its response was there, or it failed; None if it had not ended by the end of the step."""
    what: str = ""
    """The status, or the browser's error; empty if there is none yet."""


_StepT = TypeVar("_StepT", "ActionOutcome", "SkillOutcome")


def _require_divergence(step: _StepT) -> _StepT:
    """Check that a step that diverged says how: reports show its first divergence."""
    if step.verdict == "diverged" and not step.divergences:
        message = f"the verdict of {step.id} is diverged: expected divergences, got none"
        raise ValueError(message)
    return step


class ActionOutcome(FileModel):
    """The result of replaying one action."""

    kind: Literal["action"] = "action"
    id: str
    sequence: int
    type: str
    label: str
    """Readable description of the action; secrets appear by name only."""
    verdict: Verdict
    expected_result: Result
    result: Result | None
    """None if the action was not performed."""
    observation: Observation | None = None
    divergences: tuple[Divergence, ...] = ()
    findings: tuple[Divergence, ...] = ()
    """Differences that do not affect the mission: what the policy `effects` lists as also changed, and late pages."""
    unverifiable: tuple[str, ...] = ()
    """What could not be compared, and why."""
    masked: tuple[str, ...] = ()
    """Names of the masks that hid a difference; reported as reduced coverage."""
    duration_ms: float = 0.0
    request_times: tuple[RequestTime, ...] = ()
    """The requests that were sent since the action before, in the order sent."""
    artifacts: tuple[Artifact, ...] = ()
    dependents: tuple[Consequence, ...] = ()
    """Later steps expected to fail because of this one. Only set for the first action that diverged."""

    _check_divergences = model_validator(mode="after")(_require_divergence)


class SkillOutcome(FileModel):
    """The result of rerunning one skill."""

    kind: Literal["skill"] = "skill"
    id: str
    sequence: int
    skill: str
    verdict: Verdict
    expected_output: JsonValue = None
    output: JsonValue = None
    result: Result | None = None
    divergences: tuple[Divergence, ...] = ()
    unverifiable: tuple[str, ...] = ()
    duration_ms: float = 0.0
    artifacts: tuple[Artifact, ...] = ()

    _check_divergences = model_validator(mode="after")(_require_divergence)


StepOutcome: TypeAlias = Annotated[ActionOutcome | SkillOutcome, Field(discriminator="kind")]


class SubgoalOutcome(FileModel):
    """The result of replaying one subgoal attempt."""

    id: str
    subgoal_id: str
    description: str
    number: int
    """Position in the trace, from 1. Artifacts are in `subgoal_<number>`."""
    verdict: Verdict
    steps: tuple[StepOutcome, ...] = ()
    steps_recorded: int


DifferingPart: TypeAlias = Literal[
    "method", "site", "path", "query", "header", "body", "times", "occurrence", "message", "type", "close"
]
MAX_VALUE_LENGTH: Final = 60
"""Maximum number of characters of a name or value that differs."""


class RequestDifference(FileModel):
    """A part in which a request, WebSocket message or close differs from the nearest recorded one."""

    part: DifferingPart
    """`times`: those in a body that differs in nothing else; `type`: text or binary; `close`: code and reason."""
    name: str = ""
    """Name of the parameter, header or field, or JSON path; empty for a whole part."""
    recorded: str | None = None
    """Recorded value, shortened; None if there is none."""
    sent: str | None = None
    """Value in the replay, likewise."""

    @classmethod
    def shortened(cls, part: DifferingPart, name: str, recorded: str | None, sent: str | None) -> Self:
        """Build a difference with a shortened name, and with values that are cut around their first difference."""
        before, now = shorten_pair(recorded or "", sent or "", MAX_VALUE_LENGTH)
        if recorded is None or sent is None:
            before, now = shorten_value(recorded or ""), shorten_value(sent or "")
        return cls(
            part=part,
            name=shorten_value(name),
            recorded=None if recorded is None else before,
            sent=None if sent is None else now,
        )

    @property
    def place(self) -> str:
        """Return what differs, such as `query page`."""
        return "times in the body" if self.part == "times" else f"{self.part} {self.name}".rstrip()

    @property
    def values(self) -> str:
        """Return both values, such as `recorded '1', sent '2'`."""
        recorded, sent = self._shown(self.recorded), self._shown(self.sent)
        return f"recorded {recorded}, sent {sent}"

    @property
    def recorded_text(self) -> str:
        """Return the recorded value with its place, such as `query page '1'`."""
        return f"no {self.place}" if self.recorded is None else f"{self.place} {self._shown(self.recorded)}"

    @property
    def sent_text(self) -> str:
        """Return the value in the replay with its place."""
        return f"no {self.place}" if self.sent is None else f"{self.place} {self._shown(self.sent)}"

    def __str__(self) -> str:
        """Describe the difference in a line."""
        return f"{self.place}: {self.values}"

    def _shown(self, value: str | None) -> str:
        if value is None:
            return "nothing"
        return repr(value) if self.name or self.part == "message" else value


def shorten_value(text: str) -> str:
    """Shorten a name or value of a request to be shown."""
    return shorten(text, MAX_VALUE_LENGTH)


_VALUE_PARTS: Final = frozenset({"query", "header", "body", "times"})
"""Parts in which two requests for the same resource may differ."""


class NetworkMiss(FileModel):
    """A request without a recorded response."""

    key: str
    reason: str
    nearest: str = ""
    """Key of the nearest recorded request; empty if none is similar."""
    differences: tuple[RequestDifference, ...] = ()
    """How the nearest recorded request differs."""
    more_differences: int = 0
    """Number of differences that are not listed."""

    @field_validator("differences", mode="before")
    @classmethod
    def _without_sentences(cls, value: object) -> object:
        """Drop the differences of an outcome written before 0.1.0, which were sentences."""
        return tuple(each for each in value if not isinstance(each, str)) if isinstance(value, list) else value

    @property
    def is_same_resource(self) -> bool:
        """Whether the nearest recorded request is for the same resource, with other values."""
        return bool(self.differences) and all(each.part in _VALUE_PARTS for each in self.differences)

    def describe_differences(self) -> tuple[str, ...]:
        """Return a line for each difference."""
        more = (f"and {self.more_differences} more",) if self.more_differences else ()
        return (*map(str, self.differences), *more)


class RuleApplied(FileModel):
    """A rule of the trace that matched requests to recorded ones they do not equal."""

    rule: str
    """The part of requests that the rule ignores, and where."""
    reason: str
    """The reason given in the trace."""
    times: int
    """Number of requests and WebSocket messages matched by the rule."""


class ValueChange(FileModel):
    """One value of a live response that differs from the recorded response."""

    part: str
    """Location in the response: `status`, `header location`, a JSON path (`body $.price`), a line (`body line 12`)."""
    recorded: str
    """Shortened for display; `(absent)` if only the live response has the value."""
    live: str
    """Shortened for display; `(absent)` if only the recorded response has the value."""

    def __str__(self) -> str:
        """Format as `part: recorded X, live Y`."""
        return f"{self.part}: recorded {self.recorded}, live {self.live}"


class ResponseChange(FileModel):
    """A live response that differs from the recorded one: it explains divergences; only an error is one itself."""

    key: str
    """See `eikon_engine.network.keys`."""
    sent: str = ""
    """Method and URL, without query, that this replay sent to get an error, if these differ from the recorded ones."""
    resource_type: str = ""
    """As Playwright names it; empty for WebSockets."""
    occurrence: int
    """Number of earlier recorded requests with the same key."""
    subgoal: str
    """Id of the subgoal attempt during which it was received; empty before the first step."""
    sequence: int
    """Sequence of the action during which it was received; 0 before the first step."""
    what: tuple[ValueChange, ...]
    """The first changed values; limited for readability."""
    more: int = 0
    """Number of changed values beyond `what`."""


class FailedRequest(FileModel):
    """A request that got no response, or a status of 400 or above. Requests aborted by the page are excluded."""

    method: str
    url: str
    what: str
    """The status, or the browser's error, such as `net::ERR_FAILED`."""

    def __str__(self) -> str:
        """Format as `GET http://shop.test/: 404`."""
        return f"{self.method} {self.url}: {self.what}"


class HermeticityViolation(FileModel):
    """Traffic that the sink blocked: past the routes of a sealed replay, or to an origin beyond those of a live one."""

    kind: ViolationKind
    """Origin of the traffic: a page, or the browser itself."""
    method: str
    """`CONNECT` for encrypted traffic and WebSockets; empty if it was not an HTTP request."""
    target: str
    """URL, or host and port for `CONNECT`."""
    times: int = 1


class UnsentRequest(FileModel):
    """A recorded request, WebSocket or message that no page sent in a complete replay, though it had the time."""

    key: str
    """See `eikon_engine.network.keys`."""
    subgoal: str
    """Id of the subgoal attempt during which it was recorded."""
    sequence: int
    """Sequence of the action during which it was recorded."""
    step: str
    """Readable description of that action."""


class NetworkOutcome(FileModel):
    """How the requests of a replay were matched with the recording."""

    served: int = 0
    live: int = 0
    """Requests of a sealed replay that were sent to the site; see `--then live`."""
    misses: tuple[NetworkMiss, ...] = ()
    unused: tuple[str, ...] = ()
    """Keys of recorded exchanges that no request matched."""
    repeats: int = 0
    """Requests beyond those recorded, of timers, such as polls, or for resources that browsers keep in memory: fonts,
    images, scripts, stylesheets. Each got a recorded response again.
    """
    unsent: tuple[UnsentRequest, ...] = ()
    """Unused exchanges, WebSockets and messages that nothing explains: the mission was not repeated."""
    rules_applied: tuple[RuleApplied, ...] = ()
    unmatched: tuple[str, ...] = ()
    """Keys of live requests that are not in the recording."""
    changed_requests: tuple[NetworkMiss, ...] = ()
    """Those of them that resemble a recorded request."""
    unmapped_requests: Annotated[
        tuple[str, ...], Field(validation_alias=AliasChoices("unmapped_requests", "strays"))
    ] = ()
    """Method and URL of requests to the recorded deployment although another base URL was set. `strays` in earlier
    files."""
    response_changes: tuple[ResponseChange, ...] = ()
    """Live responses that differ from the recorded ones, in the order received."""
    notes: tuple[str, ...] = ()
    violations: tuple[HermeticityViolation, ...] = ()
    """Traffic that was blocked: it bypassed the routes of a sealed replay, so that its recorded response is unknown, or
    was for an origin that a live replay may not reach."""
    failed: tuple[FailedRequest, ...] | None = None
    """Failed requests in order of failure; None if unknown."""

    @property
    def page_violations(self) -> tuple[HermeticityViolation, ...]:
        """Return the violations caused by pages; any of them makes a replay unverifiable."""
        return tuple(violation for violation in self.violations if violation.kind == "page")


class ReplayCounts(FileModel):
    """Number of items replayed and recorded."""

    subgoals: int
    subgoals_recorded: int
    actions: int
    actions_recorded: int
    skills: int
    skills_recorded: int


class ResumePoint(FileModel):
    """The step at which a replay resumes, after the steps that lead there."""

    step: int = Field(ge=1)
    """Its number in the mission, from 1."""
    subgoal: str
    """Id of the subgoal attempt that the step belongs to."""
    sequence: int
    """Its sequence in that attempt."""
    network: ResumeNetwork
    """Source of responses from there on: the recording (sealed) or the site (live)."""
    unseen: tuple[str, ...] = ()
    """Live only: keys of earlier state-changing requests that the site never received."""
    unknown: tuple[int, ...] = ()
    """Live only: numbers of earlier steps whose requests are unknown."""
    carried: tuple[str, ...] = ()
    """Live only: cookies and storage items that the browser already holds at that point."""


def describe_network(mode: NetworkMode, resumed: ResumePoint | None) -> str:
    """Describe the source of responses, and the step from which it changes."""
    if resumed is None or resumed.network == mode:
        return mode
    before = f"{mode} until step {resumed.step - 1}, " if resumed.step > 1 else ""
    return f"{before}{resumed.network} from step {resumed.step}"


class ExtractionOutcome(FileModel):
    """Whether what a mission extracted was the same in the replay, by the steps and pages that it was taken from."""

    name: str
    verdict: Verdict
    """`unverifiable` if a part of it was in no step and on no page, or if that was not compared."""
    sources: tuple[str, ...] = ()
    """The steps that returned its texts and numbers, or after which a page showed them."""
    notes: tuple[str, ...] = ()
    """Why it is not faithful."""


class ReplayOutcome(FileModel):
    """The whole result of one replay."""

    outcome_version: Literal[1] = OUTCOME_VERSION
    mission_id: str
    mission_text: str
    trace_id: str
    trace_path: str
    recorded_status: str
    recorded_failure: str = ""
    """How the recorded mission failed or was interrupted, such as `failed: no ticket`; empty if it did not."""
    started_at: AwareDatetime
    ended_at: AwareDatetime
    plan_digest: str | None = None
    """SHA-256 of the planned steps, see `eikon_engine.replay.plan`; None in outcomes of older versions."""
    resume_point: Annotated[ResumePoint | None, Field(validation_alias=AliasChoices("resume_point", "second_part"))] = (
        None
    )
    """Where the replay resumed; None if it did not. `second_part` in earlier files."""
    headless: bool
    network_mode: NetworkMode
    browser: str
    """Name and version of the browser."""
    environment: Environment | None = None
    environment_differences: tuple[str, ...] = ()
    counts: ReplayCounts
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    """Reasons for the verdict, most important first."""
    flag: DivergenceFlag | None = None
    """The same word as in `replay_summary.txt` if a step diverged; None otherwise, and in earlier files."""
    divergence_code: str | None = None
    """Code of the first divergence; None if no step diverged, and in earlier files."""
    explanation: Explanation | None = None
    """Why the first divergence happened; None if no step diverged."""
    is_whole: bool = True
    """Whether every step was replayed, nothing bypassed the routes, and no request after the last step went without
    a recorded response."""
    ended_early: str | None = None
    """Why the run stopped before the last step; None if every step was replayed."""
    subgoals: tuple[SubgoalOutcome, ...] = ()
    extractions: tuple[ExtractionOutcome, ...] = ()
    """What became of each extraction of the mission; this changes no verdict."""
    network: NetworkOutcome = NetworkOutcome()
    warnings: tuple[str, ...] = ()
    certified: CertificateStatus = "none"
    """Whether the bundle is certified in its current state."""
    certified_why: str = ""
    """When and how the bundle was certified, or why it is not; live, also which baselines were accepted."""
    certified_with_reset: bool = False
    """Whether the site was reset before each run of the live certification, and not before this live replay."""
    gates: tuple[GateResult, ...] = ()
    """Results of the gates of this replay."""

    @property
    def divergences(self) -> tuple[Divergence, ...]:
        """Return every divergence, in the order of the mission."""
        return tuple(
            divergence for subgoal in self.subgoals for step in subgoal.steps for divergence in step.divergences
        )

    @property
    def exit_status(self) -> int:
        """Return the exit status of the command; a failed gate counts as a divergence."""
        return EXIT_STATUS[combine_verdicts((self.verdict, *(gate.verdict for gate in self.gates)))]


def outcome_schema() -> dict[str, object]:
    """Return the schema of version 1 of an outcome, in JSON Schema 2020-12."""
    from eikon_engine.trace.schema import build_schema  # noqa: PLC0415 - nothing else needs it

    return build_schema(
        ReplayOutcome,
        schema_id=f"urn:eikon-engine:outcome:{OUTCOME_VERSION}",
        title="Eikon outcome",
        description="What a replay did and found: outcome.json of its artifacts. See docs/outcome-format.md.",
    )
