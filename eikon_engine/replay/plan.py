"""What will be replayed, in which order, with what: decided before a browser starts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from eikon_engine.errors import NetworkPartMissingError, SecretMissingError, UsageError
from eikon_engine.replay.model_answers import bundle_responses
from eikon_engine.replay.second_part import require_lead, second_part
from eikon_engine.replay.stand_ins import redacted_actions, require_start, secrets_for
from eikon_engine.trace.execution import ActionTrace, SkillUsage
from eikon_engine.trace.patch import apply_patch, variables_patch
from eikon_engine.trace.redaction import secrets_named_in
from eikon_engine.trace.relocated import unused_rules
from eikon_engine.trace.secret_text import missing_secret, secret_names
from eikon_engine.trace.url_map import UrlMap, url_map
from eikon_engine.trace.variables import demand_values, resolved_trace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eikon_engine.completions import ModelResponse
    from eikon_engine.outcome.outcomes import NetworkMode, SecondPart
    from eikon_engine.replay.options import ReplayOptions
    from eikon_engine.replay.other_answers import OtherSource
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import ExecutionTrace, SubgoalTrace


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """One action or skill, in its place."""

    subgoal: SubgoalTrace
    number: int
    """Position of the subgoal in the trace, from 1."""
    position: int
    """Position of the step in the mission, from 1."""
    step: ActionTrace | SkillUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSubgoal:
    """One subgoal attempt with its steps in order."""

    subgoal: SubgoalTrace
    number: int
    steps: tuple[PlannedStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A mission ready to be replayed."""

    bundle: Bundle
    """With values in the place of the variables of its trace."""
    network: NetworkMode
    subgoals: tuple[PlannedSubgoal, ...]
    other: OtherSource | None = None
    """What answers a sealed replay instead of the bundle's network part; opened when the replay begins."""
    urls: UrlMap = field(default_factory=UrlMap)
    """From the addresses of the recording to those of the deployment that is visited."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Values of secrets: those that were given, and stand-ins where the recorded network answers."""
    stood_in: tuple[str, ...] = ()
    """Names of the secrets that stand-ins are typed for."""
    responses: tuple[ModelResponse, ...] = ()
    """What models answered the skills of the mission, where nothing else answers them."""

    second_part: SecondPart | None = None
    """Where the replay goes on after what leads there; None where it has but one part."""

    @property
    def visits_site(self) -> bool:
        """Say whether a site is asked for anything."""
        return self.network == "live" or (self.second_part is not None and self.second_part.network == "live")

    @property
    def warnings(self) -> tuple[str, ...]:
        """Say what was asked for in vain."""
        return (
            *(
                f"--base-url: {base} stands nowhere in the recording, so nothing is mapped; "
                "check its scheme, host and port"
                for base in unused_rules(self.trace, self.urls)
            ),
            *redacted_actions(self.trace, visits_site=self.visits_site),
        )

    @property
    def trace(self) -> ExecutionTrace:
        """Return the trace of the mission."""
        return self.bundle.trace

    @property
    def failures(self) -> tuple[int, ...]:
        """Return the places of the actions that failed in the recording, among all that were performed, from 0."""
        steps = (planned.step for subgoal in self.subgoals for planned in subgoal.steps)
        results = [step.result.kind for step in steps if isinstance(step, ActionTrace)]
        performed = [kind for kind in results if kind != "blocked"]
        return tuple(place for place, kind in enumerate(performed) if kind == "failed")

    @property
    def step_count(self) -> int:
        """Count actions and skills."""
        return sum(len(subgoal.steps) for subgoal in self.subgoals)


def plan_replay(bundle: Bundle, options: ReplayOptions) -> Plan:
    """Put the steps in order, and make sure that everything they ask for is here.

    Raises:
        UnknownSkillError: a skill of the trace is in no registry.
        VariableMissingError: a variable of the trace has no value.
        SecretMissingError: a secret of the trace was not given, or a storage state whose cookies were redacted.
        NetworkPartMissingError: the bundle lacks what the network mode plays back.
        ResponsesError: what models answered the skills of the bundle cannot be read, or trusted.
        UsageError: a base URL is none; the network mode visits no deployment, or has no use for a HAR; no action uses
            a variable that is given; there is no step to go on from, or nothing recorded leads there.
    """
    require_lead(options)
    bundle = _with_variables(bundle, options.variables)
    urls = url_map(options.base_urls)
    network = _network(bundle, options, urls)
    secrets = secrets_for(bundle.trace, options, "live" if options.then == "live" else network)
    _require_headers(bundle.trace, secrets)
    require_start(bundle, options, network)
    position = 0
    subgoals = []
    for number, subgoal in enumerate(bundle.trace.subgoal_traces, start=1):
        steps = []
        for step in subgoal.steps:
            position += 1
            _require(step, options, secrets)
            steps.append(PlannedStep(subgoal=subgoal, number=number, position=position, step=step))
        subgoals.append(PlannedSubgoal(subgoal=subgoal, number=number, steps=tuple(steps)))
    return Plan(
        bundle=bundle,
        network=network,
        subgoals=tuple(subgoals),
        urls=urls,
        secrets=secrets,
        stood_in=tuple(sorted(secrets.keys() - options.secrets.keys())),
        responses=bundle_responses(bundle, options),
        second_part=second_part(subgoals, options, bundle.trace),
    )


def _with_variables(bundle: Bundle, given: Mapping[str, str]) -> Bundle:
    """Put values in the place of variables, and drop what was recorded with other ones."""
    demand_values(bundle.trace, given)
    trace = apply_patch(bundle.trace, variables_patch(bundle.trace, given))
    return replace(bundle, trace=resolved_trace(trace))


def choose_network(bundle: Bundle, wanted: NetworkMode | None) -> NetworkMode:
    """Choose sealed where the bundle has a network part, and live where it has none, unless told.

    Raises:
        NetworkPartMissingError: the bundle has no recorded network, or no snapshots, to play back.
    """
    if wanted is None:
        return "sealed" if bundle.trace.network is not None else "live"
    if wanted == "sealed" and bundle.trace.network is None:
        message = f"{bundle.root}: --network sealed wants a recorded network, the trace has none; use --network live"
        raise NetworkPartMissingError(message)
    if wanted == "snapshot" and not _has_snapshots(bundle.trace):
        message = f"{bundle.root}: --network snapshot wants stored DOM snapshots, the trace has none"
        raise NetworkPartMissingError(message)
    return wanted


def _network(bundle: Bundle, options: ReplayOptions, urls: UrlMap) -> NetworkMode:
    """Choose the network mode, where an option leaves no choice, and check that it goes with the others."""
    for name, source in (("--har", options.har), ("--answers", options.answers)):
        if source is None:
            continue
        if name == "--har" and options.answers is not None:
            message = "--har and --answers both answer a replay; drop one of the two"
            raise UsageError(message)
        if urls or options.network not in {None, "sealed"}:
            found = "--base-url" if urls else f"--network {options.network}"
            message = f"{name} answers a sealed replay, found {found}; drop one of the two"
            raise UsageError(message)
        return "sealed"
    wanted: NetworkMode | None = "sealed" if options.from_step is not None else "live" if urls else None
    network = choose_network(bundle, options.network or wanted)
    if urls and network != "live":
        message = f"--base-url wants --network live, found --network {network}, which visits no deployment; drop one"
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


def _require(step: ActionTrace | SkillUsage, options: ReplayOptions, secrets: Mapping[str, str]) -> None:
    if isinstance(step, SkillUsage):
        options.skills.named(step.skill)
        return
    for name in secret_names(step.action):
        if name not in secrets:
            raise SecretMissingError(missing_secret(name))


def _require_headers(trace: ExecutionTrace, secrets: Mapping[str, str]) -> None:
    headers = trace.environment.extra_http_headers if trace.environment else {}
    for name in secrets_named_in(" ".join(headers.values())):
        if name not in secrets:
            raise SecretMissingError(missing_secret(name))
