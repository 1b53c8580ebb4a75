"""Options of a replay, and controllers, which decide before each step whether the run proceeds."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

from eikon_engine.divergence.effects import PolicyName
from eikon_engine.files.wall_clock import utc_now
from eikon_engine.outcome.outcomes import NetworkMode, ResumeNetwork
from eikon_engine.replay.option_checks import OptionChecks
from eikon_engine.skills import SkillRegistry, default_skills
from eikon_engine.trace.masks import Mask

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from datetime import datetime

    from eikon_engine.browser.session import Session
    from eikon_engine.browser.worker import PerformedAction
    from eikon_engine.gates import GateSet
    from eikon_engine.llm import CompletionClient
    from eikon_engine.network.exchange import Moment
    from eikon_engine.network.rule_learner import RuleLearner
    from eikon_engine.outcome.events import EventLine
    from eikon_engine.outcome.outcomes import ReplayOutcome
    from eikon_engine.replay.plan import PlannedStep


@dataclass(frozen=True, slots=True)
class Proceed:
    """Perform the step."""


@dataclass(frozen=True, slots=True)
class Halt:
    """End the run before the step."""

    reason: str


Decision: TypeAlias = Proceed | Halt


class Controller(Protocol):
    """Decide before each step whether the run proceeds."""

    async def decide(self, step: PlannedStep) -> Decision:
        """Return the decision on the next step; the run waits for it."""


class ProceedAlways:
    """Perform every step."""

    async def decide(self, step: PlannedStep) -> Decision:  # noqa: ARG002 - same for every step
        """Return `Proceed`."""
        return Proceed()


OnDivergence: TypeAlias = Literal["stop", "continue"]

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")


def _is_scheme(value: object) -> bool:
    return isinstance(value, str) and _SCHEME.fullmatch(value) is not None


DEFAULT_ARTIFACTS_DIR = Path("replay_artifacts")


class Report(Protocol):
    """Render an outcome as one file."""

    @property
    def file_name(self) -> str:
        """Return the name of the file in the artifacts folder."""

    def render(self, outcome: ReplayOutcome, folder: Path) -> str | None:
        """Return the text of the file; `folder` has the artifacts. None if this outcome needs no such report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """All options of a replay. A path may be given as text.

    Raises:
        UsageError: a value is not one that its option accepts.
    """

    headless: bool = True
    browser_path: Path | None = None
    artifacts_dir: Path | None = None
    """Output folder; by default `replay_artifacts/<mission_id>` in the working directory."""
    network: NetworkMode | None = None
    """None: sealed if the bundle has recorded network traffic, else live, but only to the public origins that the trace
    navigates to."""
    allow_schemes: tuple[str, ...] = ()
    """Schemes of URLs, other than http and https, that actions may navigate to."""
    har: Path | None = None
    """HAR file that serves the responses of a sealed replay instead of the bundle's own recording."""
    responses_from: Path | None = None
    """Another bundle of the mission that serves the responses of a sealed replay; they are compared with the recorded
    ones."""
    base_urls: Mapping[str, str] = field(default_factory=dict)
    """Current base URL by recorded base URL, to replay the mission against another deployment."""
    front_end: tuple[str, ...] = ()
    """With the network `recorded-api`: patterns of URLs that come from the deployment, too."""
    back_end: tuple[str, ...] = ()
    """With the network `recorded-api`: patterns of URLs that come from the recording; these win."""
    policy: PolicyName = "strict"
    """With `effects`, DOM changes that do not affect the mission are findings, not divergences."""
    masks: tuple[Mask, ...] = ()
    """Parts of pages excluded from comparison, in addition to the masks of the trace."""
    on_divergence: OnDivergence = "stop"
    from_step: int | None = None
    """Step number, from 1, at which to resume; earlier steps are re-run from the recording and must not diverge."""
    then_network: ResumeNetwork = "sealed"
    """Network mode from the resumed step on."""
    plan_digest: str | None = None
    """Expected plan digest; a replay of a different plan is refused."""
    timeout_ms: float | None = None
    """Overrides the recorded timeout of every action, in milliseconds of page time."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    secret_origins: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Origins into which a live replay may type a secret, by its name; recorded ones, if `base_urls` maps them. Without
    it, a secret is bound to the origin that the trace navigates to, if there is only one."""
    missing_secrets: Mapping[str, str] = field(default_factory=dict)
    """Why a configured secret has no value, by name: part of the error if the trace needs it."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Values of trace variables by name; the default is the recorded value."""
    storage_state: Path | None = None
    """Storage state file for a live replay, because the recorded cookies are redacted."""
    skills: SkillRegistry = field(default_factory=default_skills)
    completion_client: CompletionClient | None = None
    """Model client for skills; by default the recorded responses of the bundle, and no model."""
    reports: tuple[Report, ...] | None = None
    """Reports written next to outcome.json and events.jsonl; None for the standard reports."""
    controller: Controller = field(default_factory=ProceedAlways)
    """Decides before each step whether the run proceeds."""
    gates: GateSet | None = None
    """Limits for the replay; exceeding one ends it."""
    readers: tuple[Callable[[EventLine], None], ...] = ()
    """Readers of the event stream: progress, logs."""
    action_observers: tuple[Callable[[PlannedStep, PerformedAction], None], ...] = ()
    """Called after each action with its result and the snapshots behind its observation."""
    session_inspectors: tuple[Callable[[PlannedStep, Session], Awaitable[None]], ...] = ()
    """Awaited after each action with the session, to inspect what no observation holds; the pages are and stay idle."""
    on_delivery: Callable[[int, Moment], None] | None = None
    """Called with each recorded moment and the moment of its delivery. If set, responses are served on request and the
    replay waits for the pages even where the recorded agent did not. Used by certify."""
    rule_learner: RuleLearner | None = None
    """Learns rules for requests that differ from recorded ones in values that vary, and applies them. Used by certify.
    """
    now: Callable[[], datetime] = utc_now
    """Wall clock for timestamps."""

    def __post_init__(self) -> None:
        """Check every value."""
        checks = OptionChecks(self)
        checks.check_flags("headless")
        checks.convert_paths("browser_path", "artifacts_dir", "har", "responses_from", "storage_state")
        if self.network is not None:
            checks.check_choices(network=NetworkMode)
        checks.check_choices(policy=PolicyName, on_divergence=OnDivergence, then_network=ResumeNetwork)
        checks.check_text_mappings("base_urls", "secrets", "missing_secrets", "variables")
        if self.from_step is not None:
            checks.check_integer("from_step", minimum=1, advice="Steps are numbered from 1.")
        if self.plan_digest is not None:
            checks.check_digest("plan_digest")
        if self.timeout_ms is not None:
            checks.check_duration("timeout_ms", "milliseconds", advice="Omit it to use the recorded timeouts.")
        checks.convert_items("masks", lambda each: isinstance(each, Mask), "masks of type Mask")
        checks.convert_items("front_end", lambda each: isinstance(each, str), "patterns of URLs")
        checks.convert_items("back_end", lambda each: isinstance(each, str), "patterns of URLs")
        checks.convert_items("allow_schemes", _is_scheme, "schemes of URLs, such as 'data'")
        checks.convert_origins("secret_origins")
        self._check_objects(checks)

    def _check_objects(self, checks: OptionChecks) -> None:
        """Check what is called during the replay."""
        checks.check_instance("skills", SkillRegistry, advice="Build one with SkillRegistry.of(…).")
        checks.check_method("controller", "decide", advice="Pass an instance of a Controller.")
        if self.completion_client is not None:
            checks.check_method("completion_client", "complete", advice="Pass a CompletionClient.")
        if self.gates is not None:
            checks.check_method("gates", "monitor", advice="Read a file of gates with read_gates_file(…).")
        if self.reports is not None:
            checks.convert_items("reports", lambda each: callable(getattr(each, "render", None)), "reports")
        for name in ("readers", "action_observers", "session_inspectors"):
            checks.convert_items(name, callable, "functions")
        if self.rule_learner is not None:
            checks.check_method("rule_learner", "learn_request", advice="Pass a RuleLearner.")
        checks.check_callables("now", *(("on_delivery",) if self.on_delivery is not None else ()))
