"""Attach to a browser context that an agent or a person drives: its pages, network and calls.

The context changes in four ways that neither pages nor owner notice: our init scripts run in new documents, it has a
selector engine of ours, the HTTP cache is disabled, and we listen to its events.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from eikon_engine.browser.actions.effect import require_page
from eikon_engine.browser.attach.client_views import ClientViews, internal_calls
from eikon_engine.browser.attach.element_probe import PROBE_ENGINE, PROBE_ENGINE_SOURCE
from eikon_engine.browser.attach.traffic import AttachedTraffic
from eikon_engine.browser.environment import (
    NativeBrowser,
    fonts_digest,
    platform_name,
    read_native_browser,
    read_page_view,
)
from eikon_engine.browser.observation import capture_page
from eikon_engine.browser.page_clock import NaturalClock
from eikon_engine.browser.page_scripts.loader import join_scripts, load_script
from eikon_engine.browser.page_tracker import PageTracker
from eikon_engine.browser.playwright_internals import add_selector_engine, context_options, impl_of
from eikon_engine.browser.redaction import redact_snapshot
from eikon_engine.browser.session import Session, SessionOptions, init_scripts
from eikon_engine.browser.stabilizer import PageStabilizer
from eikon_engine.browser.traffic.capture import NetworkCapture
from eikon_engine.errors import UsageError
from eikon_engine.secrets.redaction import Redactor
from eikon_engine.secrets.stand_ins import StandInMap
from eikon_engine.trace.base_urls import build_redactor
from eikon_engine.trace.environment import Environment, Geolocation, Viewport
from eikon_engine.trace.variables import SecretValues

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from playwright.async_api import Browser, BrowserContext, Page

    from eikon_engine.browser.playwright_internals import ClientObject
    from eikon_engine.dom import PageSnapshot
    from eikon_engine.network.store import NetworkWriter
    from eikon_engine.redact.secret_detector import SecretDetector
    from eikon_engine.trace.environment import PageEnvironment, SessionStorage, StorageState

NATURAL_TICK_MS: Final = 50.0
"""Longest clock step, in ms, of a replay of a natural-clock recording."""
ATTACHED_SCRIPTS: Final = (
    "init_attached_bindings.js",
    "init_reports.js",
    "init_attached_sockets.js",
    "init_attached_uploads.js",
    "init_hit_targets.js",
    "init_attached_long_tasks.js",
)
"""Init scripts that only attached contexts have: they report what the protocol does not."""
_with_engine: Final[WeakSet[ClientObject]] = WeakSet()
"""Contexts that have our selector engine: it stays, and several recordings may observe one context."""
BLANK_URLS: Final = ("", "about:blank", "chrome://newtab/", "chrome://new-tab-page/")
_UNSUPPORTED_OPTIONS: Final = {
    "bypassCSP": "pages ran without their content security policy",
    "offline": "the context was offline",
    "httpCredentials": "the browser answered HTTP authentication",
    "clientCertificates": "the browser used client certificates",
}
"""Context options that replays do not reproduce, with their effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedContext:
    """A context we are attached to."""

    session: Session
    capture: NetworkCapture
    views: ClientViews
    storage_state: StorageState
    """Storage state at the start."""
    warnings: tuple[str, ...]

    @property
    def environment(self) -> Environment:
        """Return the environment."""
        return self.session.environment

    @property
    def session_storage(self) -> SessionStorage:
        """Return the session storage at the start: none, as no document is loaded yet."""
        return {}

    async def close(self) -> None:
        """Read pending data and detach."""
        from playwright.async_api import Error

        with internal_calls():
            try:
                with suppress(Error):  # the context is gone
                    await self.capture.close()
                await self.session.traffic.stop()
            finally:
                self.views.remove_listeners()


def require_context(wrapper: object) -> object:
    """Return the context of a page, or the context itself.

    Raises:
        UsageError: it is neither a context nor a page.
    """
    kind = type(wrapper).__name__
    if not type(wrapper).__module__.startswith("playwright.") or kind not in {"BrowserContext", "Page"}:
        message = f"cannot record {type(wrapper).__qualname__}: expected a Playwright BrowserContext or Page"
        raise UsageError(message)
    return wrapper.context if kind == "Page" else wrapper  # type: ignore[attr-defined] # a Page has one


async def attach(
    client_object: object,
    *,
    secrets: Mapping[str, str],
    detector: SecretDetector | None,
    network: NetworkWriter,
    random_seed: int,
    on_error: Callable[[Exception], None],
) -> AttachedContext:
    """Attach to a context without a loaded document; runs in the event loop of its client.

    Raises:
        UsageError: a document is already loaded, or the browser is not Chromium.
    """
    with internal_calls():
        options = context_options(client_object)
        views = ClientViews(on_error)
        context = views.context(client_object)
        _require_blank_pages(context)
        state: Any = await context.storage_state(indexed_db=True)
        environment, clock = await _environment(context, options, secrets, random_seed)
        chosen = _session_options(environment, secrets, detector)
        return await _attach_session(views, context, clock, options, chosen, network=network, state=state)


def _session_options(
    environment: Environment, secrets: Mapping[str, str], found: SecretDetector | None
) -> SessionOptions:
    return SessionOptions(
        environment=environment,
        secrets=SecretValues(secrets),
        redacted_secrets=frozenset(secrets),
        natural_clock=True,
        secret_detector=found,
        stand_ins=found.stand_ins if found is not None else StandInMap(),
    )


async def _attach_session(  # noqa: PLR0913 - the parts of a session
    views: ClientViews,
    context: BrowserContext,
    clock: NaturalClock,
    options: Mapping[str, Any],
    chosen: SessionOptions,
    *,
    network: NetworkWriter,
    state: StorageState,
) -> AttachedContext:
    tracker = PageTracker(context, handles_dialogs=False)
    stabilizer = PageStabilizer(clock, tracker, chosen.environment.tick_ms)
    stabilizer.timeline.has_acting_phase = True
    traffic = AttachedTraffic()
    secrets = chosen.secrets.values
    session = Session(
        context=context,
        tracker=tracker,
        stabilizer=stabilizer,
        environment=chosen.environment,
        secrets=chosen.secrets,
        redactor=build_redactor(dict(secrets), chosen.urls, chosen.stand_ins),
        secret_restorer=Redactor(secrets, chosen.stand_ins),
        secret_detector=chosen.secret_detector,
        redacted_names=chosen.redacted_secrets,
        traffic=traffic,
    )
    await traffic.start(session)
    await _prepare_documents(context, chosen.environment)
    capture = NetworkCapture(session, network)
    await capture.start()
    tracker.take_events()
    return AttachedContext(
        session=session,
        capture=capture,
        views=views,
        storage_state=state,
        warnings=tuple(_unsupported_option_warnings(options)),
    )


def _require_blank_pages(context: BrowserContext) -> None:
    browser = context.browser
    if browser is not None and browser.browser_type.name != "chromium":
        message = f"cannot record {browser.browser_type.name}: replays run in Chromium; use Chromium"
        raise UsageError(message)
    for page in context.pages:
        if page.url not in BLANK_URLS:
            message = f"page {page.url} is already loaded; start recording before the first navigation"
            raise UsageError(message)


async def _prepare_documents(context: BrowserContext, environment: Environment) -> None:
    """Add our init scripts; documents that are open already are blank and get them too."""
    blocking = load_script("init_blocking_requests.js")  # it writes to the console, which the agent may read
    scripts = init_scripts(SessionOptions(environment=environment, natural_clock=True))
    added = (*scripts, *map(load_script, ATTACHED_SCRIPTS))
    await context.add_init_script(join_scripts(script for script in added if script != blocking))
    if impl_of(context) not in _with_engine:
        _with_engine.add(impl_of(context))
        await add_selector_engine(context, PROBE_ENGINE, PROBE_ENGINE_SOURCE)


async def _environment(
    context: BrowserContext, options: Mapping[str, Any], secrets: Mapping[str, str], random_seed: int
) -> tuple[Environment, NaturalClock]:
    """Describe the environment of a context from its options and from what its pages report; begin its page time."""
    from importlib.metadata import version

    browser = context.browser
    (view, offset_ms), native = await asyncio.gather(_describe_blank_page(context, options), _native(browser))
    position, fonts = options.get("geolocation"), fonts_digest()
    clock = NaturalClock(round(time.time() * 1000 + offset_ms))
    environment = Environment(
        browser_version=browser.version if browser is not None else "",
        playwright_version=version("playwright"),
        platform=platform_name(),
        viewport=Viewport(width=view.width, height=view.height),
        device_scale_factor=view.device_pixel_ratio,
        locale=options.get("locale") or view.locale,
        timezone=view.timezone,
        user_agent=view.user_agent,
        color_scheme=_choice_or_default(options.get("colorScheme"), ("dark", "no-preference"), "light"),
        reduced_motion="reduce" if view.reduced_motion else "no-preference",
        forced_colors="active" if view.forced_colors else "none",
        has_touch=bool(options.get("hasTouch")),
        is_mobile=bool(options.get("isMobile")),
        permissions=tuple(options.get("permissions") or ()),
        geolocation=None if position is None else Geolocation(**position),
        extra_http_headers=_extra_headers(options, secrets),
        cpu_count=native.cpu_count if native is not None else view.cpu_count,
        device_memory_gb=native.device_memory_gb if native is not None else None,
        page_view=view,
        fonts_digest=fonts,
        clock_start_ms=round(clock.start_ms),
        clock="natural",
        random_seed=random_seed,
        random_source="script",
        tick_ms=NATURAL_TICK_MS,
    )
    return environment, clock


async def _native(browser: Browser | None) -> NativeBrowser | None:
    return None if browser is None else await read_native_browser(browser)


def _extra_headers(options: Mapping[str, Any], secrets: Mapping[str, str]) -> dict[str, str]:
    redact = Redactor(secrets).redact_text
    return {each["name"]: redact(each["value"]) for each in options.get("extraHTTPHeaders", ())}


def _choice_or_default(value: Any, known: tuple[str, ...], other: str) -> Any:  # noqa: ANN401 - an option of the protocol
    return value if value in known else other


async def _describe_blank_page(context: BrowserContext, options: Mapping[str, Any]) -> tuple[PageEnvironment, float]:
    """Return what a page reports, and by how many ms its time is ahead of the time here."""
    page, temporary = await _blank_page(context, options)
    try:
        return await read_page_view(page), await _clock_offset_ms(page)
    finally:
        if temporary is not None:
            await temporary.close()


async def _clock_offset_ms(page: Page) -> float:
    """Return by how much the clock of a page is ahead; 0 for a browser on this machine."""
    before_ms = time.time() * 1000
    page_ms = float(await page.evaluate("Date.now()"))
    after_ms = time.time() * 1000
    return 0.0 if before_ms - 1 <= page_ms <= after_ms else page_ms - (before_ms + after_ms) / 2


async def _blank_page(context: BrowserContext, options: Mapping[str, Any]) -> tuple[Page, BrowserContext | None]:
    """Return an open page, or a new page in a temporary context with the same options and that context."""
    if context.pages:
        return context.pages[0], None
    browser = context.browser
    if browser is None:
        message = "the context has no page and no browser to open one; open a page first"
        raise UsageError(message)
    temporary = await _clone_context(browser, options)
    return await temporary.new_page(), temporary


async def _clone_context(browser: Browser, options: Mapping[str, Any]) -> BrowserContext:
    viewport = options.get("viewport")
    return await browser.new_context(
        viewport=viewport,
        no_viewport=True if options.get("noDefaultViewport") else None,
        device_scale_factor=options.get("deviceScaleFactor"),
        is_mobile=options.get("isMobile"),
        has_touch=options.get("hasTouch"),
        locale=options.get("locale"),
        timezone_id=options.get("timezoneId"),
        user_agent=options.get("userAgent"),
        color_scheme=options.get("colorScheme"),
        reduced_motion=options.get("reducedMotion"),
        forced_colors=options.get("forcedColors"),
    )


def _unsupported_option_warnings(options: Mapping[str, Any]) -> list[str]:
    return [
        f"{what}; replays do not reproduce that" for name, what in _UNSUPPORTED_OPTIONS.items() if options.get(name)
    ]


async def take_snapshot(session: Session, page: int) -> PageSnapshot:
    """Take a redacted DOM snapshot of an open page.

    Raises:
        PageMissingError: the page is not open.
    """
    with internal_calls():
        return redact_snapshot(session, await capture_page(require_page(session, page)))
