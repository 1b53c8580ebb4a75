"""Plan a replay before a browser starts: the ordered steps, everything they need, and where to resume.

What few replays need is imported when it is used.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import RequirementError, TraceError, UsageError
from eikon_engine.files.limits import read_document
from eikon_engine.files.paths import resolve_inside
from eikon_engine.network.exchange import SAFE_METHODS
from eikon_engine.network.rules import SOCKET_METHOD, find_telemetry_rule, has_telemetry_rule
from eikon_engine.network.store import read_network
from eikon_engine.outcome.outcomes import SERVED_MODES, ResumePoint
from eikon_engine.replay.model_responses import recorded_responses
from eikon_engine.replay.permissions import (
    Permissions,
    find_permissions,
    require_allowed_schemes,
    without_granted_permissions,
)
from eikon_engine.secrets.detection import MIN_SECRET_LENGTH
from eikon_engine.secrets.redaction import secret_names_in
from eikon_engine.trace.accepted import AcceptedBaselines, read_accepted, with_accepted
from eikon_engine.trace.actions import Note
from eikon_engine.trace.base_urls import BaseUrlMap, build_url_map, unused_base_urls
from eikon_engine.trace.execution import ActionTrace, Blocked, SkillUsage
from eikon_engine.trace.variables import action_secret_names, require_secrets, require_values, resolve_trace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.llm import ModelResponse
    from eikon_engine.network.front_end import FrontEndSource
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.outcome.outcomes import NetworkMode
    from eikon_engine.replay.context import NetworkSource
    from eikon_engine.replay.options import ReplayOptions
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import ExecutionTrace, SubgoalTrace
    from eikon_engine.trace.observation import Observation, PageObservation, StoredItem


def plan_digest(plan: Plan) -> str:
    """Return the SHA-256, in hex, of a plan; see `mission_digest`."""
    return mission_digest(plan.trace, plan.subgoals)


def mission_digest(trace: ExecutionTrace, subgoals: Sequence[PlannedSubgoal]) -> str:
    """Return the SHA-256, in hex, of what is planned of a mission: its ordered steps, start state and environment.

    Secrets count by name, variables by value. Recorded effects, descriptions, masks and rules do not count. The
    digested text is JSON with sorted keys and no spaces.
    """
    environment = None if trace.environment is None else trace.environment.model_dump(mode="json")
    content: JsonValue = {
        "plan": 1,
        "mission": trace.mission_id,
        "start": trace.start.model_dump(mode="json"),
        "environment": environment,
        "steps": [_digested_step(planned) for subgoal in subgoals for planned in subgoal.steps],
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _digested_step(planned: PlannedStep) -> JsonValue:
    step = planned.step
    place: dict[str, JsonValue] = {"attempt": planned.subgoal.id, "sequence": step.sequence}
    if isinstance(step, ActionTrace):
        is_done = not isinstance(step.result, Blocked)
        return {**place, "action": step.action.model_dump(mode="json"), "done": is_done}
    source = None if step.source is None else step.source.model_dump(mode="json")
    return {**place, "skill": step.skill, "version": step.version, "parameters": step.parameters, "source": source}


SHOWN_DIGEST_DIGITS: Final = 12
"""Hex digits of a digest shown in messages."""


def require_resumable(options: ReplayOptions) -> None:
    """Check that the steps before the one to resume at can be served from the recording.

    Raises:
        UsageError: another option contradicts this, or `--then live` lacks `--from`.
    """
    if options.from_step is None:
        if options.then_network != "sealed":
            message = "--then live requires --from N. Add it, or use --network live for the whole mission."
            raise UsageError(message)
        return
    if options.network not in {None, "sealed"} or options.base_urls:
        found = "--base-url" if options.base_urls else f"--network {options.network}"
        message = f"--from replays the earlier steps from the recording, got {found}. Drop one, or add --then live."
        raise UsageError(message)
    other = "--har" if options.har is not None else "--responses-from" if options.responses_from is not None else None
    if options.then_network == "live" and other is not None:
        message = f"--then live sends requests to the site, but {other} serves them. Drop one of them."
        raise UsageError(message)


def find_resume_point(
    subgoals: Sequence[PlannedSubgoal], options: ReplayOptions, trace: ExecutionTrace
) -> ResumePoint | None:
    """Return where a replay resumes; None without `--from`.

    Raises:
        UsageError: the step does not exist.
    """
    if options.from_step is None:
        return None
    steps = [planned for subgoal in subgoals for planned in subgoal.steps]
    if not 1 <= options.from_step <= len(steps):
        message = f"--from: expected a step number from 1 to {len(steps)}, got {options.from_step}"
        raise UsageError(message)
    found = steps[options.from_step - 1]
    place = ResumePoint(
        step=found.position, subgoal=found.subgoal.id, sequence=found.step.sequence, network=options.then_network
    )
    return (
        place if options.then_network == "sealed" else _with_recorded_state(place, steps[: found.position - 1], trace)
    )


def resume_notes(resumed: ResumePoint) -> Iterator[str]:
    """Yield notes about the resumed part before its first request: what the live site has not received."""
    is_live = resumed.network == "live"
    how = "all requests are sent to the site" if is_live else "still served from the recording"
    yield f"resumed at step {resumed.step}: {how}"
    if not is_live or resumed.step == 1:
        return
    yield from (f"the site did not receive {key}" for key in resumed.unseen)
    yield from (
        f"the site did not receive the requests of step {number}, which are unknown" for number in resumed.unknown
    )
    yield from (f"carried over from the recording: {each}" for each in resumed.carried)
    if not resumed.carried and not resumed.unknown:
        yield "carried over from the recording: no cookies, no storage"


def _with_recorded_state(place: ResumePoint, lead: Sequence[PlannedStep], trace: ExecutionTrace) -> ResumePoint:
    """Add the recorded writes and storage of the earlier steps, which the live site did not see."""
    performed = [(each.position, each.step) for each in lead if isinstance(each.step, ActionTrace)]
    seen = [action.observation for _, action in performed if action.observation is not None]
    unknown = tuple(
        number
        for number, action in performed
        if action.observation is None and not isinstance(action.result, Blocked) and not isinstance(action.action, Note)
    )
    stored = next((each.storage for each in reversed(seen) if each.storage is not None), None)
    replaced = {each.name for each in trace.redaction.found}
    carried = (
        () if stored is None else tuple(_stored_item_label(item, is_real=item.name not in replaced) for item in stored)
    )
    writes = tuple(key for each in seen for key in _unsafe_requests(each))
    return place.model_copy(update={"unseen": writes, "unknown": unknown, "carried": carried})


def _unsafe_requests(observation: Observation) -> tuple[str, ...]:
    """Return the keys of requests with unsafe methods; older recordings list them among all others."""
    if observation.writes is not None:
        return observation.writes
    return tuple(key for key in observation.requests if key.partition(" ")[0] not in {*SAFE_METHODS, SOCKET_METHOD})


def _stored_item_label(item: StoredItem, *, is_real: bool) -> str:
    what = {"cookie": "cookie", "local": "localStorage", "session": "sessionStorage"}[item.kind]
    stand_in = "" if is_real else ", a stand-in for a secret, which the site does not accept"
    return f"{what} {item.name} of {item.place}{stand_in}"


def require_same_plan(plan: Plan, options: ReplayOptions, earlier: Path) -> tuple[str, ...]:
    """Check that a resumed run uses the plan of the earlier run; return warnings about what could not be checked.

    The expected plan is the one of `--plan-digest`, else that of the outcome file `earlier`, if it exists.

    Raises:
        UsageError: the plan has changed.
        TraceError: the outcome of the earlier run cannot be read.
    """
    now = plan_digest(plan)
    if options.plan_digest is not None:
        if options.plan_digest.lower() != now:
            raise UsageError(_plan_changed_message("--plan-digest", options.plan_digest, now), code="plan-changed")
        return ()
    if plan.resume_point is None or not earlier.is_file():
        return ()
    from eikon_engine.gates.event_sources import read_outcome  # noqa: PLC0415 - only resumed runs load the gates

    outcome = read_outcome(earlier)
    if outcome.mission_id != plan.trace.mission_id:
        return ()
    if outcome.plan_digest is None:
        return (f"{earlier} holds no plan digest, so changes of the mission since that run go unnoticed",)
    if outcome.plan_digest != now:
        raise UsageError(_plan_changed_message(str(earlier), outcome.plan_digest, now), code="plan-changed")
    return ()


def _plan_changed_message(where: str, begun: str, now: str) -> str:
    return (
        f"the plan has changed: expected {begun[:SHOWN_DIGEST_DIGITS]} ({where}), got {now[:SHOWN_DIGEST_DIGITS]}. "
        f"Replay from the first step, or add --plan-digest {now} to accept the new plan."
    )


def secrets_for(trace: ExecutionTrace, options: ReplayOptions, network: NetworkMode) -> Mapping[str, str]:
    """Return the values of secrets: the supplied ones, and stand-ins where no live site sees them."""
    if network == "live":
        return options.secrets
    return {**{each.name: each.stand_in for each in trace.redaction.typed}, **options.secrets}


def require_live_start_state(bundle: Bundle, options: ReplayOptions, network: NetworkMode) -> None:
    """Check that the start state of the session works on a live site.

    Raises:
        RequirementError: the start state is redacted, and no replacement was supplied.
        UsageError: a storage state was supplied to a replay that is not live.
    """
    if network != "live":
        if options.storage_state is not None:
            message = f"--storage-state requires --network live, got --network {network}. Drop one of them."
            raise UsageError(message)
        return
    missing = tuple(_redacted_start_parts(bundle, is_given=options.storage_state is not None))
    if missing:
        message = f"{bundle.name}: the recorded start state is redacted: {'; '.join(missing)}"
        raise RequirementError(message, code="secret-missing")


def stand_in_warnings(trace: ExecutionTrace, *, visits_site: bool) -> Iterator[str]:
    """Yield a warning for each action that sends a stand-in to a live site."""
    if not visits_site:
        return
    known = [each for each in trace.redaction.found if len(each.stand_in) >= MIN_SECRET_LENGTH]
    for subgoal in trace.subgoal_traces:
        for action in subgoal.actions_taken:
            text = action.action.model_dump_json()
            names = sorted({each.name for each in known if each.stand_in in text})
            if names:
                listed = ", ".join(names)
                yield f"{action.id} sends stand-ins for {listed} to the site. Name the values in RecordOptions.secrets."


def stand_ins_as_cause(replaced: tuple[str, ...]) -> str | None:
    """Describe the stand-ins that may explain the first divergence; None if every value was supplied."""
    if not replaced:
        return None
    names = ", ".join(replaced)
    return f"stand-ins were typed for secrets ({names}); pages that compute with the values differ. Use --secret."


def _redacted_start_parts(bundle: Bundle, *, is_given: bool) -> Iterator[str]:
    trace = bundle.trace
    stand_ins = tuple(each.stand_in for each in trace.redaction.found if len(each.stand_in) >= MIN_SECRET_LENGTH)
    for name, relative in (
        ("storage state", trace.start.storage_state),
        ("session storage", trace.start.session_storage),
    ):
        if relative is None or (is_given and name == "storage state"):
            continue
        text = read_document(
            resolve_inside(bundle.root, relative, f"start.{name.replace(' ', '_')}"), root=bundle.root
        ).decode("utf-8")
        if any(each in text for each in stand_ins):
            advice = (
                "supply one with --storage-state FILE" if name == "storage state" else "replay sealed, or record again"
            )
            yield f"{name} ({advice})"
    headers = trace.environment.extra_http_headers if trace.environment else {}
    for header, value in headers.items():
        if any(each in value for each in stand_ins):
            yield f"header {header} (name the value in RecordOptions.secrets and record again)"


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
    resume_point: ResumePoint | None = None
    """Where the replay resumes; None for a plain replay."""
    front_end: FrontEndSource | None = None
    """Where the front end comes from, while the recording responds to everything else; None for any other replay."""
    permissions: Permissions = field(default_factory=Permissions)
    """What a live replay may reach, and where it may type secrets."""
    accepted: str = ""
    """Describes the accepted baselines that a live replay compares with; empty if there are none."""

    @property
    def visits_site(self) -> bool:
        """Return whether any part of the replay sends requests to the site."""
        return self.network == "live" or (self.resume_point is not None and self.resume_point.network == "live")

    @property
    def has_sink(self) -> bool:
        """Return whether requests that may not reach the network are caught and listed; not if all may reach it."""
        return self.network != "live" or self.permissions.origins is not None

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

    def recorded_network(self) -> NetworkRecording | None:
        """Read the recorded network; None if the bundle has none."""
        network = self.trace.network
        if network is None:
            return None
        return read_network(resolve_inside(self.bundle.root, network.folder, "network.folder"))

    def page_before(self, planned: PlannedStep, page: int) -> PageObservation | None:
        """Return the last recorded observation of a page before a step; None if there is none."""
        last: Observation | None = None
        for each in (step for subgoal in self.subgoals for step in subgoal.steps):
            if each.position >= planned.position:
                break
            last = (each.step.observation if isinstance(each.step, ActionTrace) else None) or last
        return next((seen for seen in last.pages if seen.page == page), None) if last is not None else None

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
        RequirementError: a skill of the trace is not registered; a variable of the trace has no value; a secret, or a
            storage state whose recorded cookies are redacted, is missing; the bundle does not hold what the network
            mode serves; the trace does what was not allowed, see `permissions`.
        ResponseFolderError: the recorded model responses of the bundle are unreadable or corrupt.
        UsageError: a base URL is invalid; options contradict each other; no action uses a supplied variable; the step
            to resume at does not exist, or cannot be reached from the recording.
    """
    require_resumable(options)
    urls = build_url_map(options.base_urls)
    network = _checked_network_mode(bundle, options, urls)
    accepted = read_accepted(bundle.root) if network == "live" else AcceptedBaselines()
    bundle = replace(bundle, trace=with_accepted(bundle.trace, accepted))
    bundle = substitute_variables(bundle, options.variables)
    resume_point = find_resume_point(order_steps(bundle.trace), options, bundle.trace)
    bundle = replace(bundle, trace=_without_telemetry(bundle.trace))
    secrets = secrets_for(bundle.trace, options, "live" if options.then_network == "live" else network)
    front_end = None
    if network == "recorded-api":
        from eikon_engine.replay.front_end import find_front_end, without_front_end  # noqa: PLC0415 - see above

        front_end = find_front_end(bundle, urls, options)
        bundle = replace(bundle, trace=without_front_end(bundle, front_end))
        urls = BaseUrlMap()  # the pages keep the recorded URLs
    require_allowed_schemes(bundle.trace, options.allow_schemes)
    _require_headers(bundle.trace, options, secrets)
    require_live_start_state(bundle, options, network)
    subgoals = order_steps(bundle.trace)
    is_older = bundle.trace.migrated_from is not None
    for planned in subgoals:
        for each in planned.steps:
            _require_step(each.step, options, secrets if network != "snapshot" else None, is_older=is_older)
    permissions = Permissions()
    if network == "live" or options.then_network == "live":
        is_implied = network == "live" and options.network is None and not urls
        permissions = find_permissions(bundle, options, urls, is_implied=is_implied)
        if is_implied:
            bundle = replace(bundle, trace=without_granted_permissions(bundle.trace))
    return Plan(
        bundle=bundle,
        network=network,
        subgoals=subgoals,
        urls=urls,
        secrets=secrets,
        stand_in_names=tuple(sorted(secrets.keys() - options.secrets.keys())),
        responses=recorded_responses(bundle, options),
        resume_point=resume_point,
        permissions=permissions,
        accepted=str(accepted),
        front_end=front_end,
    )


def _without_telemetry(trace: ExecutionTrace) -> ExecutionTrace:
    """Remove the requests that rules do not compare from what was observed."""
    rules = () if trace.network is None else trace.network.rules
    if not has_telemetry_rule(rules):
        return trace

    def is_compared(key: str) -> bool:
        return find_telemetry_rule(key, rules) is None

    def step(recorded: ActionTrace) -> ActionTrace:
        seen = recorded.observation
        if seen is None:
            return recorded
        compared = {
            "requests": tuple(filter(is_compared, seen.requests)),
            "timer_requests": tuple(filter(is_compared, seen.timer_requests)),
            "writes": None if seen.writes is None else tuple(filter(is_compared, seen.writes)),
        }
        return recorded.model_copy(update={"observation": seen.model_copy(update=compared)})

    subgoals = [
        each.model_copy(update={"actions_taken": tuple(map(step, each.actions_taken))}) for each in trace.subgoal_traces
    ]
    return trace.model_copy(update={"subgoal_traces": tuple(subgoals)})


def order_steps(trace: ExecutionTrace) -> tuple[PlannedSubgoal, ...]:
    """Return the steps of a mission in order, numbered."""
    position = 0
    subgoals = []
    for number, subgoal in enumerate(trace.subgoal_traces, start=1):
        steps = []
        for step in subgoal.steps:
            position += 1
            steps.append(PlannedStep(subgoal=subgoal, subgoal_number=number, position=position, step=step))
        subgoals.append(PlannedSubgoal(subgoal=subgoal, number=number, steps=tuple(steps)))
    return tuple(subgoals)


def substitute_variables(bundle: Bundle, given: Mapping[str, str]) -> Bundle:
    """Substitute variables, and drop observations recorded with other values."""
    require_values(bundle.trace, given)
    trace = bundle.trace
    if given:
        from eikon_engine.trace.patch import apply_patch, variables_patch  # noqa: PLC0415 - see above

        trace = apply_patch(trace, variables_patch(trace, given))
    return replace(bundle, trace=resolve_trace(trace))


def choose_network(bundle: Bundle, requested: NetworkMode | None) -> NetworkMode:
    """Return the requested mode; by default sealed if the bundle has a recorded network, else live.

    Raises:
        RequirementError: the bundle has no recorded network, or no snapshots, to serve.
    """
    if requested is None:
        return "sealed" if bundle.trace.network is not None else "live"
    if requested in SERVED_MODES and bundle.trace.network is None:
        mode = f"--network {requested}"
        message = f"{bundle.name}: {mode} expects a recorded network, but the trace has none. Use --network live."
        raise RequirementError(message, code="network-part-missing")
    if requested == "snapshot" and not _has_snapshots(bundle.trace):
        message = (
            f"{bundle.name}: --network snapshot expects stored DOM snapshots, but the trace has none. "
            "Record the mission again."
        )
        raise RequirementError(message, code="network-part-missing")
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
        if not source.exists():
            raise TraceError(f"{source}: expected the file that {name} names, got no such path", code="trace-missing")
        return "sealed"
    expected: NetworkMode | None = "sealed" if options.from_step is not None else "live" if urls else None
    network = choose_network(bundle, options.network or expected)
    if urls and network not in {"live", "recorded-api"}:
        message = f"--base-url requires --network live or recorded-api, got --network {network}. Drop one of them."
        raise UsageError(message)
    return network


def _has_snapshots(trace: ExecutionTrace) -> bool:
    actions = [action for subgoal in trace.subgoal_traces for action in subgoal.actions_taken]
    return any(action.stored_page is not None for action in actions) or any(
        page.snapshot is not None
        for action in actions
        if action.observation is not None
        for page in action.observation.pages
    )


def _require_step(
    step: ActionTrace | SkillUsage, options: ReplayOptions, secrets: Mapping[str, str] | None, *, is_older: bool
) -> None:
    """Check that a step has what it needs; without `secrets`, nothing is typed.

    A skill of an older format that this version does not have makes its step unverifiable.
    """
    if isinstance(step, SkillUsage):
        if options.skills.has(step.skill) or not is_older:
            options.skills.get(step.skill)
    elif secrets is not None:
        require_secrets(action_secret_names(step.action), secrets, options.missing_secrets)


def _require_headers(trace: ExecutionTrace, options: ReplayOptions, secrets: Mapping[str, str]) -> None:
    headers = trace.environment.extra_http_headers if trace.environment else {}
    require_secrets(secret_names_in(" ".join(headers.values())), secrets, options.missing_secrets)
