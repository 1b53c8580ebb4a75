"""Open a recorder: browser, session, network capture and bundle."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.attach.context import NATURAL_TICK_MS
from eikon_engine.browser.environment import (
    browser_kind,
    fonts_digest,
    platform_name,
    read_native_browser,
    read_page_view,
)
from eikon_engine.browser.launch import LaunchOptions, launch_browser
from eikon_engine.browser.session import SessionOptions
from eikon_engine.browser.traffic.capture import NetworkCapture
from eikon_engine.browser.traffic.live import LiveTraffic
from eikon_engine.browser.worker import open_worker
from eikon_engine.errors import TraceFieldError, UsageError
from eikon_engine.record.bundle_writer import BundleWriter
from eikon_engine.record.mission_id import new_mission_id
from eikon_engine.record.options import RecordOptions
from eikon_engine.record.recorder import MissionRecorder, describe_error
from eikon_engine.record.redaction import redact_recording
from eikon_engine.record.skill_runs import CompletionCapture
from eikon_engine.record.start_state import read_session_storage, redact_environment, store_start_state
from eikon_engine.redact.secret_detector import SecretDetector
from eikon_engine.secrets.redaction import Redactor
from eikon_engine.secrets.stand_ins import StandInMap
from eikon_engine.skills import default_skills
from eikon_engine.trace.environment import Environment, read_storage_state
from eikon_engine.trace.execution import ExecutionTrace, Failure, NetworkPart, StartState
from eikon_engine.trace.variables import SecretValues, require_variable_names

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from eikon_engine.browser.launch import LaunchedBrowser
    from eikon_engine.browser.page_tracker import PageTracker
    from eikon_engine.browser.worker import BrowserWorker
    from eikon_engine.skills.registry import SkillRegistry
    from eikon_engine.trace.environment import SessionStorage, StorageState

TICK_MS: Final = 500.0
"""Longest clock step, in ms, of a replay of a stepped-clock recording."""


@asynccontextmanager
async def open_recorder(
    directory: str | Path,
    *,
    mission_text: str,
    mission_id: str | None = None,
    options: RecordOptions | None = None,
    skills: SkillRegistry | None = None,
) -> AsyncIterator[MissionRecorder]:
    """Record the mission driven inside the block into the bundle `directory`.

    An exception that leaves the block is recorded and re-raised; the bundle is complete up to it.

    Raises:
        OutputError: a recording exists already, or the folder cannot be written.
        BrowserMissingError: no browser is installed.
        UsageError: an option is invalid, or a file it names cannot be read.
    """
    chosen = options or RecordOptions()
    launch = LaunchOptions(headless=chosen.headless, browser_path=chosen.browser_path, random_seed=chosen.random_seed)
    given = _read_start_state(chosen)
    async with launch_browser(launch) as launched, AsyncExitStack() as stack:
        session_options = _session_options(chosen, await _environment(launched, chosen), given)
        worker = await _open_worker(stack, launched, session_options)
        writer = BundleWriter(Path(directory))
        worker.session.uploads = writer.files
        capture = NetworkCapture(worker.session, writer.network)
        await capture.start()
        responses = _open_capture(writer.directory, worker, chosen)
        ask = chosen.completion_client if responses is None else responses.client
        recorder = MissionRecorder(worker, writer, capture, skills or default_skills(), chosen, ask)
        start = await store_start_state(worker, writer, session_options)
        environment = await _with_page_view(worker, session_options.environment)
        environment = redact_environment(worker.session, environment)
        writer.start(_redact_header(worker, _build_header(mission_text, mission_id, environment, start, chosen)))
        async with _completed(recorder, writer, capture, worker, chosen):
            with responses or nullcontext():
                yield recorder


def _open_capture(directory: Path, worker: BrowserWorker, options: RecordOptions) -> CompletionCapture | None:
    """Return the capture of completions; None if the caller stores them."""
    if not options.should_store_responses:
        return None

    def clean(text: str) -> str:
        return worker.session.redactor.redact_text(text)  # looked up on every call: a new secret replaces the redactor

    return CompletionCapture(directory, options.completion_client, clean, options.new_id)


def _session_options(
    options: RecordOptions, environment: Environment, start_state: tuple[StorageState | None, SessionStorage]
) -> SessionOptions:
    """Build the session options and decide whether to search for secrets."""
    found = SecretDetector(options.redaction, options.new_key()) if options.redact else None
    storage_state, session_storage = start_state
    return SessionOptions(
        environment=environment,
        storage_state=storage_state,
        session_storage=session_storage,
        secrets=SecretValues(options.secrets),
        redacted_secrets=frozenset(options.secrets),
        natural_clock=options.clock == "natural",
        secret_detector=found,
        stand_ins=found.stand_ins if found is not None else StandInMap(),
    )


def _read_start_state(options: RecordOptions) -> tuple[StorageState | None, SessionStorage]:
    require_variable_names(options.variables, "RecordOptions.variables")
    given = options.storage_state
    return None if given is None else read_storage_state(given), read_session_storage(options.session_storage)


async def _open_worker(stack: AsyncExitStack, launched: LaunchedBrowser, options: SessionOptions) -> BrowserWorker:
    """Open the worker; translate trace errors, because here the caller chose the environment."""
    try:
        return await stack.enter_async_context(open_worker(launched.browser, options, LiveTraffic()))
    except TraceFieldError as error:
        message = f"RecordOptions: {error.message}"
        raise UsageError(message) from error


async def _with_page_view(worker: BrowserWorker, environment: Environment) -> Environment:
    page = worker.session.page(0)
    return environment if page is None else environment.model_copy(update={"page_view": await read_page_view(page)})


def _build_header(
    mission_text: str, mission_id: str | None, environment: Environment, start: StartState, options: RecordOptions
) -> ExecutionTrace:
    """Build the trace as known before the first action."""
    started_at = options.now()
    return ExecutionTrace(
        id=options.new_id(),
        mission_id=mission_id or new_mission_id(mission_text, started_at),
        mission_text=mission_text,
        started_at=started_at,
        status="running",
        environment=environment,
        start=start,
        network=NetworkPart(),
        variables=dict(options.variables),
    )


def _redact_header(worker: BrowserWorker, header: ExecutionTrace) -> ExecutionTrace:
    redactor = worker.session.redactor
    variables = {
        name: None if value is None else redactor.redact_text(value) for name, value in header.variables.items()
    }
    return header.model_copy(update={"mission_text": redactor.redact_text(header.mission_text), "variables": variables})


@asynccontextmanager
async def _completed(
    recorder: MissionRecorder,
    writer: BundleWriter,
    capture: NetworkCapture,
    worker: BrowserWorker,
    options: RecordOptions,
) -> AsyncIterator[None]:
    """Complete the bundle, however the mission ends."""
    ledger = worker.session.tracker
    try:
        try:
            yield
        finally:
            await capture.close()
        _raise_page_error(ledger)
    except BaseException as error:
        for each in (error, ledger.error) if ledger.error not in (None, error) else (error,):
            writer.add_failure(Failure(message=worker.session.redactor.redact_text(describe_error(each))))
        recorder.finish("failed" if isinstance(error, Exception) else "aborted")
        raise
    finally:
        try:
            _write_warnings(writer, capture, worker)
        finally:
            writer.finish(options.now(), recorder.status)
            redact_recording(writer.directory, worker.session)


def _raise_page_error(ledger: PageTracker) -> None:
    if ledger.error is not None:
        raise ledger.error


def _write_warnings(writer: BundleWriter, capture: NetworkCapture, worker: BrowserWorker) -> None:
    """Write the warnings of capture and network."""
    for warning in (*capture.warnings, *worker.network_outcome().notes):
        writer.warn(warning)


async def _environment(launched: LaunchedBrowser, options: RecordOptions) -> Environment:
    start = options.clock_start or options.now()
    native = await read_native_browser(launched.browser)
    headers = {name: Redactor(options.secrets).redact_text(value) for name, value in options.extra_http_headers.items()}
    return Environment(
        browser_version=launched.browser.version,
        playwright_version=launched.playwright_version,
        platform=platform_name(),
        flags=launched.flags,
        viewport=options.viewport,
        device_scale_factor=options.device_scale_factor,
        locale=options.locale,
        timezone=options.timezone,
        user_agent=options.user_agent or native.user_agent,
        color_scheme=options.color_scheme,
        reduced_motion=options.reduced_motion,
        forced_colors=options.forced_colors,
        has_touch=options.has_touch,
        is_mobile=options.is_mobile,
        permissions=options.permissions,
        geolocation=options.geolocation,
        extra_http_headers=headers,
        cpu_count=native.cpu_count,
        device_memory_gb=native.device_memory_gb,
        browser_kind=browser_kind(launched, headless=options.headless),
        fonts_digest=fonts_digest(),
        clock_start_ms=int(start.timestamp() * 1000),
        random_seed=options.random_seed,
        settle_ms=options.settle_ms,
        clock=options.clock,
        tick_ms=NATURAL_TICK_MS if options.clock == "natural" else TICK_MS,
    )
