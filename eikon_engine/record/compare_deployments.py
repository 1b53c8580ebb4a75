"""Compare two deployments of a site: record a mission on one, measure what varies there, and replay it on the other.

The deployment that is compared with is recorded again, so that neither the age of the bundle nor its baselines matter.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit

from eikon_engine.certify.certify import accept, certify
from eikon_engine.certify.options import MIN_RUNS, CertifyOptions, show_on_terminal
from eikon_engine.errors import ActionError, CompletionError, SkillError, UsageError
from eikon_engine.files.paths import safe_file_name
from eikon_engine.files.wall_clock import utc_now
from eikon_engine.outcome.comparison import DeploymentComparison
from eikon_engine.record.options import RecordOptions
from eikon_engine.record.rerecord import rerecord, with_recorded_environment
from eikon_engine.record.start_state import read_session_storage
from eikon_engine.replay.engine import run_replay
from eikon_engine.replay.option_checks import OptionChecks
from eikon_engine.replay.options import OnDivergence, ReplayOptions
from eikon_engine.replay.reset_command import run_reset_command
from eikon_engine.trace.actions import Navigate
from eikon_engine.trace.base_urls import (
    BaseUrlMap,
    build_url_map,
    map_session_storage,
    map_storage_state,
    parse_base_url,
    parse_base_url_rules,
)
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.environment import read_storage_state
from eikon_engine.trace.patch import describe_operation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import datetime

    from eikon_engine.divergence.effects import PolicyName
    from eikon_engine.outcome.certification import CertificationFinding, CertificationReport
    from eikon_engine.outcome.comparison import ComparisonStatus
    from eikon_engine.outcome.events import EventLine
    from eikon_engine.outcome.outcomes import ReplayOutcome
    from eikon_engine.replay.engine import Run
    from eikon_engine.replay.options import Report
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import ExecutionTrace
    from eikon_engine.trace.masks import Mask

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
    runs: int = DEFAULT_RUNS
    """Number of replays on base that measure what varies."""
    artifacts_dir: Path | None = None
    """Artifacts folder of the replay on head; by default `compare_artifacts/<mission_id>` in the working directory."""
    policy: PolicyName = "strict"
    masks: tuple[Mask, ...] = ()
    """Parts of pages excluded from comparison, in addition to the masks of the trace."""
    on_divergence: OnDivergence = "stop"
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
        checks.check_integer("runs", minimum=MIN_RUNS, advice="A single run has nothing to agree with.")
        checks.convert_paths("artifacts_dir", "browser_path")
        checks.check_callables("progress", "now")
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
    rules: dict[str, str] = {}
    for text in texts:
        if "=http" in text:
            rules |= parse_base_url_rules([text])
            continue
        if parse_base_url(text, option).path:
            message = f"{option}: expected a URL without a path, got {text!r}; use OLD=NEW to replace a path"
            raise UsageError(message)
        rules[_site_of(trace, option)] = text
    return rules


def _site_of(trace: ExecutionTrace, option: str) -> str:
    """Return the origin of the first URL that the mission opens."""
    actions = (step.action for subgoal in trace.subgoal_traces for step in subgoal.actions_taken)
    first = next((urlsplit(action.url) for action in actions if isinstance(action, Navigate)), None)
    if first is None or first.scheme not in {"http", "https"}:
        message = f"{option}: the mission starts with no http or https URL; use OLD=NEW to name the one to replace"
        raise UsageError(message)
    return f"{first.scheme}://{first.netloc.rpartition('@')[2]}"


async def compare_deployments(bundle: Bundle, options: CompareOptions) -> DeploymentComparison:
    """Compare two deployments with the mission of a bundle; the bundle is not changed.

    Raises:
        UsageError: a reset command fails, or a URL is no base URL.
        RequirementError: a skill, secret, variable or browser is missing.
        EikonError: the bundle cannot be read, or a run did not complete.
    """
    with TemporaryDirectory(prefix="eikon-compare-") as folder:
        recorded = Path(folder) / "base"
        try:
            await _record_base(bundle, recorded, options)
        except (ActionError, SkillError, CompletionError) as error:
            reason = f"the mission fails on base already, so that head has nothing to be compared with: {error.message}"
            return DeploymentComparison(
                status="unverifiable",
                mission_id=bundle.trace.mission_id,
                base=options.base.name,
                head=options.head.name,
                runs=0,
                reasons=(reason,),
            )
        report = await _measure_noise(recorded, options)
        run = await _replay_head(recorded, options)
        if run.error is not None:
            raise run.error
    return _conclude(bundle, options, report, run.outcome)


async def _record_base(bundle: Bundle, folder: Path, options: CompareOptions) -> None:
    """Record the mission on base, with a clock that is stepped from now on."""
    options.progress(f"recording the mission on base, {options.base.name}")
    await _reset(options, options.base)
    urls = build_url_map({old: new for old, new in options.base.urls.items() if old != new})
    chosen = RecordOptions(
        secrets=options.secrets,
        variables=options.variables,
        browser_path=options.browser_path,
        storage_state=options.base.storage_state,
        now=options.now,
    )
    chosen = with_recorded_environment(bundle, chosen)
    if options.base.storage_state is None:
        chosen = _with_mapped_start(chosen, urls, folder.parent)
    await rerecord(bundle, folder, replace(chosen, clock="stepped", clock_start=None), urls)


def _with_mapped_start(chosen: RecordOptions, urls: BaseUrlMap, folder: Path) -> RecordOptions:
    """Return options with cookies and storage for the current deployment."""
    if not urls:
        return chosen
    if chosen.storage_state is not None:
        state = map_storage_state(read_storage_state(chosen.storage_state), urls)
        chosen = replace(chosen, storage_state=_write_json(folder / "storage_state.json", state))
    if chosen.session_storage is not None:
        stored = {origin: dict(items) for origin, items in read_session_storage(chosen.session_storage).items()}
        moved = map_session_storage(stored, urls)
        chosen = replace(chosen, session_storage=_write_json(folder / "session_storage.json", moved))
    return chosen


def _write_json(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


async def _measure_noise(recorded: Path, options: CompareOptions) -> CertificationReport:
    """Replay the mission on base, and let rules and masks cover what varies there."""
    options.progress("replaying it on base, to learn what varies without a change")
    chosen = CertifyOptions(
        network="live",
        runs=options.runs,
        reset_command=options.base.reset_command,
        storage_state=options.base.storage_state,
        masks_noise=True,
        secrets=options.secrets,
        browser_path=options.browser_path,
        progress=options.progress,
        now=options.now,
    )
    bundle = open_bundle(recorded)
    certification = await certify(bundle, chosen)
    if certification.report.certificate is not None:
        return await asyncio.to_thread(accept, bundle, certification)
    return certification.report


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
        masks=options.masks,
        on_divergence=options.on_divergence,
        storage_state=options.head.storage_state,
        secrets=options.secrets,
        browser_path=options.browser_path,
        readers=options.readers,
        now=options.now,
    )
    return await run_replay(bundle, chosen, options.reports)


def _url_pairs(options: CompareOptions) -> Iterator[tuple[str, str]]:
    """Yield each base URL of base with that of head."""
    return ((new, options.head.urls[old]) for old, new in options.base.urls.items())


async def _reset(options: CompareOptions, deployment: Deployment) -> None:
    await asyncio.to_thread(run_reset_command, deployment.reset_command, options.secrets, options.progress)


def _conclude(
    bundle: Bundle, options: CompareOptions, report: CertificationReport, outcome: ReplayOutcome
) -> DeploymentComparison:
    """Settle the status: what base does not repeat itself cannot be held against head."""
    status: ComparisonStatus = "unverifiable"
    reasons = outcome.reasons
    if outcome.verdict == "faithful":
        status = "same"
    elif outcome.verdict == "diverged":
        first = next((each for each in report.findings if not _is_before(outcome, each)), None)
        status = "different" if first is None else "unverifiable"
        if first is not None:
            reasons = (f"base differs from itself no later: {first.step}: {first.message}", *reasons)
    return DeploymentComparison(
        status=status,
        mission_id=bundle.trace.mission_id,
        base=options.base.name,
        head=options.head.name,
        runs=options.runs,
        learned=tuple(describe_operation(each) for each in report.patch.operations),
        noise=report.findings,
        reasons=reasons,
        outcome=outcome,
    )


def _is_before(outcome: ReplayOutcome, noise: CertificationFinding) -> bool:
    """Return whether the first divergence of a replay is in an earlier step than a finding."""
    order = {subgoal.id: subgoal.number for subgoal in outcome.subgoals}
    first = outcome.divergences[0]
    here = (order.get(first.subgoal, 0), first.sequence)
    return here < (order.get(noise.subgoal, 0), noise.sequence)
