"""Run one replay: plan, worker, events, artifacts and outcome."""

from __future__ import annotations

import asyncio
import os
from contextlib import aclosing, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eikon_engine.browser.find import BrowserBinary, find_browser
from eikon_engine.errors import EikonError, OutputError, TraceSyntaxError
from eikon_engine.network.store import read_network
from eikon_engine.outcome.event_log import EventLog
from eikon_engine.outcome.events import ActionPerformed, RunEnd, SkillRun, restore_outputs, skill_event
from eikon_engine.outcome.outcomes import ActionOutcome, SkillOutcome
from eikon_engine.outcome.stored import ValueStore
from eikon_engine.replay.collect import Collector
from eikon_engine.replay.evidence import EvidenceWriter
from eikon_engine.replay.options import DEFAULT_ARTIFACTS_DIR
from eikon_engine.replay.other_answers import open_network_source
from eikon_engine.replay.plan import plan_replay
from eikon_engine.replay.run_folder import OUTCOME_FILE, ArtifactsFolder
from eikon_engine.replay.second_part import require_same_plan
from eikon_engine.replay.step import StepRunner
from eikon_engine.replay.steps import replay_events
from eikon_engine.replay.worker_for import launch_replay_browser, open_replay_context
from eikon_engine.trace.bundle_path import resolve_inside
from eikon_engine.trace.certificate import certificate_state
from eikon_engine.trace.file_name import safe_file_name
from eikon_engine.trace.serializer import TRACE_FILE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from eikon_engine.browser.launch import LaunchedBrowser
    from eikon_engine.outcome.events import Event, RunEnding
    from eikon_engine.outcome.outcomes import ReplayOutcome
    from eikon_engine.replay.options import ReplayOptions, Report
    from eikon_engine.replay.plan import Plan, PlannedStep
    from eikon_engine.trace.bundle import Bundle


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One finished replay."""

    outcome: ReplayOutcome
    folder: Path
    error: EikonError | None
    """The error that ended the run early; None if it completed or stopped at a divergence."""


async def run_replay(
    bundle: Bundle, options: ReplayOptions, reports: tuple[Report, ...], browser: LaunchedBrowser | None = None
) -> Run:
    """Replay a bundle and write its artifacts, however the run ends.

    `browser` is a running browser, for a bundle that is already verified. Without it, the bundle is verified first and
    a browser is launched.

    Raises:
        EikonError: the replay could not start, and nothing was written: a requirement is missing, or the HAR cannot be
            read.
        BaseException: the run was interrupted, or failed internally; its artifacts are written.
    """
    plan = plan_replay(bundle, options)
    if browser is None:
        verify_bundle_files(bundle)
    with open_network_source(options) as other:
        return await _run(replace(plan, other_network=other), options, reports, browser)


async def _run(plan: Plan, options: ReplayOptions, reports: tuple[Report, ...], browser: LaunchedBrowser | None) -> Run:
    """Replay a checked plan."""
    binary = browser.binary if browser is not None else find_browser_for(options)
    running = nullcontext(browser) if browser is not None else launch_replay_browser(plan, options, binary)
    root = _artifacts_dir(plan, options)
    unsure = require_same_plan(plan, options, root / OUTCOME_FILE)
    folder = ArtifactsFolder(root)
    watch = options.gates.monitor(ValueStore(folder.root).load) if options.gates is not None else None
    log = EventLog(folder.root, options.now, watch=watch, readers=options.readers)
    collector = Collector(plan, options, options.now(), unchecked=unsure)
    error: EikonError | None = None
    try:
        async with aclosing(_logged_events(plan, options, (folder, log), running)) as events:
            async for event in events:
                collector.add(event)
    except EikonError as caught:
        error = caught
        _close_log_early(log, "failed", caught.message)
    except BaseException as caught:
        interrupted = isinstance(caught, asyncio.CancelledError | KeyboardInterrupt)
        reason = "interrupted" if interrupted else f"internal error: {type(caught).__name__}: {caught}"
        _close_log_early(log, "interrupted" if interrupted else "fault", reason)
        collector.gates = log.gate_results
        _write_outcome(collector, folder, options, reports, reason)
        raise
    else:
        log.close()
    collector.gates = log.gate_results
    outcome = _write_outcome(collector, folder, options, reports, error.message if error else None)
    return Run(outcome=outcome, folder=folder.root, error=error)


def _close_log_early(log: EventLog, how: RunEnding, reason: str) -> None:
    """Close the event log of a run that an error ended; a write error here would hide the first one."""
    with suppress(OutputError):
        log.write_interrupted(how, reason)
        log.close()


async def _logged_events(
    plan: Plan,
    options: ReplayOptions,
    kept: tuple[ArtifactsFolder, EventLog],
    running: AbstractAsyncContextManager[LaunchedBrowser],
) -> AsyncGenerator[Event]:
    """Yield the events of a run after logging them; the worker is always closed before its browser."""
    async with running as browser, aclosing(_replay_events(plan, options, kept, browser)) as events:
        async for event in events:
            kept[1].append(event)
            yield event


async def _replay_events(
    plan: Plan, options: ReplayOptions, kept: tuple[ArtifactsFolder, EventLog], browser: LaunchedBrowser
) -> AsyncGenerator[Event]:
    """Yield the events of a run; the last one after the worker is closed, so that nothing reaches the sink after it.

    The consumer has logged an event when it asks for the next one, so an exceeded gate ends the run before the next
    step.
    """
    folder, log = kept
    steps = {(step.subgoal.id, step.step.sequence): step for each in plan.subgoals for step in each.steps}
    end: RunEnd | None = None
    async with open_replay_context(browser, plan, options) as opened:
        runner = StepRunner(plan, opened.worker, options, opened.environment)
        evidence = EvidenceWriter(folder, runner, opened.worker)

        def go_on() -> None:
            if plan.visits_site:
                opened.switch_to_live()
                runner.switch_to_live()

        surroundings = (opened.browser, opened.environment)
        async with aclosing(replay_events(plan, runner, options, surroundings, go_on)) as events:
            async for event in events:
                if isinstance(event, RunEnd):
                    end = event
                else:
                    yield await _with_evidence(event, steps, evidence)
                if log.stop_reason is not None:
                    end = RunEnd(how="stopped", ended_early=log.stop_reason, network=runner.network_outcome())
                    break
    if end is not None and end.network is not None:
        violations = opened.worker.network_outcome().violations
        yield end.model_copy(update={"network": end.network.model_copy(update={"violations": violations})})


async def _with_evidence(event: Event, steps: dict[tuple[str, int], PlannedStep], evidence: EvidenceWriter) -> Event:
    match event:
        case ActionPerformed(outcome=ActionOutcome() as action):
            step = steps[event.subgoal, action.sequence]
            return event.model_copy(update={"outcome": await evidence.add_action_evidence(step, action)})
        case SkillRun(outcome=SkillOutcome() as skill):
            step = steps[event.subgoal, skill.sequence]
            return skill_event(event.subgoal, evidence.add_skill_evidence(step, restore_outputs(skill, event)))
        case _:
            return event


def find_browser_for(options: ReplayOptions) -> BrowserBinary:
    """Find the browser for the options.

    Raises:
        BrowserMissingError: no browser was found.
    """
    return find_browser(options.browser_path, environ=os.environ, headless=options.headless)


def verify_bundle_files(bundle: Bundle) -> None:
    """Verify every file that the trace refers to.

    Raises:
        AttachmentMissingError: a file is missing.
        AttachmentCorruptError: a file does not match its digest.
        TraceSyntaxError: the network index is truncated, although the recording was complete.
    """
    bundle.verify()
    if bundle.trace.network is None:
        return
    recording = read_network(resolve_inside(bundle.root, bundle.trace.network.folder, "network.folder"))
    if recording.truncation is not None and (bundle.root / TRACE_FILE).exists():
        message = f"{recording.truncation}. The recording was complete, so the bundle is damaged. Restore it."
        raise TraceSyntaxError(message)
    for ref in recording.refs:
        recording.blobs.verify(ref)


def _artifacts_dir(plan: Plan, options: ReplayOptions) -> Path:
    return options.artifacts_dir or DEFAULT_ARTIFACTS_DIR / safe_file_name(plan.trace.mission_id, "mission")


def _write_outcome(
    collector: Collector,
    folder: ArtifactsFolder,
    options: ReplayOptions,
    reports: tuple[Report, ...],
    ended_early: str | None,
) -> ReplayOutcome:
    found = collector.outcome(options.now(), ended_early, collector.plan.warnings)
    found = found.model_copy(update={"gates": collector.gates})
    outcome = _with_certificate(found, collector.plan.bundle)
    folder.write(OUTCOME_FILE, outcome.model_dump_json(indent=1) + "\n")
    for report in reports:
        folder.write(report.file_name, report.render(outcome))
    return outcome


def _with_certificate(outcome: ReplayOutcome, bundle: Bundle) -> ReplayOutcome:
    state = certificate_state(bundle.root, bundle.trace)
    return outcome.model_copy(update={"certified": state.status, "certified_why": state.reason})
