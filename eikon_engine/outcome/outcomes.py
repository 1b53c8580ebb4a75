"""What a replay found: `outcome.json`. Reports are made from these values alone."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import AwareDatetime, Field, JsonValue

from eikon_engine.outcome.divergence import Divergence
from eikon_engine.outcome.explanation import Consequence, Explanation
from eikon_engine.outcome.gate_result import GateResult
from eikon_engine.outcome.verdict import worst
from eikon_engine.trace.certificate import CertificateStatus
from eikon_engine.trace.environment import Environment
from eikon_engine.trace.execution import Artifact, Result
from eikon_engine.trace.observation import Observation
from eikon_engine.trace.record import Record

OUTCOME_VERSION: Literal[1] = 1

Verdict: TypeAlias = Literal["faithful", "diverged", "unverifiable"]
NetworkMode: TypeAlias = Literal["sealed", "live", "snapshot"]

Then: TypeAlias = Literal["sealed", "live"]
"""What answers the second part of a replay."""

ViolationKind: TypeAlias = Literal["page", "browser"]

EXIT_STATUS: dict[Verdict, int] = {"faithful": 0, "diverged": 1, "unverifiable": 3}


class ActionOutcome(Record):
    """One action as it was replayed."""

    kind: Literal["action"] = "action"
    id: str
    sequence: int
    type: str
    label: str
    """What the action does, for people; secrets are named, not shown."""
    verdict: Verdict
    expected_result: Result
    result: Result | None
    """None if the action was not performed."""
    observation: Observation | None = None
    divergences: tuple[Divergence, ...] = ()
    findings: tuple[Divergence, ...] = ()
    """What differs and touches nothing of the mission, by the policy `effects`: coverage that is lost here."""
    unverifiable: tuple[str, ...] = ()
    """What could not be compared, and why."""
    masked: tuple[str, ...] = ()
    """Names of the masks that hid something that differs: coverage that is lost here."""
    duration_ms: float = 0.0
    artifacts: tuple[Artifact, ...] = ()
    dependents: tuple[Consequence, ...] = ()
    """Later steps that go wrong because of this one; told of the first action that diverged."""


class SkillOutcome(Record):
    """One skill as it was rerun."""

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


StepOutcome: TypeAlias = Annotated[ActionOutcome | SkillOutcome, Field(discriminator="kind")]


class SubgoalOutcome(Record):
    """One subgoal attempt as it was replayed."""

    id: str
    subgoal_id: str
    description: str
    number: int
    """Position in the trace, from 1; its artifacts lie in `subgoal_<number>`."""
    verdict: Verdict
    steps: tuple[StepOutcome, ...] = ()
    steps_recorded: int


class NetworkMiss(Record):
    """A request that the bundle has no answer for."""

    key: str
    reason: str
    nearest: str = ""
    """Key of the nearest recorded request; empty if none is near."""
    differences: tuple[str, ...] = ()
    """In what the nearest recorded request differs."""


class RuleApplied(Record):
    """A rule of the trace by which requests were answered that were not recorded exactly so."""

    rule: str
    """What it leaves out, and where."""
    reason: str
    """Why, as the trace says."""
    times: int
    """Requests, and messages of sockets, that were matched by means of it."""


class ValueChange(Record):
    """One value of a live answer that is not the recorded one."""

    part: str
    """Where in the answer: `status`, `header location`, a JSON path (`body $.price`), a line (`body line 12`)."""
    recorded: str
    """Shortened for display; `(absent)` where the recording had nothing."""
    live: str
    """Shortened for display; `(absent)` where the live answer had nothing."""

    def __str__(self) -> str:
        """Read as `part: recorded X, live Y`."""
        return f"{self.part}: recorded {self.recorded}, live {self.live}"


class ResponseChange(Record):
    """A live answer that differs from the recorded one: an explanation, never a verdict."""

    key: str
    """See `eikon_engine.network.keys`."""
    occurrence: int
    """Number of earlier recorded requests with the same key."""
    subgoal: str
    """Id of the subgoal attempt during which it came; empty before the first step."""
    sequence: int
    """Sequence of the action during which it came; 0 before the first step."""
    what: tuple[ValueChange, ...]
    """At most so many that a person reads them."""
    more: int = 0
    """Changed values beyond those."""


class FailedRequest(Record):
    """A request that brought no answer, or one with a status from 400 on. What a page gave up itself is none."""

    method: str
    url: str
    what: str
    """The status, or the browser's word for what went wrong, such as `net::ERR_FAILED`."""

    def __str__(self) -> str:
        """Read as `GET http://shop.test/: 404`."""
        return f"{self.method} {self.url}: {self.what}"


class HermeticityViolation(Record):
    """Something that got past the routes of a sealed replay, and was blocked behind them."""

    kind: ViolationKind
    """Who asked: a page, or the browser on its own account."""
    method: str
    """`CONNECT` for everything encrypted and for WebSockets; empty if it was no request."""
    target: str
    """The URL; for `CONNECT`, host and port."""
    times: int = 1


class NetworkOutcome(Record):
    """How the requests of a replay met the recording."""

    served: int = 0
    live: int = 0
    """Requests of a sealed replay that were really made; see `--then live`."""
    misses: tuple[NetworkMiss, ...] = ()
    unused: tuple[str, ...] = ()
    """Keys of recorded exchanges that nobody asked for."""
    rules_applied: tuple[RuleApplied, ...] = ()
    unmatched: tuple[str, ...] = ()
    """Keys of the requests of a live replay that the recording does not have."""
    strays: tuple[str, ...] = ()
    """Method and URL of requests to a recorded deployment that another one was to stand for."""
    response_changes: tuple[ResponseChange, ...] = ()
    """Answers of a live replay that differ from the recorded ones, in the order in which they came."""
    notes: tuple[str, ...] = ()
    violations: tuple[HermeticityViolation, ...] = ()
    """What got past the routes of a sealed replay and was blocked; how it was answered when recorded, nobody knows."""
    failed: tuple[FailedRequest, ...] | None = None
    """Requests that failed, in the order in which they did; None where that is not known."""

    @property
    def escapes(self) -> tuple[HermeticityViolation, ...]:
        """Return the violations of pages, which keep a replay from being faithful."""
        return tuple(violation for violation in self.violations if violation.kind == "page")


class Counts(Record):
    """How much was replayed, of how much there was."""

    subgoals: int
    subgoals_recorded: int
    actions: int
    actions_recorded: int
    skills: int
    skills_recorded: int


class SecondPart(Record):
    """Where a replay goes on, after steps that lead there."""

    step: int = Field(ge=1)
    """Number of its first step in the mission, from 1."""
    subgoal: str
    """Id of the subgoal attempt that the step belongs to."""
    sequence: int
    """Sequence of the step in that attempt."""
    network: Then
    """What answers from there on: the recording, or the site."""
    unseen: tuple[str, ...] = ()
    """Where the site answers: keys of the requests before it that change something, which the site never saw."""
    unknown: tuple[int, ...] = ()
    """Where the site answers: numbers of the steps before it of which nothing tells what they asked for."""
    carried: tuple[str, ...] = ()
    """Where the site answers: what the browser keeps by then, and sends along or lets pages read."""


def network_words(mode: NetworkMode, second: SecondPart | None) -> str:
    """Say what answers, and from which step on the site does."""
    if second is None or second.network == mode:
        return mode
    before = f"{mode} until step {second.step - 1}, " if second.step > 1 else ""
    return f"{before}{second.network} from step {second.step}"


class ReplayOutcome(Record):
    """The whole result of one replay."""

    outcome_version: Literal[1] = OUTCOME_VERSION
    mission_id: str
    mission_text: str
    trace_id: str
    trace_path: str
    recorded_status: str
    started_at: AwareDatetime
    ended_at: AwareDatetime
    plan_digest: str | None = None
    """SHA-256 of what was to be done, see `eikon_engine.replay.plan_digest`; None in outcomes of older versions."""
    second_part: SecondPart | None = None
    """Where the run was to go on after what leads there; None where it has but one part."""
    headless: bool
    network_mode: NetworkMode
    browser: str
    """Name and version of the browser."""
    environment: Environment | None = None
    environment_differences: tuple[str, ...] = ()
    counts: Counts
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    """Why the verdict is what it is, most important first."""
    explanation: Explanation | None = None
    """Why the first step that diverged did; None if none has."""
    is_whole: bool = True
    """Whether every step was replayed, nothing got past the routes, and nothing was asked for after the last step that
    the recording has no answer to."""
    ended_early: str | None = None
    """Why not every step was replayed; None if all were."""
    subgoals: tuple[SubgoalOutcome, ...] = ()
    network: NetworkOutcome = NetworkOutcome()
    warnings: tuple[str, ...] = ()
    certified: CertificateStatus = "none"
    """Whether the bundle is certified as it lies there."""
    certified_why: str = ""
    """When and how it was certified, or why it is not."""
    gates: tuple[GateResult, ...] = ()
    """What the gates found that the replay was given."""

    @property
    def divergences(self) -> tuple[Divergence, ...]:
        """Return every finding, in the order of the mission."""
        return tuple(
            divergence for subgoal in self.subgoals for step in subgoal.steps for divergence in step.divergences
        )

    @property
    def exit_status(self) -> int:
        """Return the exit status of the command line: a gate that failed counts as a divergence does."""
        return EXIT_STATUS[worst((self.verdict, *(gate.verdict for gate in self.gates)))]
