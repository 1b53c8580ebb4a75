"""How a trace is replayed."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from eikon_engine.replay.control import Controller, GoOn
from eikon_engine.skills import SkillRegistry, default_skills
from eikon_engine.trace.wall_clock import utc_now

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from datetime import datetime

    from eikon_engine.browser.session import Session
    from eikon_engine.browser.worker import Performed
    from eikon_engine.completions import CompletionClient
    from eikon_engine.divergence.effects import PolicyName
    from eikon_engine.gates import Gates
    from eikon_engine.network.moment import Moment
    from eikon_engine.outcome.events import JournalLine
    from eikon_engine.outcome.outcomes import NetworkMode, ReplayOutcome, Then
    from eikon_engine.replay.plan import PlannedStep
    from eikon_engine.trace.mask import Mask

OnDivergence: TypeAlias = Literal["stop", "continue"]

DEFAULT_ARTIFACTS = Path("replay_artifacts")


class Report(Protocol):
    """Render an outcome as one file."""

    @property
    def file_name(self) -> str:
        """Return the name of the file in the artifacts folder."""

    def render(self, outcome: ReplayOutcome) -> str:
        """Return the text of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """Everything that can be chosen about a replay."""

    headless: bool = True
    browser_path: Path | None = None
    artifacts_dir: Path | None = None
    """Where the artifacts go; `replay_artifacts/<mission_id>` below the current folder if left out."""
    network: NetworkMode | None = None
    """None chooses sealed where the bundle has a network part, and live where it has none."""
    har: Path | None = None
    """HAR file that answers a sealed replay, instead of the network part of the bundle."""
    answers: Path | None = None
    """Another bundle of the mission that answers a sealed replay; its answers are compared with the recorded ones."""
    base_urls: Mapping[str, str] = field(default_factory=dict)
    """Base URL of today by recorded base URL: the mission is replayed against another deployment."""
    policy: PolicyName = "strict"
    """Under `effects`, changes of the DOM that touch nothing of the mission are findings, and no divergences."""
    masks: tuple[Mask, ...] = ()
    """What is left out of the comparison beside the masks of the trace."""
    on_divergence: OnDivergence = "stop"
    from_step: int | None = None
    """Number of the step, from 1, at which the second part begins; what is before it is replayed from the recording,
    and must not diverge."""
    then: Then = "sealed"
    """What answers the second part."""
    plan_digest: str | None = None
    """Digest of the plan that was begun; a replay of another one is refused."""
    timeout_ms: float | None = None
    """Overrides the recorded deadline of every action, in page time."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    variables: Mapping[str, str] = field(default_factory=dict)
    """Values of variables of the trace, by name; where one is left out, its recorded value is taken."""
    storage_state: Path | None = None
    """What a live replay begins with instead of the recorded storage state, whose cookies are redacted."""
    skills: SkillRegistry = field(default_factory=default_skills)
    ask: CompletionClient | None = None
    """What answers skills that ask a model; without it the recorded responses of the bundle, and no model."""
    reports: tuple[Report, ...] | None = None
    """What is written beside outcome.json and events.jsonl; None for the standard reports."""
    controller: Controller = field(default_factory=GoOn)
    """Asked before each step whether the run goes on."""
    gates: Gates | None = None
    """Limits that the replay has to keep to; one that it goes beyond ends it."""
    readers: tuple[Callable[[JournalLine], None], ...] = ()
    """Readers of the stream of events: progress, logs."""
    watchers: tuple[Callable[[PlannedStep, Performed], None], ...] = ()
    """Given each action as it was performed, with the snapshots behind its observation."""
    lookers: tuple[Callable[[PlannedStep, Session], Awaitable[None]], ...] = ()
    """Given the session after each action, to look at what no observation holds; the pages are at rest, and stay so."""
    given: Callable[[int, Moment], None] | None = None
    """Told which recorded moment was given when; then answers come as they are asked for, and actions that an agent did
    not wait for are waited for. For certifying."""
    now: Callable[[], datetime] = utc_now
    """The clock of stamps."""
