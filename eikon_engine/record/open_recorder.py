"""Open a recorder: browser, session, network capture and bundle."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.capture import NetworkCapture
from eikon_engine.browser.environment import browser_kind, fonts_digest, native_browser, platform_name, see
from eikon_engine.browser.launch import LaunchOptions, launch_browser
from eikon_engine.browser.session import SessionOptions
from eikon_engine.browser.traffic import LiveTraffic
from eikon_engine.browser.worker import open_worker
from eikon_engine.errors import TraceFieldError, UsageError
from eikon_engine.record.keep_out import keep_secrets_out
from eikon_engine.record.mission_id import new_mission_id
from eikon_engine.record.options import RecordOptions
from eikon_engine.record.recorder import MissionRecorder, describe_error
from eikon_engine.record.responses import KeptResponses
from eikon_engine.record.start import keep_start, read_session_storage, without_secrets
from eikon_engine.record.write import BundleWriter
from eikon_engine.redact.found import FoundSecrets
from eikon_engine.skills import default_skills
from eikon_engine.trace.environment import Environment
from eikon_engine.trace.execution import ExecutionTrace, Failure, NetworkPart, StartState
from eikon_engine.trace.redaction import Redactor
from eikon_engine.trace.secret_text import Secrets
from eikon_engine.trace.stand_ins import StandIns
from eikon_engine.trace.start_state import read_storage_state
from eikon_engine.trace.variables import demand_names

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from eikon_engine.browser.launch import LaunchedBrowser
    from eikon_engine.browser.ledger import PageLedger
    from eikon_engine.browser.worker import BrowserWorker
    from eikon_engine.skills.registry import SkillRegistry
    from eikon_engine.trace.start_state import SessionStorage, StorageState

TICK_MS: Final = 500.0
NATURAL_TICK_MS: Final = 50.0
"""Longest clock step, in ms, of a replay of a natural-clock recording."""


@asynccontextmanager
async def open_recorder(
    directory: Path,
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
    given = _given(chosen)
    async with launch_browser(launch) as launched, AsyncExitStack() as stack:
        session_options = _session_options(chosen, await _environment(launched, chosen), given)
        worker = await _opened(stack, launched, session_options)
        writer = BundleWriter(directory)
        worker.session.uploads = writer.files
        capture = NetworkCapture(worker.session, writer.network)
        await capture.start()
        responses = _responses(directory, worker, chosen)
        ask = chosen.ask if responses is None else responses.client
        recorder = MissionRecorder(worker, writer, capture, skills or default_skills(), chosen, ask)
        start = await keep_start(worker, writer, session_options)
        environment = await _seen(worker, session_options.environment)
        environment = without_secrets(worker.session, environment)
        writer.begin(_clean_header(worker, _header(mission_text, mission_id, environment, start, chosen)))
        async with _ended(recorder, writer, capture, worker, chosen):
            with responses or nullcontext():
                yield recorder


def _responses(directory: Path, worker: BrowserWorker, options: RecordOptions) -> KeptResponses | None:
    """Return the capture of completions; None if the caller stores them."""
    if not options.keeps_responses:
        return None

    def clean(text: str) -> str:
        return worker.session.redactor.text(text)  # looked up on every call: a new secret replaces the redactor

    return KeptResponses(directory, options.ask, clean, options.new_id)


def _session_options(
    options: RecordOptions, environment: Environment, given: tuple[StorageState | None, SessionStorage]
) -> SessionOptions:
    """Build the session options and decide whether to search for secrets."""
    found = FoundSecrets(options.redaction, options.new_key()) if options.redact else None
    storage_state, session_storage = given
    return SessionOptions(
        environment=environment,
        storage_state=storage_state,
        session_storage=session_storage,
        secrets=Secrets(options.secrets),
        kept_secrets=frozenset(options.secrets),
        natural=options.clock == "natural",
        found=found,
        stand_ins=found.stand_ins if found is not None else StandIns(),
    )


def _given(options: RecordOptions) -> tuple[StorageState | None, SessionStorage]:
    demand_names(options.variables, "RecordOptions.variables")
    given = options.storage_state
    return None if given is None else read_storage_state(given), read_session_storage(options.session_storage)


async def _opened(stack: AsyncExitStack, launched: LaunchedBrowser, options: SessionOptions) -> BrowserWorker:
    """Open the worker; translate trace errors, because here the caller chose the environment."""
    try:
        return await stack.enter_async_context(open_worker(launched.browser, options, LiveTraffic()))
    except TraceFieldError as error:
        message = f"RecordOptions: {error.message}"
        raise UsageError(message) from error


async def _seen(worker: BrowserWorker, environment: Environment) -> Environment:
    page = worker.session.page(0)
    return environment if page is None else environment.model_copy(update={"page_view": await see(page)})


def _header(
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


def _clean_header(worker: BrowserWorker, header: ExecutionTrace) -> ExecutionTrace:
    redactor = worker.session.redactor
    variables = {name: None if value is None else redactor.text(value) for name, value in header.variables.items()}
    return header.model_copy(update={"mission_text": redactor.text(header.mission_text), "variables": variables})


@asynccontextmanager
async def _ended(
    recorder: MissionRecorder,
    writer: BundleWriter,
    capture: NetworkCapture,
    worker: BrowserWorker,
    options: RecordOptions,
) -> AsyncIterator[None]:
    """Complete the bundle, however the mission ends."""
    ledger = worker.session.ledger
    try:
        try:
            yield
        finally:
            await capture.close()
        _demand_sound(ledger)
    except BaseException as error:
        for each in (error, ledger.fault) if ledger.fault not in (None, error) else (error,):
            writer.add_failure(Failure(message=worker.session.redactor.text(describe_error(each))))
        recorder.finish("failed" if isinstance(error, Exception) else "aborted")
        raise
    finally:
        try:
            _warn(writer, capture, worker)
        finally:
            writer.end(options.now(), recorder.status)
            keep_secrets_out(writer.directory, worker.session)


def _demand_sound(ledger: PageLedger) -> None:
    if ledger.fault is not None:
        raise ledger.fault


def _warn(writer: BundleWriter, capture: NetworkCapture, worker: BrowserWorker) -> None:
    """Write the warnings of capture and network."""
    for warning in (*capture.warnings, *worker.network().notes):
        writer.warn(warning)


async def _environment(launched: LaunchedBrowser, options: RecordOptions) -> Environment:
    start = options.clock_start or options.now()
    native = await native_browser(launched.browser)
    headers = {name: Redactor(options.secrets).text(value) for name, value in options.extra_http_headers.items()}
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
