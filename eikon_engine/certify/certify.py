"""Replay, compare, propose changes and repeat, until all runs are identical or nothing is left to propose."""

from __future__ import annotations

import hashlib
import logging
import subprocess
import sys
import time
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib import metadata
from typing import TYPE_CHECKING, Final, assert_never

from eikon_engine.browser.launch import shared_driver
from eikon_engine.certify.agent_timing import (
    find_early_actions,
    find_failed_action,
    replay_idle_pages,
    unsent_request_findings,
)
from eikon_engine.certify.compare_runs import compare_runs, snapshot_lookup
from eikon_engine.certify.draft import Draft
from eikon_engine.certify.findings import collect_findings, find_lasting_differences, find_lost_data, status_for
from eikon_engine.certify.learn import replay_and_learn
from eikon_engine.certify.options import MIN_RUNS
from eikon_engine.certify.runs import LEARNING, concurrent_replays
from eikon_engine.divergence.masks import mask_observation
from eikon_engine.errors import OutputError, RequirementError, UsageError
from eikon_engine.files.blobs import BlobRef, BlobStore
from eikon_engine.files.json_text import canonical_json
from eikon_engine.files.text import pluralize
from eikon_engine.network.rule_learner import RuleLearner
from eikon_engine.outcome.certification import Certification, CertificationReport
from eikon_engine.trace.certificate import (
    Certificate,
    CertifiedAction,
    LastCertification,
    environment_sha256,
    file_sha256,
    network_sha256,
    read_certificate,
    write_certificate,
    write_last_certification,
)
from eikon_engine.trace.masks import describe_mask
from eikon_engine.trace.patch import TracePatch, render_patch, variables_patch
from eikon_engine.trace.rules import describe_rule
from eikon_engine.trace.trace_file import TRACE_FILE, find_trace_file, read_trace, serialize_trace, write_trace
from eikon_engine.trace.variables import require_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.certify.agent_timing import FailedAction
    from eikon_engine.certify.compare_runs import ActionComparison
    from eikon_engine.certify.learn import LearningRun
    from eikon_engine.certify.options import CertifyOptions
    from eikon_engine.certify.runs import ReplayedRun, RunMany
    from eikon_engine.outcome.certification import CertificationFinding, CertificationStatus
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import ExecutionTrace


class OverlayBlobStore(BlobStore):
    """Store new blobs in memory, on top of those in a folder."""

    def __init__(self, below: BlobStore) -> None:
        """Read other blobs from `below`."""
        super().__init__(below.folder)
        self._new: dict[BlobRef, bytes] = {}

    @property
    def new_blobs(self) -> tuple[bytes, ...]:
        """Return the blobs that are not in the folder yet."""
        return tuple(data for ref, data in self._new.items() if not super(OverlayBlobStore, self).has(ref))

    def has(self, ref: BlobRef) -> bool:
        """Return whether a blob exists in memory or in the folder."""
        return ref in self._new or super().has(ref)

    def put(self, data: bytes) -> BlobRef:
        """Store a blob in memory."""
        ref = BlobRef(sha256=hashlib.sha256(data).hexdigest(), size=len(data))
        self._new[ref] = data
        return ref

    def get(self, ref: BlobRef) -> bytes:
        """Return the content of a blob."""
        return self._new[ref] if ref in self._new else super().get(ref)


_logger = logging.getLogger(__name__)

LIVE_LEARNING_RUNS: Final = 3
"""Maximum number of live replays that learn rules before the runs that must agree."""
MAX_REPEATED_ROUNDS: Final = 3
"""Maximum number of rounds of live replays that change nothing, and only tell more of numbers that differ."""
PROCESSES: Final = 2
_REFUSED: Final = "net::ERR_CONNECTION_REFUSED"
"""What a browser observes where nothing listens."""
BUSY_LOOP: Final = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    sum(range(1_000_000))"
"""Loops until its parent exits, so that a killed command leaves no process behind."""


@contextmanager
def cpu_load() -> Iterator[tuple[int, ...]]:
    """Run CPU-bound processes inside the block; yield their process ids."""
    busy: list[subprocess.Popen[bytes]] = []
    try:
        # Own session: Ctrl-C reaches only this process, which kills them.
        command = [sys.executable, "-c", BUSY_LOOP]
        busy.extend(subprocess.Popen(command, start_new_session=True) for _ in range(PROCESSES))  # noqa: S603 - our own
        yield tuple(each.pid for each in busy)
    finally:
        for each in busy:
            each.kill()
            each.wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One draft trace with its replays."""

    number: int
    patch: TracePatch
    """The changes tried in this round."""
    trace: ExecutionTrace
    runs: tuple[ReplayedRun, ...]
    comparisons: tuple[ActionComparison, ...]
    findings: tuple[CertificationFinding, ...]


async def certify(bundle: Bundle, options: CertifyOptions, run_many: RunMany | None = None) -> Certification:
    """Certify the bundle in its folder, trying changes on a copy in memory; nothing is written.

    `run_many` replaces the replays, which by default run concurrently in one browser (`CertifyOptions.parallel`).

    Raises:
        RequirementError: the bundle has no recorded network; a variable of the trace has no value.
        UsageError: the bundle changed during the replays, or no action uses a supplied variable.
        EikonError: the trace cannot be read, or a run did not complete.
    """
    begin = time.monotonic()
    before = _file_digests(bundle)
    original = read_trace(bundle.root)
    _require_recorded_network(bundle, options)
    replay = run_many or concurrent_replays(options)
    dom = OverlayBlobStore(bundle.dom)
    require_values(original, options.variables)
    given = variables_patch(original, options.variables).operations
    draft = Draft(
        original=original,
        dom=dom,
        doublings=options.doublings,
        requested=given,
        is_live=options.network == "live",
        masks_noise=options.masks_noise,
    )
    lost = find_lost_data(original) if options.network == "sealed" else ()
    if lost:
        done = _round_without_runs(draft, lost)
        return _certification(bundle, options, original, done, dom, time.monotonic() - begin)
    with cpu_load() if options.stress else nullcontext():
        async with shared_driver():
            learning, failed = await _choose_timing(bundle, draft, options, may_learn=run_many is None)
            if findings := _findings_of_all_timings(draft, learning, failed):
                done = _round_without_runs(draft, findings)
            else:
                done = await _rounds(bundle, draft, replay, options, learning)
    if _file_digests(bundle) != before:
        message = f"{bundle.root}: the bundle changed during the replays, so they prove nothing. Certify it again."
        raise UsageError(message)
    return _certification(bundle, options, original, done, dom, time.monotonic() - begin)


async def _choose_timing(
    bundle: Bundle, draft: Draft, options: CertifyOptions, *, may_learn: bool
) -> tuple[LearningRun | None, FailedAction | None]:
    """Learn rules, and adopt a timeline of idle pages unless the timing of the agent repeats the mission better.

    Returns what the replay with the recorded timing taught, None if another timeline was adopted, or none was tried;
    and the action that failed after waiting for idle pages.
    """
    needs_timeline = options.network == "sealed" and draft.needs_timeline
    idle = await replay_idle_pages(bundle, draft, options) if needs_timeline else None
    if idle is None:
        return await _learn(bundle, draft, options) if may_learn else None, None
    learning, rules = None, tuple(draft.rules)
    if idle.problem and may_learn:
        options.progress(f"{idle.problem} after waiting for idle pages; trying the timing of the agent")
        if idle.run is not None:
            draft.rules.clear()  # those of the timing that is kept count
        learning = await _learn(bundle, draft, options)
    if idle.run is None or not idle.is_better_than(learning):
        return learning, idle.failed_action
    draft.rules[:] = rules
    draft.adopt_timeline(idle.comparisons, idle.run, idle.timeline)
    options.progress("found a timeline that waits for idle pages, unlike the agent")
    return None, None


async def _learn(bundle: Bundle, draft: Draft, options: CertifyOptions) -> LearningRun | None:
    """Learn rules; return what a sealed run taught."""
    if not draft.may_get_rules:
        return None
    if options.network == "live":
        await _learn_live(bundle, draft, options)
        return None
    learning = await replay_and_learn(replace(bundle, trace=draft.trace, dom=draft.dom), options)
    draft.learn(learning.rules, options)
    return learning


async def _learn_live(bundle: Bundle, draft: Draft, options: CertifyOptions) -> None:
    """Learn what the site draws for each run: rules that one run teaches let the next one see more."""
    for _ in range(LIVE_LEARNING_RUNS):
        learner = RuleLearner(bundle.trace.started_at.timestamp(), is_live=True)
        replay = concurrent_replays(options, rule_learner=learner, purpose=LEARNING)
        runs = await replay(replace(bundle, trace=draft.trace, dom=draft.dom), 1)
        draft.live_runs.extend(run for run in runs if not learner.rules or run.outcome.verdict == "faithful")
        if not learner.rules:
            return
        draft.learn(learner.rules, options)


def _findings_of_all_timings(
    draft: Draft, learning: LearningRun | None, failed: FailedAction | None
) -> tuple[CertificationFinding, ...]:
    """Return why no further replay can be faithful; empty if one may be.

    Either a request is in no recording, or the same action fails alike with the timing of idle pages and with that of
    the agent.
    """
    if learning is None:
        return ()
    if learning.finding is not None and not learning.has_diverged:
        return (learning.finding,)
    if failed is None or learning.run is None:
        return ()
    comparisons = compare_runs(draft.trace, (learning.run,))
    if find_failed_action(comparisons) != failed:
        return ()
    found = collect_findings(comparisons, (learning.run,))
    return tuple(each for each in found if each.kind == "diverged")  # no baseline was recorded yet


async def _rounds(
    bundle: Bundle, draft: Draft, replay: RunMany, options: CertifyOptions, learning: LearningRun | None
) -> Round:
    """Replay, compare and propose, until the runs agree or nothing is left to propose; return the last round.

    One run gives the baselines that the recording has none of; all runs must agree with them then. Live, one run also
    tells whether what failed in all runs of a round still fails with what was proposed since: then no proposal helps.
    """
    known = () if learning is None or learning.run is None or learning.rules else (learning.run,)
    runs = 1 if draft.has_missing_baselines else options.runs
    lasting = frozenset[tuple[str, int, str]]()
    disagreeing: tuple[Round, ...] = ()  # those of this draft whose runs, together, differ in a number of no type
    for number in range(1, options.rounds + 1):
        done = await _round(bundle, draft, replay, number, runs, known)
        before, lasting = lasting, find_lasting_differences(done.comparisons) if draft.is_live else lasting
        if lasting & before:
            found = pluralize(len(done.findings), "finding")
            options.progress(f"round {number}: {found}; the same actions fail as before, so no more is tried")
            return done
        is_last = number == options.rounds or not done.findings
        needs_all = is_last or not draft.needs_few_runs(done.comparisons, done.runs)
        if runs < options.runs and needs_all:
            done = await _round(bundle, draft, replay, number, options.runs, done.runs)
        known = ()
        if number == options.rounds or not (done.findings or disagreeing):
            break
        tried = draft.propose_next(done.comparisons, done.runs)
        enough = 1 if draft.has_missing_baselines or lasting else options.runs
        runs = MIN_RUNS if draft.needs_page_time(done.comparisons) else enough
        disagreeing = (*disagreeing, done) if draft.patch == done.patch else ()
        if disagreeing and (not draft.needs_more_live_runs or len(disagreeing) > MAX_REPEATED_ROUNDS):
            break
        tried = tried or "once more, because a number differs whose type is not known yet"
        options.progress(f"round {number}: {pluralize(len(done.findings), 'finding')}; trying {tried}")
    return done if done.findings or not disagreeing else replace(disagreeing[0], number=done.number)


def _round_without_runs(draft: Draft, findings: tuple[CertificationFinding, ...]) -> Round:
    """Return a round that ends the certification, because no replay of the bundle can be faithful."""
    return Round(number=1, patch=draft.patch, trace=draft.trace, runs=(), comparisons=(), findings=findings)


def _mission_notes(trace: ExecutionTrace) -> tuple[str, ...]:
    """Return a note about a recorded mission that did not complete."""
    if trace.status == "complete":
        return ()
    if trace.status in {"running", "aborted"}:
        return (f"the mission was interrupted ({trace.status}), so its remaining steps are in no replay",)
    why = f" ({trace.failures[0].message.splitlines()[0]})" if trace.failures else ""
    return (f"the recorded mission did not complete: {trace.status}{why}. Equal replays repeat that, not a success",)


_LEAVE_OUT: Final = (
    "leave it out of comparisons: with --ignore FILE in each replay (docs/policies.md), "
    "or with a mask in trace.json (docs/trace-format.md)"
)


def _next_step(
    bundle: Bundle, options: CertifyOptions, status: CertificationStatus, findings: tuple[CertificationFinding, ...]
) -> str:
    """Return what to do to get a certificate."""
    live = " --network live" if options.network == "live" else ""
    match status:
        case "certified":
            return ""
        case "proposed":
            reset = " and the same --reset-cmd" if options.reset_command is not None else ""
            return f"read the changes, and apply them with `eikon certify {bundle.root}{live} --accept`{reset}"
        case _ if any(each.code == "request-not-recorded" for each in findings):
            return (
                "if the value does not matter, add a rule for it to network.rules in trace.json "
                "(docs/network.md, volatile rules); else make the mission repeatable and record it again"
            )
        case "unstable" if live and options.reset_command is None:
            return f"reset the data of the site before each run (--reset-cmd), or {_LEAVE_OUT}"
        case "unstable":
            return f"make what differs repeatable and record again, or {_LEAVE_OUT}"
        case "diverged" | "unverifiable":
            return (
                f"run `eikon replay --trace {bundle.root}{live}` and read its replay_summary.txt; "
                "then record the mission again"
            )
        case _:
            assert_never(status)


def _after_refusal(options: CertifyOptions, findings: tuple[CertificationFinding, ...]) -> str:
    """Return what to do if no run reached the site after its reset command; empty if one did."""
    refused = any(each.kind == "diverged" and _REFUSED in each.message.rpartition("observed")[2] for each in findings)
    if options.reset_command is None or not refused:
        return ""
    return (
        "no run reached the site: the processes of --reset-cmd, such as a server that it starts, end with it; "
        "start the server outside, and let the command reset its data"
    )


def _file_digests(bundle: Bundle) -> tuple[str, str]:
    """Return the current digests of the files that a certificate covers."""
    return file_sha256(find_trace_file(bundle.root)), network_sha256(bundle.root, bundle.trace)


async def _round(
    bundle: Bundle, draft: Draft, replay: RunMany, number: int, runs_of_round: int, known: tuple[ReplayedRun, ...]
) -> Round:
    """Replay the draft; `known` are earlier runs of the same draft, which count towards `runs_of_round`."""
    trace = draft.trace
    runs = (*known, *await replay(replace(bundle, trace=trace, dom=draft.dom), runs_of_round - len(known)))
    comparisons = compare_runs(trace, runs)
    found = (*collect_findings(comparisons, runs), *unsent_request_findings(runs))
    return Round(
        number=number,
        patch=draft.patch,
        trace=trace,
        runs=runs,
        comparisons=comparisons,
        findings=found,
    )


def accept(bundle: Bundle, certification: Certification) -> CertificationReport:
    """Apply the proposed changes, write the certificate, and return the updated report.

    Raises:
        UsageError: there is nothing to accept, or the recording was interrupted and has no `trace.json`.
        OutputError: the bundle cannot be written.
    """
    report = certification.report
    if report.certificate is None:
        message = f"nothing written ({bundle.root}): expected runs that agree, got status {report.status}"
        raise UsageError(message)
    if report.patch.operations:
        if find_trace_file(bundle.root).name != TRACE_FILE:
            message = f"{bundle.root}: the recording was interrupted and cannot be changed. Record the mission again."
            raise UsageError(message)
        store = BlobStore(bundle.dom.folder)
        for snapshot in certification.snapshots:
            store.put(snapshot)
        write_trace(certification.trace, bundle.root / TRACE_FILE)
    replaced = read_certificate(bundle.root)
    notes = report.notes
    certificate = report.certificate
    if replaced is not None and replaced.network_mode != certificate.network_mode:
        if (replaced.trace_sha256, replaced.network_sha256) == (certificate.trace_sha256, certificate.network_sha256):
            certificate = certificate.model_copy(update={"other_runs": replaced.runs})
        else:
            notes = (*notes, _note_replaced(bundle, replaced))
    write_certificate(bundle.root, certificate)
    accepted = bool(report.patch.operations)
    update = {"status": "certified", "accepted": accepted, "next_step": "", "notes": notes, "certificate": certificate}
    return report.model_copy(update=update)


def _note_replaced(bundle: Bundle, replaced: Certificate) -> str:
    """Return a note about a certificate of the other network mode, from before the bundle changed."""
    live = " --network live" if replaced.network_mode == "live" else ""
    return (
        f"the {replaced.runs} equal {replaced.network_mode} runs of its last certificate were before it changed; "
        f"to repeat them: `eikon certify {bundle.root}{live}`"
    )


def conclude(
    bundle: Bundle, certification: Certification, options: CertifyOptions, *, accepts: bool
) -> CertificationReport:
    """Write the certificate, with the proposed changes if `accepts`, or note why there is none; return the report.

    Raises:
        EikonError: as `accept`; the bundle changed since, so that nothing is known of it.
    """
    report = certification.report
    status = report.status
    if status == "certified" or (accepts and status == "proposed"):
        return accept(bundle, certification)
    last = LastCertification(
        ended_at=options.now(),
        trace_sha256=file_sha256(find_trace_file(bundle.root)),
        network_sha256=network_sha256(bundle.root, bundle.trace),
        network_mode=options.network,
        status=status,
        reason=report.reason,
        next_step=report.next_step,
    )
    try:
        write_last_certification(bundle.root, last)
    except OutputError as error:  # the report itself says the same
        _logger.warning("cannot note the result of the certification: %s", error.message)
    return report


def _require_recorded_network(bundle: Bundle, options: CertifyOptions) -> None:
    if options.network == "sealed" and bundle.trace.network is None:
        message = (
            f"{bundle.root}: expected a recorded network, but the trace has none. "
            "Use --network live to perform the mission on the site once per run."
        )
        raise RequirementError(message, code="network-part-missing")


def _certification(
    bundle: Bundle,
    options: CertifyOptions,
    original: ExecutionTrace,
    last: Round,
    dom: OverlayBlobStore,
    seconds: float,
) -> Certification:
    agreed = not last.findings
    limits = (*_mission_notes(last.trace), *find_early_actions(bundle.root, last.trace)) if agreed else ()
    notes = (*limits, *(f"the recording warned: {each}" for each in original.warnings))
    patch = last.patch if agreed else TracePatch()
    status = status_for(last.findings) if not (agreed and patch.operations) else "proposed"
    report = CertificationReport(
        status=status,
        mission_id=original.mission_id,
        trace_path=str(bundle.root),
        runs=len(last.runs) or 1,
        rounds=last.number,
        stress=options.stress,
        findings=last.findings,
        notes=notes,
        next_step=_after_refusal(options, last.findings) or _next_step(bundle, options, status, last.findings),
        mission_status=original.status,
        seconds=round(seconds, 1),
        patch=patch,
        diff=render_patch(original, patch),
        certificate=_certificate(bundle, options, last, notes) if agreed else None,
    )
    return Certification(
        report=report,
        trace=last.trace if agreed else original,
        tried=last.patch,
        snapshots=dom.new_blobs if agreed else (),
    )


def _certificate(bundle: Bundle, options: CertifyOptions, last: Round, notes: tuple[str, ...]) -> Certificate:
    changed = bool(last.patch.operations)
    first = last.runs[0].outcome
    trace = last.trace
    return Certificate(
        certified_at=options.now(),
        trace_sha256=sha256(serialize_trace(trace)).hexdigest()
        if changed
        else file_sha256(find_trace_file(bundle.root)),
        network_sha256=network_sha256(bundle.root, trace),
        runs=options.runs,
        stress=options.stress,
        network_mode=options.network,
        is_reset=options.reset_command is not None,
        mission_status=trace.status,
        actions=tuple(_certified_action(each, last) for each in last.comparisons),
        masks=tuple(describe_mask(mask) for mask in trace.masks),
        rules=tuple(describe_rule(rule) for rule in (trace.network.rules if trace.network is not None else ())),
        browser=first.browser,
        playwright_version=first.environment.playwright_version if first.environment is not None else "",
        eikon_version=_package_version(),
        notes=notes,
        environment_sha256=environment_sha256(first.environment) if first.environment is not None else "",
    )


def _certified_action(action: ActionComparison, last: Round) -> CertifiedAction:
    seen = action.first.observation
    shown = canonical_json(None)
    if seen is not None:
        masked = mask_observation(seen, snapshot_lookup(seen, last.runs[0].snapshots), last.trace.masks)
        shown = canonical_json(
            masked.model_copy(update={"virtual_ms": 0.0, "timer_requests": (), "loading_pages": ()}).model_dump(
                mode="json"
            )
        )
    return CertifiedAction(
        subgoal=action.place.subgoal, sequence=action.place.sequence, digest=sha256(shown.encode()).hexdigest()
    )


def _package_version() -> str:
    try:
        return metadata.version("eikon-engine")
    except metadata.PackageNotFoundError:
        return "not installed"
