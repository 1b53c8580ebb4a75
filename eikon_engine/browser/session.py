"""One browser context made from an environment: what a page sees is the same when recording and when replaying."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.browser.launch import proxy_settings
from eikon_engine.browser.ledger import PageLedger
from eikon_engine.browser.own_script import keeping_script, own_script
from eikon_engine.browser.page_clock import NaturalClock, PageClock, SteppedClock
from eikon_engine.browser.playwright_errors import first_line, says_gone
from eikon_engine.browser.rest import Rest
from eikon_engine.browser.session_storage import open_filled_page
from eikon_engine.browser.worker_script import worker_script
from eikon_engine.errors import TraceFieldError
from eikon_engine.redact.found import FoundSecrets
from eikon_engine.redact.memory import DigestMemory
from eikon_engine.trace.redaction import MARK_START, Redactor, secrets_named_in
from eikon_engine.trace.relocated_redaction import redactor_for
from eikon_engine.trace.secret_text import Secrets
from eikon_engine.trace.stand_ins import StandIns
from eikon_engine.trace.url_map import UrlMap

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping

    from playwright.async_api import Browser, BrowserContext, Page, Request
    from pydantic import JsonValue

    from eikon_engine.browser.arrivals import DevTools
    from eikon_engine.browser.traffic import Traffic
    from eikon_engine.redact.rules import RedactionRules
    from eikon_engine.trace.blobs import BlobStore
    from eikon_engine.trace.environment import Environment
    from eikon_engine.trace.found_secret import FoundSecret


PLAIN_SCRIPTS: Final = (
    "init_streams.js",
    "init_shadow.js",
    "init_standstill.js",
    "init_downloads.js",
    "init_work.js",
    "init_look.js",
)
"""Init scripts without settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """What a session is made from, beside its browser."""

    environment: Environment
    storage_state: dict[str, Any] | None = None
    """Cookies, local storage and IndexedDB to begin with, in Playwright's format."""
    session_storage: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Session storage of the first page to begin with, by origin."""
    secrets: Secrets = field(default_factory=Secrets)
    kept_secrets: frozenset[str] = frozenset()
    """Names of the secrets that are kept out of everything from the start; others from when pages are given them."""
    scripts: bool = True
    """Whether pages may run JavaScript."""
    languages: tuple[str, ...] = ()
    """What pages are told of preferred languages, where that is more than the locale: a browser of somebody's own."""
    natural: bool = False
    """Whether the page's clock runs by itself: for recordings only, a replay steps it."""
    urls: UrlMap = field(default_factory=UrlMap)
    """From the addresses of the recording to those of the deployment that is visited."""
    found: FoundSecrets | None = None
    """Secrets that are found while pages run; None in a replay, and where a recording looks for none."""
    stand_ins: StandIns = field(default_factory=StandIns)
    """What stands for found secrets: those of `found`, or those of the recording that is replayed."""
    proxy: str | None = None
    """Where everything goes that no route meets, loopback included; the network if left out."""


@dataclass(slots=True, kw_only=True)
class Session:
    """A context with its ledger, its clock and its secrets; mutable, because it is a running thing."""

    context: BrowserContext
    ledger: PageLedger
    rest: Rest
    environment: Environment
    secrets: Secrets
    redactor: Redactor
    """Knows the secrets that are kept out by now."""
    restorer: Redactor
    """Knows all secrets."""
    traffic: Traffic
    kept: frozenset[str] = frozenset()
    """Names of the secrets that are kept out by now."""
    found: FoundSecrets | None = None
    """Secrets that are found while pages run."""
    memory: DigestMemory = field(default_factory=DigestMemory)
    """What was digested while secrets were still being found."""
    scripts: dict[str, str] = field(default_factory=dict)
    """Digests of inline scripts without secrets, by those of the scripts that pages have."""
    visits_site: bool = False
    """Whether a site answers from now on, though a recording answered before."""
    redirects_served: int = 0
    """How many recorded redirects of documents were replayed by a navigation of our own."""
    urls: UrlMap = field(default_factory=UrlMap)
    """What `redactor` maps addresses by."""
    uploads: BlobStore | None = None
    """Where the content of uploaded files lies."""
    hearers: list[Callable[[DevTools], None]] = field(default_factory=list)
    """What is given the protocol session of each page that a recording listens to, before it is switched on."""

    @property
    def follows(self) -> bool:
        """Say whether a recording says when everything comes."""
        return self.rest.agenda is not None and not self.visits_site

    def page(self, ordinal: int) -> Page | None:
        """Return a page by ordinal; None if it is not open."""
        return dict(self.ledger.open_pages()).get(ordinal)

    def secret_name(self, text: str) -> str | None:
        """Return the name of the secret that a text is, if it is one."""
        return next((name for name, value in self.secrets.values.items() if value == text), None)

    def keep_secret(self, text: str) -> None:
        """Keep a text that is typed as a secret out of everything from now on, under a new name if it has none."""
        if not text:
            return
        name = self.secret_name(text)
        if name is None:
            taken = self.secrets.values.keys()
            names = ("PASSWORD", *(f"PASSWORD_{number}" for number in range(2, len(taken) + 3)))
            name = next(name for name in names if name not in taken)
            self.secrets = Secrets({**self.secrets.values, name: text})
            self.restorer = Redactor(self.secrets.values, self.redactor.stand_ins)
        self._keep({name})

    def put_back(self, data: bytes) -> bytes:
        """Return what pages are given, values in it: those are kept out of everything from now on."""
        self._keep(secrets_named_in(data.decode(errors="replace")) if MARK_START in data else ())
        return self.restorer.restore(data)

    def put_back_texts(self, value: JsonValue) -> JsonValue:
        """Return a JSON value for pages, see `put_back`."""
        self._keep(secrets_named_in(json.dumps(value)))
        return self.restorer.restore_texts(value)

    def redactor_for(self, asked: str) -> Redactor:
        """Return what tells of a question to pages: it knows the secrets that `asked` names, beside those kept out.

        A question changes nothing, so that what pages show before it and after it reads the same.
        """
        return redactor_for(self._values(self.kept.union(secrets_named_in(asked))), self.urls, self.redactor.stand_ins)

    def _keep(self, names: Iterable[str]) -> None:
        kept = self.kept.union(names) & self.secrets.values.keys()
        if kept != self.kept:
            self.kept = kept
            self.redactor = redactor_for(self._values(kept), self.urls, self.redactor.stand_ins)

    def _values(self, names: Iterable[str]) -> dict[str, str]:
        return {name: self.secrets.values[name] for name in names if name in self.secrets.values}

    def find_secrets(self, rules: RedactionRules, key: bytes, known: Iterable[FoundSecret] = ()) -> FoundSecrets:
        """Find secrets in what comes from now on, and replace them as those that are `known`; see `FoundSecrets`."""
        self.found = FoundSecrets(rules, key, known=known, stand_ins=self.redactor.stand_ins)
        return self.found

    def learn_request(self, request: Request) -> None:
        """Look for secrets in what a page sends, before any of it is written."""
        if self.found is None:
            return
        discover, body = self.found.discover, request.post_data_buffer
        self.found.learn(discover.in_address(request.url), made=True)
        self.found.learn(discover.in_headers(request.headers.items()), made=True)
        if body:
            self.found.learn(discover.in_body(body, request.headers.get("content-type", "")), made=True)

    def learn_text(self, text: str, *, made: bool) -> None:
        """Look for secrets in a message or an address; `made` says that a page wrote it."""
        if self.found is not None:
            self.found.learn(self.found.discover.in_text(text), made=made)
            self.found.learn(self.found.discover.in_address(text), made=made)


@asynccontextmanager
async def open_session(browser: Browser, options: SessionOptions, traffic: Traffic) -> AsyncIterator[Session]:
    """Open a context with one page in it, its routes set before the page opens."""
    clock: PageClock = NaturalClock() if options.natural else SteppedClock()
    context = await _open_context(browser, options, clock)
    try:
        if options.session_storage and options.scripts:
            async with _accepted():
                await open_filled_page(context, options.session_storage)
        ledger = PageLedger(context)
        browser.on("disconnected", lambda _browser: ledger.mark_dead())
        rest = Rest(clock, ledger, options.environment.tick_ms)
        rest.acts_apart = options.environment.clock == "natural"
        kept = {name: options.secrets.values[name] for name in options.kept_secrets}
        session = Session(
            context=context,
            ledger=ledger,
            rest=rest,
            environment=options.environment,
            secrets=options.secrets,
            redactor=redactor_for(kept, options.urls, options.stand_ins),
            restorer=Redactor(options.secrets.values, options.stand_ins),
            found=options.found,
            kept=options.kept_secrets,
            urls=options.urls,
            traffic=traffic,
        )
        await traffic.start(session)
        if not ledger.pages:
            async with _accepted():
                await context.new_page()
        ledger.take()
        yield session
    finally:
        await traffic.stop()
        await _close(browser, context)


async def _close(browser: Browser, context: BrowserContext) -> None:
    from playwright.async_api import Error

    try:
        await context.close()
    except Error as error:
        if browser.is_connected() and not says_gone(error):
            raise
        # a browser that is gone has nothing left to close


async def _open_context(browser: Browser, options: SessionOptions, clock: PageClock) -> BrowserContext:
    """Open a context as the environment says.

    Raises:
        TraceFieldError: the browser refuses a part of the environment, or the storage state.
    """
    async with _accepted():
        context = await browser.new_context(**context_arguments(options))
        if options.scripts:
            await clock.start(context, options.environment.clock_start_ms)
            for script in init_scripts(options):
                await context.add_init_script(script)
            if options.proxy is not None:
                await context.add_init_script(own_script("init_sealed.js"))
    return context


@asynccontextmanager
async def _accepted() -> AsyncIterator[None]:
    """Report what the browser refuses to be set up with; some of it, only when the first page opens."""
    from playwright.async_api import Error

    try:
        yield
    except Error as error:
        message = f"environment or storage state: the browser refuses it: {first_line(error.message)}"
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
        "extra_http_headers": restorer.restore_texts(dict(environment.extra_http_headers)) or None,
        "service_workers": "block",
        "accept_downloads": True,
        "java_script_enabled": options.scripts,
        "storage_state": options.storage_state,
        "proxy": proxy_settings(options.proxy),
    }


def init_scripts(options: SessionOptions) -> tuple[str, ...]:
    """Return the scripts that run in every document, in their order; the same ones in recording and replay."""
    seed = options.environment.random_seed
    determinism = own_script("init_determinism.js")
    comment_end = determinism.index("(seed =>")
    return (
        f"{determinism[:comment_end]}({determinism[comment_end:].strip()})({seed});",
        worker_script(seed, stepped=not options.natural),
        *map(own_script, PLAIN_SCRIPTS),
        keeping_script(),
        surroundings_script(options),
    )


def surroundings_script(options: SessionOptions) -> str:
    """Return the script that tells pages of the machine what the recording knew of it."""
    source = own_script("init_surroundings.js")
    told: dict[str, object] = {
        "hardwareConcurrency": options.environment.cpu_count,
        "deviceMemory": options.environment.device_memory_gb,
    }
    if options.languages:
        told |= {"languages": options.languages, "language": options.languages[0]}
    body = source[source.index("(told =>") :].strip()
    return f"{body}({json.dumps(told)});"
