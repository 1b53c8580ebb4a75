"""Compare two deployments of a site: record a mission on one, measure what varies there, and replay it on the other.

The deployment that is compared with is recorded again, so that neither the age of the bundle nor its baselines matter.
With the network `recorded-api`, only the front ends are compared: the recording is replayed with each of them.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from eikon_engine.certify.certify import accept, certify
from eikon_engine.certify.findings import collect_findings
from eikon_engine.certify.options import MIN_RUNS, CertifyOptions, show_on_terminal
from eikon_engine.certify.runs import ReplayedRun
from eikon_engine.errors import ActionError, CompletionError, SkillError, UsageError
from eikon_engine.files.origins import split_url
from eikon_engine.files.paths import safe_file_name
from eikon_engine.files.temporary import temporary_folder
from eikon_engine.files.wall_clock import utc_now
from eikon_engine.files.writing import write_atomically
from eikon_engine.outcome.comparison import DeploymentComparison
from eikon_engine.record.options import RecordOptions
from eikon_engine.record.rerecord import require_rerecordable, rerecord, with_recorded_environment
from eikon_engine.record.start_state import read_session_storage
from eikon_engine.replay.engine import run_replay
from eikon_engine.replay.option_checks import OptionChecks
from eikon_engine.replay.options import OnDivergence, ReplayOptions
from eikon_engine.replay.reset_command import run_reset_command
from eikon_engine.trace.actions import Navigate
from eikon_engine.trace.base_urls import (
    BaseUrlMap,
    build_url_map,
    map_mask_urls,
    map_session_storage,
    map_storage_state,
    parse_base_url,
    parse_base_url_rules,
    unused_base_urls,
)
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.environment import read_storage_state
from eikon_engine.trace.patch import apply_patch, describe_operation
from eikon_engine.trace.trace_file import TRACE_FILE, read_trace, write_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from eikon_engine.divergence.effects import PolicyName
    from eikon_engine.outcome.certification import CertificationFinding
    from eikon_engine.outcome.comparison import ComparisonStatus
    from eikon_engine.outcome.events import EventLine
    from eikon_engine.outcome.outcomes import ReplayOutcome
    from eikon_engine.replay.engine import Run
    from eikon_engine.replay.options import Report
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import ExecutionTrace
    from eikon_engine.trace.masks import Mask

CompareNetwork: TypeAlias = Literal["live", "recorded-api"]
DEFAULT_RUNS: Final = 3
DEFAULT_ARTIFACTS_DIR: Final = Path("compare_artifacts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """One deployment of the site."""

    urls: Mapping[str, str]
    """Its base URLs by those of the recording; see `parse_deployment`."""
    reset_command: str | None = None
    """Shell command that resets it, run before each mission."""
    storage_state: Path | None = None
    """Storage state file to start with, because the recorded cookies are redacted."""

    @property
    def name(self) -> str:
        """Return its URLs."""
        return ", ".join(self.urls.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """All options of a comparison. A path may be given as text.

    Raises:
        UsageError: a value is not one that its option accepts; the deployments replace different URLs.
    """

    base: Deployment
    """The deployment that is compared with."""
    head: Deployment
    """The deployment that is compared."""
    network: CompareNetwork = "live"
    """`recorded-api`: the front ends are compared, and the bundle responds for the back end."""
    front_end: tuple[str, ...] = ()
    """With `recorded-api`: patterns of URLs that come from the deployments, too."""
    back_end: tuple[str, ...] = ()
    """With `recorded-api`: patterns of URLs that come from the recording; these win."""
    runs: int = DEFAULT_RUNS
    """Number of replays on base that measure what varies."""
    artifacts_dir: Path | None = None
    """Artifacts folder of the replay on head; by default `compare_artifacts/<mission_id>` in the working directory."""
    policy: PolicyName = "strict"
    masks: tuple[Mask, ...] = ()
    """Parts of pages excluded from comparison, in addition to the masks of the trace."""
    on_divergence: OnDivergence = "stop"
    headless: bool = True
    browser_path: Path | None = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    variables: Mapping[str, str] = field(default_factory=dict)
    reports: tuple[Report, ...] = ()
    """Reports of the replay on head, next to outcome.json and events.jsonl."""
    readers: tuple[Callable[[EventLine], None], ...] = ()
    """Readers of the events of the replay on head."""
    progress: Callable[[str], None] = show_on_terminal
    now: Callable[[], datetime] = utc_now

    def __post_init__(self) -> None:
        """Check every value that no other options check."""
        checks = OptionChecks(self)
        checks.check_choices(network=CompareNetwork)
        checks.check_integer("runs", minimum=MIN_RUNS, advice="A single run has nothing to agree with.")
        checks.check_flags("headless")
        checks.convert_paths("artifacts_dir", "browser_path")
        checks.check_callables("progress", "now")
        build_url_map(self.base.urls, "--base")
        build_url_map(self.head.urls, "--head")
        if (self.base.storage_state is None) != (self.head.storage_state is None):
            message = "expected a storage state for both deployments or for none; give --base- and --head-storage-state"
            raise UsageError(message)
        given = [each for each in (self.base, self.head) if each.reset_command or each.storage_state]
        if self.network == "recorded-api" and given:
            message = (
                f"{given[0].name}: recorded-api asks no back end and starts with the recorded state; drop the reset "
                "command and the storage state"
            )
            raise UsageError(message)
        missing = self.base.urls.keys() ^ self.head.urls.keys()
        if missing:
            message = f"expected --base and --head to replace the same URLs; only one of them replaces {min(missing)}"
            raise UsageError(message)


def parse_deployment(
    trace: ExecutionTrace, texts: Iterable[str], option: Literal["--base", "--head"]
) -> dict[str, str]:
    """Parse the URLs of a deployment: `URL` for the site where the mission starts, `OLD=NEW` for others.

    Raises:
        UsageError: a text is neither; a URL with a path stands alone; the mission does not start with a URL.
    """
    rules = []
    for text in texts:
        if re.search(r"=https?://", text):
            rules.append(text)
            continue
        if parse_base_url(text, option).path:
            message = f"{option}: expected a URL without a path, got {text!r}; use OLD=NEW to replace a path"
            raise UsageError(message)
        rules.append(f"{_site_of(trace, option)}={text}")
    return parse_base_url_rules(rules, option)


def _site_of(trace: ExecutionTrace, option: str) -> str:
    """Return the origin of the first URL that the mission opens."""
    actions = (step.action for subgoal in trace.subgoal_traces for step in subgoal.actions_taken)
    first = next((split_url(action.url) for action in actions if isinstance(action, Navigate)), None)
    if first is None or first.scheme not in {"http", "https"}:
        message = f"{option}: the mission starts with no http or https URL; use OLD=NEW to name the one to replace"
        raise UsageError(message)
    return f"{first.scheme}://{first.netloc.rpartition('@')[2]}"


async def compare_deployments(bundle: Bundle, options: CompareOptions) -> DeploymentComparison:
    """Compare two deployments with the mission of a bundle; the bundle is not changed.

    Raises:
        UsageError: a reset command fails; a URL that is replaced does not occur in the mission.
        RequirementError: a skill, secret, variable or browser is missing.
        EikonError: the bundle cannot be read, or a run did not complete.
    """
    urls = build_url_map(options.base.urls, "--base")
    unused = unused_base_urls(bundle.trace, urls)
    if unused:
        message = f"{unused[0]} does not occur in the mission, so neither deployment would be visited; check OLD=NEW"
        raise UsageError(message)
    if options.network == "recorded-api":
        return await _compare_front_ends(bundle, options)
    with temporary_folder("compare") as folder:
        recorded = folder / "base"
        try:
            await _record_base(bundle, recorded, options, urls)
        except (ActionError, SkillError, CompletionError) as error:
            reason = f"the mission already fails on base, so there is nothing to compare head with: {error.message}"
            return DeploymentComparison(
                status="unverifiable",
                mission_id=bundle.trace.mission_id,
                base=options.base.name,
                head=options.head.name,
                runs=0,
                reasons=(reason,),
            )
        noise = await _measure_noise(recorded, options)
        outcome = _outcome(await _replay_head(recorded, options))
        order = [subgoal.id for subgoal in open_bundle(recorded).trace.subgoal_traces]
    return _conclude(options, noise, outcome, order)


async def _record_base(bundle: Bundle, folder: Path, options: CompareOptions, urls: BaseUrlMap) -> None:
    """Record the mission on base, with a clock that is stepped from now on."""
    options.progress(f"recording the mission on base, {options.base.name}")
    chosen = RecordOptions(
        secrets=options.secrets,
        variables=options.variables,
        headless=options.headless,
        browser_path=options.browser_path,
        storage_state=options.base.storage_state,
        now=options.now,
    )
    chosen = _with_mapped_start(with_recorded_environment(bundle, chosen), urls, folder.parent, options.base)
    require_rerecordable(bundle, chosen)  # before the site is reset
    await _reset(options, options.base)
    await rerecord(bundle, folder, replace(chosen, clock="stepped", clock_start=None), urls)
    if options.masks:
        trace = read_trace(folder)
        masks = (*trace.masks, *(map_mask_urls(each, urls) for each in options.masks))
        write_trace(trace.model_copy(update={"masks": masks}), folder / TRACE_FILE)


def _with_mapped_start(chosen: RecordOptions, urls: BaseUrlMap, folder: Path, base: Deployment) -> RecordOptions:
    """Return options with the recorded cookies and storage for the current deployment."""
    if chosen.storage_state is not None and base.storage_state is None:
        state = map_storage_state(read_storage_state(chosen.storage_state), urls)
        chosen = replace(chosen, storage_state=_write_json(folder / "storage_state.json", state))
    if chosen.session_storage is not None:
        stored = {origin: dict(items) for origin, items in read_session_storage(chosen.session_storage).items()}
        moved = map_session_storage(stored, urls)
        chosen = replace(chosen, session_storage=_write_json(folder / "session_storage.json", moved))
    return chosen


def _write_json(path: Path, value: object) -> Path:
    write_atomically(path, json.dumps(value).encode())
    return path


@dataclass(frozen=True, slots=True, kw_only=True)
class _Noise:
    """What varies on base without any change."""

    learned: tuple[str, ...]
    """The rules and masks for it."""
    findings: tuple[CertificationFinding, ...]
    """What neither covers."""


async def _measure_noise(recorded: Path, options: CompareOptions) -> _Noise:
    """Replay the mission on base, and let rules and masks cover what varies there, as far as they can."""
    options.progress("replaying it on base, to learn what varies without a change")
    chosen = CertifyOptions(
        network="live",
        runs=options.runs,
        policy=options.policy,
        reset_command=options.base.reset_command,
        storage_state=options.base.storage_state,
        masks_noise=True,
        secrets=options.secrets,
        headless=options.headless,
        browser_path=options.browser_path,
        progress=options.progress,
        now=options.now,
    )
    bundle = open_bundle(recorded)
    certification = await certify(bundle, chosen)
    if certification.report.certificate is not None:
        await asyncio.to_thread(accept, bundle, certification)
    else:
        write_trace(apply_patch(bundle.trace, certification.tried), recorded / TRACE_FILE)
    return _Noise(
        learned=tuple(describe_operation(each) for each in certification.tried.operations),
        findings=certification.report.findings,
    )


async def _replay_head(recorded: Path, options: CompareOptions) -> Run:
    """Replay the mission of base on head."""
    options.progress(f"replaying it on head, {options.head.name}")
    await _reset(options, options.head)
    bundle = open_bundle(recorded)
    named = safe_file_name(bundle.trace.mission_id, "mission")
    chosen = ReplayOptions(
        network="live",
        base_urls={new: other for new, other in _url_pairs(options) if new != other},
        artifacts_dir=options.artifacts_dir or DEFAULT_ARTIFACTS_DIR / named,
        policy=options.policy,
        on_divergence=options.on_divergence,
        storage_state=options.head.storage_state,
        secrets=options.secrets,
        headless=options.headless,
        browser_path=options.browser_path,
        readers=options.readers,
        now=options.now,
    )
    return await run_replay(bundle, chosen, options.reports)


async def _compare_front_ends(bundle: Bundle, options: CompareOptions) -> DeploymentComparison:
    """Replay the recording with the front end of each deployment; base has to do what was recorded."""
    runs = []
    with temporary_folder("compare") as folder:
        for number in range(options.runs):
            options.progress(f"replaying the recording with the front end of base, {options.base.name}")
            chosen = _front_end_options(options, options.base, folder / str(number))
            runs.append(ReplayedRun(outcome=_outcome(await run_replay(bundle, chosen, ()))))
    options.progress(f"replaying the recording with the front end of head, {options.head.name}")
    named = safe_file_name(bundle.trace.mission_id, "mission")
    chosen = _front_end_options(options, options.head, options.artifacts_dir or DEFAULT_ARTIFACTS_DIR / named)
    head = await run_replay(bundle, replace(chosen, readers=options.readers), options.reports)
    order = [subgoal.id for subgoal in bundle.trace.subgoal_traces]
    return _conclude(options, _Noise(learned=(), findings=collect_findings((), runs)), _outcome(head), order)


def _front_end_options(options: CompareOptions, deployment: Deployment, artifacts: Path) -> ReplayOptions:
    return ReplayOptions(
        network="recorded-api",
        base_urls=deployment.urls,
        front_end=options.front_end,
        back_end=options.back_end,
        artifacts_dir=artifacts,
        policy=options.policy,
        masks=options.masks,
        on_divergence=options.on_divergence,
        variables=options.variables,
        secrets=options.secrets,
        headless=options.headless,
        browser_path=options.browser_path,
        now=options.now,
    )


def _outcome(run: Run) -> ReplayOutcome:
    """Return the outcome of a run that did not fail.

    Raises:
        EikonError: it did.
    """
    if run.error is not None:
        raise run.error
    return run.outcome


def _url_pairs(options: CompareOptions) -> Iterator[tuple[str, str]]:
    """Yield each base URL of base with that of head."""
    return ((new, options.head.urls[old]) for old, new in options.base.urls.items())


async def _reset(options: CompareOptions, deployment: Deployment) -> None:
    await asyncio.to_thread(run_reset_command, deployment.reset_command, options.secrets, options.progress)


def _conclude(
    options: CompareOptions, noise: _Noise, outcome: ReplayOutcome, order: Sequence[str]
) -> DeploymentComparison:
    """Derive the status: a difference that base also shows between its own runs does not count against head.

    `order` has the ids of the subgoal attempts.
    """
    status: ComparisonStatus = "unverifiable"
    reasons = outcome.reasons
    if outcome.verdict == "faithful" and noise.findings and options.network == "recorded-api":
        reasons = (f"base is not as recorded: {_text(noise.findings[0])}; record the mission on base again",)
    elif outcome.verdict == "faithful":
        status = "same"
    elif outcome.verdict == "diverged":
        first = outcome.divergences[0]
        here = order.index(first.subgoal), first.sequence
        earlier = next((each for each in noise.findings if _place(each, order) <= here), None)
        status = "different" if earlier is None else "unverifiable"
        if earlier is not None:
            reasons = (f"base already varies at or before this step: {_text(earlier)}", *reasons)
    return DeploymentComparison(
        status=status,
        mission_id=outcome.mission_id,
        base=options.base.name,
        head=options.head.name,
        runs=options.runs,
        learned=noise.learned,
        noise=noise.findings,
        reasons=reasons,
        outcome=outcome,
    )


def _text(finding: CertificationFinding) -> str:
    return f"{finding.step}: {finding.message}"


def _place(finding: CertificationFinding, order: Sequence[str]) -> tuple[int, int]:
    """Return the place of a finding in the mission; one about the whole run precedes every step."""
    return (order.index(finding.subgoal), finding.sequence) if finding.subgoal else (-1, 0)
