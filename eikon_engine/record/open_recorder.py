"""Open a recorder: browser, session, network capture and bundle."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
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
from eikon_engine.browser.page_scripts.loader import load_script
from eikon_engine.browser.session import SessionOptions
from eikon_engine.browser.traffic.capture import NetworkCapture
from eikon_engine.browser.traffic.live import LiveTraffic
from eikon_engine.browser.worker import open_worker
from eikon_engine.errors import TraceFieldError, UsageError
from eikon_engine.record.options import RecordOptions
from eikon_engine.record.recorder import MissionRecorder
from eikon_engine.record.recording import Recording, new_secret_detector
from eikon_engine.record.start_state import read_session_storage
from eikon_engine.secrets.redaction import Redactor
from eikon_engine.secrets.stand_ins import StandInMap
from eikon_engine.skills import default_skills
from eikon_engine.trace.environment import Environment, read_storage_state
from eikon_engine.trace.variables import SecretValues, one_name_per_value, require_variable_names

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from eikon_engine.browser.launch import LaunchedBrowser
    from eikon_engine.browser.page_tracker import PageTracker
    from eikon_engine.browser.session import Session
    from eikon_engine.browser.worker import BrowserWorker
    from eikon_engine.record.bundle_writer import BundleWriter
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
        recording = Recording(
            Path(directory),
            chosen,
            mission_text=mission_text,
            mission_id=mission_id,
            variables=chosen.variables,
            should_store_responses=chosen.should_store_responses,
        )
        async with recording.discarded_on_error():
            recording.start(await _observe(worker, recording.writer, session_options))
        async with _finished(recording):
            yield MissionRecorder(worker, recording, skills or default_skills(), chosen.variables)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchedContext:
    """A context of a browser that we launched."""

    session: Session
    capture: NetworkCapture
    environment: Environment
    storage_state: StorageState
    session_storage: SessionStorage

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the timeouts after which pages were not waited for any longer."""
        return tuple(self.session.stabilizer.notes)

    async def close(self) -> None:
        """Read pending data."""
        await self.capture.close()


async def _observe(worker: BrowserWorker, writer: BundleWriter, options: SessionOptions) -> LaunchedContext:
    """Capture the network, and read the start state.

    Cookies are those the browser accepted; the rest is the given state, because reading it back would load pages.
    """
    session = worker.session
    session.uploads = writer.files
    capture = NetworkCapture(session, writer.network)
    await capture.start()
    await session.context.add_init_script(load_script("init_reports.js"))
    page = session.page(0)
    view = None if page is None else await read_page_view(page)
    return LaunchedContext(
        session=session,
        capture=capture,
        environment=options.environment if view is None else options.environment.model_copy(update={"page_view": view}),
        storage_state={**(options.storage_state or {"origins": []}), "cookies": await session.context.cookies()},
        session_storage={origin: {**items} for origin, items in options.session_storage.items()},
    )


@asynccontextmanager
async def _finished(recording: Recording) -> AsyncIterator[None]:
    """Complete the bundle, however the mission ends; an error that a page caused ends it too."""
    try:
        try:
            yield
        finally:
            await recording.context.close()
        _raise_page_error(recording.session.tracker)
    except BaseException as error:
        recording.finish(error)
        raise
    recording.finish()


def _raise_page_error(tracker: PageTracker) -> None:
    if tracker.error is not None:
        raise tracker.error


def _session_options(
    options: RecordOptions, environment: Environment, start_state: tuple[StorageState | None, SessionStorage]
) -> SessionOptions:
    """Build the session options and decide whether to search for secrets."""
    found = new_secret_detector(options)
    storage_state, session_storage = start_state
    secrets = one_name_per_value(options.secrets)
    return SessionOptions(
        environment=environment,
        storage_state=storage_state,
        session_storage=session_storage,
        secrets=SecretValues(secrets),
        redacted_secrets=frozenset(secrets),
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


async def _environment(launched: LaunchedBrowser, options: RecordOptions) -> Environment:
    start = options.clock_start or options.now()
    native = await read_native_browser(launched.browser)
    redact = Redactor(one_name_per_value(options.secrets)).redact_text
    headers = {name: redact(value) for name, value in options.extra_http_headers.items()}
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
