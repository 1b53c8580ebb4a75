"""Plan a replay before a browser starts: the steps in order, and everything they need."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from eikon_engine.errors import RecordedNetworkMissingError, SecretMissingError, UsageError
from eikon_engine.replay.model_answers import recorded_responses
from eikon_engine.replay.second_part import find_resume_point, require_resumable
from eikon_engine.replay.stand_ins import require_live_start_state, secrets_for, stand_in_warnings
from eikon_engine.trace.execution import ActionTrace, SkillUsage
from eikon_engine.trace.patch import apply_patch, variables_patch
from eikon_engine.trace.redaction import secret_names_in
from eikon_engine.trace.relocated import unused_base_urls
from eikon_engine.trace.secret_text import action_secret_names, missing_secret_message
from eikon_engine.trace.url_map import BaseUrlMap, build_url_map
from eikon_engine.trace.variables import require_values, resolve_trace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eikon_engine.completions import ModelResponse
    from eikon_engine.outcome.outcomes import NetworkMode, SecondPart
    from eikon_engine.replay.options import ReplayOptions
    from eikon_engine.replay.other_answers import NetworkSource
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import ExecutionTrace, SubgoalTrace


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """One action or skill with its position."""

    subgoal: SubgoalTrace
    subgoal_number: int
    """Position of the subgoal in the trace, from 1."""
    position: int
    """Position of the step in the mission, from 1."""
    step: ActionTrace | SkillUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSubgoal:
    """One subgoal attempt with its ordered steps."""

    subgoal: SubgoalTrace
    number: int
    steps: tuple[PlannedStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A mission that is ready to replay."""

    bundle: Bundle
    """The bundle, with the variables of its trace substituted."""
    network: NetworkMode
    subgoals: tuple[PlannedSubgoal, ...]
    other_network: NetworkSource | None = None
    """Serves a sealed replay instead of the bundle's recorded network; opened when the replay starts."""
    urls: BaseUrlMap = field(default_factory=BaseUrlMap)
    """Maps recorded URLs to those of the visited deployment."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Values of secrets: the supplied ones, and stand-ins where the recorded network responds."""
    stand_in_names: tuple[str, ...] = ()
    """Names of the secrets that are typed as stand-ins."""
    responses: tuple[ModelResponse, ...] = ()
    """Recorded model responses for skills; empty if a client is configured."""
    resume_point: SecondPart | None = None
    """Where the replay resumes; None for a plain replay."""

    @property
    def visits_site(self) -> bool:
        """Return whether any part of the replay sends requests to the site."""
        return self.network == "live" or (self.resume_point is not None and self.resume_point.network == "live")

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return warnings about options without effect and redacted values."""
        return (
            *(
                f"--base-url has no effect: {base} does not occur in the recording. Check its scheme, host and port."
                for base in unused_base_urls(self.trace, self.urls)
            ),
            *stand_in_warnings(self.trace, visits_site=self.visits_site),
        )

    @property
    def trace(self) -> ExecutionTrace:
        """Return the trace of the mission."""
        return self.bundle.trace

    @property
    def failed_action_indexes(self) -> tuple[int, ...]:
        """Return the 0-based indexes, among performed actions, of those that failed in the recording."""
        steps = (planned.step for subgoal in self.subgoals for planned in subgoal.steps)
        results = [step.result.kind for step in steps if isinstance(step, ActionTrace)]
        performed = [kind for kind in results if kind != "blocked"]
        return tuple(place for place, kind in enumerate(performed) if kind == "failed")

    @property
    def step_count(self) -> int:
        """Count actions and skills."""
        return sum(len(subgoal.steps) for subgoal in self.subgoals)


def plan_replay(bundle: Bundle, options: ReplayOptions) -> Plan:
    """Order the steps and check that everything they need is available.

    Raises:
        UnknownSkillError: a skill of the trace is not registered.
        VariableMissingError: a variable of the trace has no value.
        SecretMissingError: a secret, or a storage state whose recorded cookies are redacted, is missing.
        RecordedNetworkMissingError: the bundle does not hold what the network mode serves.
        ResponseFolderError: the recorded model responses of the bundle are unreadable or corrupt.
        UsageError: a base URL is invalid; options contradict each other; no action uses a supplied variable; the step
            to resume at does not exist, or cannot be reached from the recording.
    """
    require_resumable(options)
    bundle = _substitute_variables(bundle, options.variables)
    urls = build_url_map(options.base_urls)
    network = _checked_network_mode(bundle, options, urls)
    secrets = secrets_for(bundle.trace, options, "live" if options.then_network == "live" else network)
    _require_headers(bundle.trace, secrets)
    require_live_start_state(bundle, options, network)
    position = 0
    subgoals = []
    for number, subgoal in enumerate(bundle.trace.subgoal_traces, start=1):
        steps = []
        for step in subgoal.steps:
            position += 1
            _require_step(step, options, secrets)
            steps.append(PlannedStep(subgoal=subgoal, subgoal_number=number, position=position, step=step))
        subgoals.append(PlannedSubgoal(subgoal=subgoal, number=number, steps=tuple(steps)))
    return Plan(
        bundle=bundle,
        network=network,
        subgoals=tuple(subgoals),
        urls=urls,
        secrets=secrets,
        stand_in_names=tuple(sorted(secrets.keys() - options.secrets.keys())),
        responses=recorded_responses(bundle, options),
        resume_point=find_resume_point(subgoals, options, bundle.trace),
    )


def _substitute_variables(bundle: Bundle, given: Mapping[str, str]) -> Bundle:
    """Substitute variables, and drop observations recorded with other values."""
    require_values(bundle.trace, given)
    trace = apply_patch(bundle.trace, variables_patch(bundle.trace, given))
    return replace(bundle, trace=resolve_trace(trace))


def choose_network(bundle: Bundle, requested: NetworkMode | None) -> NetworkMode:
    """Return the requested mode; by default sealed if the bundle has a recorded network, else live.

    Raises:
        RecordedNetworkMissingError: the bundle has no recorded network, or no snapshots, to serve.
    """
    if requested is None:
        return "sealed" if bundle.trace.network is not None else "live"
    if requested == "sealed" and bundle.trace.network is None:
        message = (
            f"{bundle.root}: --network sealed expects a recorded network, but the trace has none. Use --network live."
        )
        raise RecordedNetworkMissingError(message)
    if requested == "snapshot" and not _has_snapshots(bundle.trace):
        message = (
            f"{bundle.root}: --network snapshot expects stored DOM snapshots, but the trace has none. "
            "Record the mission again."
        )
        raise RecordedNetworkMissingError(message)
    return requested


def _checked_network_mode(bundle: Bundle, options: ReplayOptions, urls: BaseUrlMap) -> NetworkMode:
    """Choose the network mode, and check that no other option contradicts it."""
    for name, source in (("--har", options.har), ("--responses-from", options.responses_from)):
        if source is None:
            continue
        if name == "--har" and options.responses_from is not None:
            message = "--har and --responses-from both serve the recorded responses. Drop one of them."
            raise UsageError(message)
        if urls or options.network not in {None, "sealed"}:
            found = "--base-url" if urls else f"--network {options.network}"
            message = f"{name} requires a sealed replay, got {found}. Drop one of them."
            raise UsageError(message)
        return "sealed"
    wanted: NetworkMode | None = "sealed" if options.from_step is not None else "live" if urls else None
    network = choose_network(bundle, options.network or wanted)
    if urls and network != "live":
        message = f"--base-url requires --network live, got --network {network}. Drop one of them."
        raise UsageError(message)
    return network


def _has_snapshots(trace: ExecutionTrace) -> bool:
    return any(
        page.snapshot is not None
        for subgoal in trace.subgoal_traces
        for action in subgoal.actions_taken
        if action.observation is not None
        for page in action.observation.pages
    )


def _require_step(step: ActionTrace | SkillUsage, options: ReplayOptions, secrets: Mapping[str, str]) -> None:
    if isinstance(step, SkillUsage):
        options.skills.get(step.skill)
        return
    for name in action_secret_names(step.action):
        if name not in secrets:
            raise SecretMissingError(missing_secret_message(name))


def _require_headers(trace: ExecutionTrace, secrets: Mapping[str, str]) -> None:
    headers = trace.environment.extra_http_headers if trace.environment else {}
    for name in secret_names_in(" ".join(headers.values())):
        if name not in secrets:
            raise SecretMissingError(missing_secret_message(name))
