"""Open a browser context from an environment, so that pages see the same in recording and replay."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.browser.browser_storage import CookieReader, open_page_with_session_storage
from eikon_engine.browser.launch import proxy_settings
from eikon_engine.browser.page_clock import NaturalClock, PageClock, SteppedClock
from eikon_engine.browser.page_scripts.loader import (
    call_script,
    join_scripts,
    load_script,
    stored_scripts_init,
    worker_script,
)
from eikon_engine.browser.page_tracker import PageTracker
from eikon_engine.browser.playwright_errors import first_line, is_target_gone
from eikon_engine.browser.request_bodies import RequestBodies
from eikon_engine.browser.request_tracker import TrafficLog
from eikon_engine.browser.stabilizer import PageStabilizer
from eikon_engine.errors import TraceFieldError
from eikon_engine.redact.digests import DigestSources
from eikon_engine.secrets.detection import MIN_PASSWORD_LENGTH
from eikon_engine.secrets.redaction import PLACEHOLDER_PREFIX, Redactor, secret_names_in
from eikon_engine.secrets.stand_ins import StandInMap
from eikon_engine.trace.base_urls import BaseUrlMap, build_redactor
from eikon_engine.trace.variables import SecretValues

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping

    from playwright.async_api import Browser, BrowserContext, Page, Request
    from pydantic import JsonValue

    from eikon_engine.browser.page_timeline import PageTimeline
    from eikon_engine.browser.traffic.live import Traffic
    from eikon_engine.browser.traffic.streams import DevToolsSession
    from eikon_engine.files.blobs import BlobStore
    from eikon_engine.network.long_tasks import LongTask
    from eikon_engine.redact.secret_detector import SecretDetector
    from eikon_engine.secrets.redaction import FoundSecret
    from eikon_engine.secrets.search import RedactionRules
    from eikon_engine.trace.environment import Environment
    from eikon_engine.trace.target import IsSameText


STATIC_INIT_SCRIPTS: Final = (
    "init_performance.js",
    "init_streams.js",
    "init_dom_access.js",
    "init_blocking_requests.js",
    "init_downloads.js",
    "init_browser_work.js",
    "init_page_activity.js",
)
"""Init scripts without parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """Everything a session is opened with, apart from its browser."""

    environment: Environment
    storage_state: dict[str, Any] | None = None
    """Initial cookies, local storage and IndexedDB, in Playwright's format."""
    session_storage: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Initial session storage of the first page, by origin."""
    secrets: SecretValues = field(default_factory=SecretValues)
    redacted_secrets: frozenset[str] = frozenset()
    """Names of the secrets that are redacted from the start; others are once pages receive them."""
    javascript_enabled: bool = True
    """Whether pages may run JavaScript."""
    languages: tuple[str, ...] = ()
    """`navigator.languages`, if it is more than the locale: for a user's own browser."""
    natural_clock: bool = False
    """Whether the page clock runs by itself: for recordings only, replays step it."""
    urls: BaseUrlMap = field(default_factory=BaseUrlMap)
    """Maps URLs of the recording to those of the visited deployment."""
    secret_detector: SecretDetector | None = None
    """Detects secrets while pages run; None in a replay, and if a recording detects none."""
    stand_ins: StandInMap = field(default_factory=StandInMap)
    """Stand-ins of detected secrets: those of `secret_detector`, or those of the replayed recording."""
    long_tasks: tuple[LongTask, ...] = ()
    """Long tasks of the recorded pages: with the stepped clock, timers neither begin nor fire during them."""
    status_texts: tuple[dict[str, str], tuple[str, ...]] = ({}, ())
    """Reason phrases that pages of a sealed replay see: by status and URL, then the origins that send none."""
    proxy: str | None = None
    """Proxy for all traffic that bypasses routes, loopback included; direct if None."""
    is_live: bool = False
    """Whether the proxy lets requests through to the network."""
    secret_origins: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Origins into which a secret may be typed, by its name; all if it is absent."""


@dataclass(slots=True, kw_only=True)
class Session:
    """A context with its page tracker, clock and secrets; mutable."""

    context: BrowserContext
    tracker: PageTracker
    stabilizer: PageStabilizer
    environment: Environment
    secrets: SecretValues
    redactor: Redactor
    """Redacts the secrets that pages have received by now."""
    secret_restorer: Redactor
    """Restores all secrets."""
    traffic: Traffic
    secret_origins: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Origins into which a secret may be typed, by its name; all if it is absent."""
    redacted_names: frozenset[str] = frozenset()
    """Names of the secrets that are redacted by now."""
    secret_detector: SecretDetector | None = None
    """Detects secrets while pages run."""
    digest_memory: DigestSources = field(default_factory=DigestSources)
    """What was digested before all secrets were known."""
    redacted_scripts: dict[str, str] = field(default_factory=dict)
    """Digests of redacted inline scripts, by the digests of the scripts that pages have."""
    inline_scripts: dict[str, str] = field(default_factory=dict)
    """Texts of inline scripts, by digest, in which a document of this run differs from the recorded one; of both."""
    has_short_password: bool = False
    """Whether a password was typed that is too short to be replaced."""
    is_live_now: bool = False
    """Whether the live site answers from now on, after a recording did."""
    serves_other_recording: bool = False
    """Whether pages get the responses of another recording than that of the bundle."""
    redirects_served: int = 0
    """How many recorded document redirects were replayed by a navigation of our own."""
    requested_url: str = ""
    """URL of the `navigate` action that is being performed, with its fragment."""
    urls: BaseUrlMap = field(default_factory=BaseUrlMap)
    """URL mapping of `redactor`."""
    uploads: BlobStore | None = None
    """Contents of uploaded files."""
    request_bodies: RequestBodies = field(default_factory=RequestBodies)
    is_same_text: IsSameText | None = None
    """Tells which texts of a target are the same though they differ: in a live replay, up to present times."""
    held_modifiers: dict[Page, frozenset[str]] = field(default_factory=dict)
    """Modifier keys that actions hold, by page."""
    pointers: dict[Page, tuple[float, float]] = field(default_factory=dict)
    """Where actions left the mouse pointer, by page, in CSS pixels; of other pages, its position is unknown."""
    devtools_listeners: list[Callable[[DevToolsSession], None]] = field(default_factory=list)
    """Called with the DevTools session of each recorded page before it is enabled."""
    cookies: CookieReader = field(init=False)
    traffic_log: TrafficLog = field(init=False)

    def __post_init__(self) -> None:
        """Read cookies of the context, and log its traffic."""
        self.cookies = CookieReader(self.context)
        self.traffic_log = TrafficLog(self.context, self.timeline)

    @property
    def timeline(self) -> PageTimeline:
        """The position of the session: page time, and the phases of its actions."""
        return self.stabilizer.timeline

    @property
    def follows_schedule(self) -> bool:
        """Whether a recorded schedule decides when events are delivered."""
        return self.stabilizer.pending_deliveries is not None and not self.is_live_now

    def page(self, ordinal: int) -> Page | None:
        """Return a page by ordinal; None if it is not open."""
        return dict(self.tracker.open_pages()).get(ordinal)

    def secret_name(self, text: str) -> str | None:
        """Return the name of the secret that equals a text, if any."""
        return next((name for name, value in self.secrets.values.items() if value == text), None)

    def redact_typed_secret(self, text: str) -> None:
        """Redact a text that is typed as a secret from now on, under a new name if it has none.

        A very short one without a name stays as it is: neither it nor a stand-in can be distinguished from other text.
        """
        name = self.secret_name(text)
        if not text or (name is None and len(text) < MIN_PASSWORD_LENGTH):
            self.has_short_password = self.has_short_password or bool(text)
            return
        if name is None:
            taken = self.secrets.values.keys()
            names = ("PASSWORD", *(f"PASSWORD_{number}" for number in range(2, len(taken) + 3)))
            name = next(name for name in names if name not in taken)
            self.secrets = SecretValues({**self.secrets.values, name: text})
            self.secret_restorer = Redactor(self.secrets.values, self.redactor.stand_ins)
        self._redact_secrets({name})

    def restore_secrets(self, data: bytes) -> bytes:
        """Replace stand-ins by values in what pages are served; those secrets are redacted from now on."""
        self._redact_secrets(secret_names_in(data.decode(errors="replace")) if PLACEHOLDER_PREFIX in data else ())
        return self.secret_restorer.restore_bytes(data, is_own=not self.serves_other_recording)

    def restore_secrets_in_json(self, value: JsonValue) -> JsonValue:
        """Replace stand-ins in a JSON value, see `restore_secrets`."""
        self._redact_secrets(secret_names_in(json.dumps(value)))
        return self.secret_restorer.restore_json(value)

    def redactor_for_query(self, query: str) -> Redactor:
        """Return a redactor for the result of a query: it also knows the secrets that `query` names.

        A query changes no state, so that pages read the same before and after it.
        """
        return build_redactor(
            self._secret_values(self.redacted_names.union(secret_names_in(query))), self.urls, self.redactor.stand_ins
        )

    def _redact_secrets(self, names: Iterable[str]) -> None:
        kept = self.redacted_names.union(names) & self.secrets.values.keys()
        if kept != self.redacted_names:
            self.redacted_names = kept
            if self.secret_detector is not None:
                for value in self._secret_values(kept).values():
                    self.secret_detector.exempt(value, ())
            self.redactor = build_redactor(self._secret_values(kept), self.urls, self.redactor.stand_ins)

    def _secret_values(self, names: Iterable[str]) -> dict[str, str]:
        return {name: self.secrets.values[name] for name in names if name in self.secrets.values}

    def start_secret_detection(
        self, rules: RedactionRules, key: bytes, known: Iterable[FoundSecret] = ()
    ) -> SecretDetector:
        """Detect secrets from now on, and replace `known` ones as before; see `SecretDetector`."""
        from eikon_engine.redact.secret_detector import SecretDetector

        self.secret_detector = SecretDetector(rules, key, known=known, stand_ins=self.redactor.stand_ins)
        return self.secret_detector

    def detect_in_request(self, request: Request) -> None:
        """Search what a page sends for secrets, before any of it is written."""
        if self.secret_detector is None:
            return
        discover = self.secret_detector.search
        body = None if self.request_bodies.is_awaited(request) else self.request_bodies.of(request)
        self.secret_detector.add(discover.in_url(request.url), by_page=True)
        self.secret_detector.add(discover.in_headers(request.headers.items()), by_page=True)
        if body:
            self.secret_detector.add(discover.in_body(body, request.headers.get("content-type", "")), by_page=True)

    def detect_in_text(self, text: str, *, by_page: bool) -> None:
        """Search a message or a URL for secrets; `by_page` means that a page wrote it."""
        if self.secret_detector is not None:
            self.secret_detector.add(self.secret_detector.search.in_text(text), by_page=by_page)
            self.secret_detector.add(self.secret_detector.search.in_url(text), by_page=by_page)


@asynccontextmanager
async def open_session(browser: Browser, options: SessionOptions, traffic: Traffic) -> AsyncIterator[Session]:
    """Open a context with one page; routes are set before the page opens."""
    clock: PageClock = NaturalClock() if options.natural_clock else SteppedClock()
    context = await _open_context(browser, options, clock)
    tracker: PageTracker | None = None
    try:
        if options.session_storage and options.javascript_enabled:
            async with _rejections_translated():
                await open_page_with_session_storage(context, options.session_storage)
        tracker = PageTracker(context, now_ms=lambda: clock.now_ms)
        browser.on("disconnected", tracker.note_browser_gone)
        stabilizer = PageStabilizer(clock, tracker, options.environment.tick_ms)
        stabilizer.timeline.has_acting_phase = options.environment.clock == "natural"
        kept = {name: options.secrets.values[name] for name in options.redacted_secrets}
        session = Session(
            context=context,
            tracker=tracker,
            stabilizer=stabilizer,
            environment=options.environment,
            secrets=options.secrets,
            redactor=build_redactor(kept, options.urls, options.stand_ins),
            secret_restorer=Redactor(options.secrets.values, options.stand_ins),
            secret_detector=options.secret_detector,
            secret_origins=options.secret_origins,
            redacted_names=options.redacted_secrets,
            urls=options.urls,
            traffic=traffic,
        )
        await traffic.start(session)
        if not tracker.pages:
            async with _rejections_translated():
                await context.new_page()
        tracker.take_events()
        yield session
    finally:
        try:
            await traffic.stop()
        finally:
            if tracker is not None:
                browser.remove_listener("disconnected", tracker.note_browser_gone)
            await _close_context(browser, context)


async def _close_context(browser: Browser, context: BrowserContext) -> None:
    from playwright.async_api import Error

    try:
        await context.close()
    except Error as error:
        if browser.is_connected() and not is_target_gone(error):
            raise
        # a browser that is gone has nothing left to close


async def _open_context(browser: Browser, options: SessionOptions, clock: PageClock) -> BrowserContext:
    """Open a context for the environment.

    Raises:
        TraceFieldError: the browser rejects part of the environment, or the storage state.
    """
    async with _rejections_translated():
        context = await browser.new_context(**context_arguments(options))
        if options.javascript_enabled:
            await clock.install(context, options.environment.clock_start_ms)
            is_sealed = options.proxy is not None and not options.is_live
            sealed = (load_script("init_sealed.js"),) if is_sealed else ()
            await context.add_init_script(join_scripts((*init_scripts(options), *sealed)))
    return context


@asynccontextmanager
async def _rejections_translated() -> AsyncIterator[None]:
    """Translate the browser's rejections; some appear only when the first page opens."""
    from playwright.async_api import Error

    try:
        yield
    except Error as error:
        message = f"environment or storage state: rejected by the browser: {first_line(error.message)}"
        raise TraceFieldError(message) from error


def context_arguments(options: SessionOptions) -> dict[str, Any]:
    """Build the arguments of `Browser.new_context`, whose types Playwright does not export."""
    environment = options.environment
    restorer = Redactor(options.secrets.values)
    return {
        "viewport": {"width": environment.viewport.width, "height": environment.viewport.height},
        "device_scale_factor": environment.device_scale_factor,
        "locale": environment.locale,
        "timezone_id": environment.timezone,
        "user_agent": environment.user_agent or None,
        "color_scheme": environment.color_scheme,
        "reduced_motion": environment.reduced_motion,
        "forced_colors": environment.forced_colors,
        "has_touch": environment.has_touch,
        "is_mobile": environment.is_mobile,
        "permissions": list(environment.permissions),
        "geolocation": environment.geolocation.model_dump() if environment.geolocation else None,
        "extra_http_headers": restorer.restore_json(dict(environment.extra_http_headers)) or None,
        "service_workers": "block",
        "accept_downloads": True,
        "java_script_enabled": options.javascript_enabled,
        "storage_state": options.storage_state,
        "proxy": proxy_settings(options.proxy),
    }


def init_scripts(options: SessionOptions) -> tuple[str, ...]:
    """Return the scripts that run in every document, in order; the same in recording and replay."""
    seed, draws_math = options.environment.random_seed, options.environment.random_source == "script"
    determinism = load_script("init_determinism.js")
    comment_end = determinism.index("((seed, drawsMath) =>")
    return (
        load_script("init_natives.js"),
        f"{determinism[:comment_end]}({determinism[comment_end:].strip()})({seed}, {json.dumps(draws_math)});",
        worker_script(seed, draws_math=draws_math, stepped=not options.natural_clock),
        *map(load_script, STATIC_INIT_SCRIPTS),
        stored_scripts_init(),
        machine_script(options),
        *((_long_task_script(options),) if options.long_tasks else ()),
        *((call_script("init_status_texts.js", *options.status_texts),) if any(options.status_texts) else ()),
    )


def _long_task_script(options: SessionOptions) -> str:
    """Return the script that postpones timers during the long tasks of the recorded pages."""
    tasks = [(each.begun_ms, each.ended_ms) for each in options.long_tasks]
    return call_script("init_long_tasks.js", tasks, options.environment.clock_start_ms)


def machine_script(options: SessionOptions) -> str:
    """Return the script that makes pages see the recorded machine."""
    source = load_script("init_machine.js")
    machine: dict[str, object] = {
        "hardwareConcurrency": options.environment.cpu_count,
        "deviceMemory": options.environment.device_memory_gb,
    }
    if options.languages:
        machine |= {"languages": options.languages, "language": options.languages[0]}
    body = source[source.index("(machine =>") :].strip()
    return f"{body}({json.dumps(machine)});"
