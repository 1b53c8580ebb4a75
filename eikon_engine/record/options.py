"""Options of recordings."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

from eikon_engine.certify.options import CertifyOptions
from eikon_engine.files.wall_clock import random_id, random_key, utc_now
from eikon_engine.replay.option_checks import OptionChecks
from eikon_engine.secrets.search import RedactionRules
from eikon_engine.skills.registry import SkillRegistry
from eikon_engine.trace.environment import DEFAULT_VIEWPORT, Geolocation, Viewport

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from eikon_engine.llm import CompletionClient

ColorScheme: TypeAlias = Literal["light", "dark", "no-preference"]
ReducedMotion: TypeAlias = Literal["reduce", "no-preference"]
ForcedColors: TypeAlias = Literal["active", "none"]
ClockMode: TypeAlias = Literal["stepped", "natural"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOptions:
    """Options of `open_recorder`. A path may be given as text.

    Raises:
        UsageError: a value is not one that its option accepts.
    """

    headless: bool = True
    browser_path: Path | None = None
    viewport: Viewport = DEFAULT_VIEWPORT
    device_scale_factor: float = 1.0
    locale: str = "en-US"
    timezone: str = "UTC"
    color_scheme: ColorScheme = "light"
    user_agent: str | None = None
    """Override of the browser's own user agent."""
    reduced_motion: ReducedMotion = "no-preference"
    forced_colors: ForcedColors = "none"
    has_touch: bool = False
    is_mobile: bool = False
    """Whether the viewport meta tag of a page applies, as on a phone."""
    permissions: tuple[str, ...] = ()
    """Permissions granted to every origin, by Playwright's names: `geolocation`, `clipboard-read` …"""
    geolocation: Geolocation | None = None
    extra_http_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with every request; list confidential values in `secrets` as well."""
    clock_start: datetime | None = None
    """Start time of the page clock; defaults to the time of the recording."""
    clock: ClockMode = "stepped"
    """`stepped`: the page clock only advances with actions; `natural`: it runs in real time. See `docs/recording.md`.
    """
    random_seed: int = 1
    settle_ms: float = 500.0
    """Page time that passes after each action."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Values by name that are never written. A typed password becomes a secret as soon as it is typed."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Values of the `{{name}}` variables in action texts and URLs; the trace stores the name and this value."""
    redact: bool = True
    """Whether undeclared secrets are searched for and replaced by stand-ins; see `docs/redaction.md`."""
    redaction: RedactionRules = field(default_factory=RedactionRules)
    """Additional rules and exceptions for secrets."""
    storage_state: Path | None = None
    """Initial cookies, local storage and IndexedDB (Playwright's storage state)."""
    session_storage: Path | None = None
    """Initial session storage of the first page: a JSON file `{origin: {key: value}}`."""
    completion_client: CompletionClient | None = None
    """Model client for skills; its responses are stored in the bundle for replays."""
    should_store_responses: bool = True
    """Whether the recorder stores the responses of `ask`; False if `ask` does so itself."""
    now: Callable[[], datetime] = utc_now
    """The clock of the recording."""
    new_id: Callable[[], str] = random_id
    """Generates the trace id."""
    new_key: Callable[[], bytes] = random_key
    """Generates the key for stand-ins, which is never stored."""

    def __post_init__(self) -> None:
        """Check every value."""
        checks = OptionChecks(self)
        checks.check_flags("headless", "has_touch", "is_mobile", "redact", "should_store_responses")
        checks.check_choices(
            color_scheme=ColorScheme, reduced_motion=ReducedMotion, forced_colors=ForcedColors, clock=ClockMode
        )
        checks.convert_paths("browser_path", "storage_state", "session_storage")
        checks.check_instance("viewport", Viewport, advice="Pass a Viewport(width=…, height=…).")
        checks.check_duration("device_scale_factor", "device pixels per CSS pixel", advice="Use 1.0 for no scaling.")
        checks.check_text("locale")
        checks.check_text("timezone")
        if self.user_agent is not None:
            checks.check_text("user_agent")
        checks.convert_items("permissions", lambda each: isinstance(each, str), "names of permissions")
        if self.geolocation is not None:
            checks.check_instance("geolocation", Geolocation, advice="Pass a Geolocation(latitude=…, longitude=…).")
        if self.clock_start is not None:
            checks.check_instance("clock_start", datetime, advice="Omit it to start at the current time.")
        checks.check_integer(
            "random_seed", minimum=1, maximum=2**31 - 1, advice="Any such number makes the pages repeatable."
        )
        checks.check_duration("settle_ms", "milliseconds", allows_zero=True, advice="Omit it for 500.")
        checks.check_text_mappings("extra_http_headers", "secrets", "variables")
        _check_shared_options(self, checks)


def _check_shared_options(options: RecordOptions | AttachOptions, checks: OptionChecks) -> None:
    """Check the options that both kinds of recordings have."""
    checks.check_names("secrets", advice="Name it with letters, digits and underscores, such as PASSWORD.")
    checks.check_instance("redaction", RedactionRules, advice="Pass a RedactionRules(…).")
    if options.completion_client is not None:
        checks.check_method("completion_client", "complete", advice="Pass a CompletionClient.")
    checks.check_callables("now", "new_id", "new_key")


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachOptions:
    """Options for recording an agent.

    Raises:
        UsageError: a value is not one that its option accepts.
    """

    mission_id: str | None = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Values by name that are never written. A typed password becomes a secret as soon as it is typed."""
    redact: bool = True
    """Whether undeclared secrets are searched for and replaced by stand-ins; see `docs/redaction.md`."""
    redaction: RedactionRules = field(default_factory=RedactionRules)
    """Additional rules and exceptions for secrets."""
    certify: CertifyOptions | None = field(default_factory=CertifyOptions)
    """How to certify the recording at its end; None to skip certifying."""
    skills: SkillRegistry | None = None
    """Defaults to the built-in and installed skills."""
    completion_client: CompletionClient | None = None
    """Model client for skills; its responses are stored in the bundle for replays."""
    now: Callable[[], datetime] = utc_now
    new_id: Callable[[], str] = random_id
    new_key: Callable[[], bytes] = random_key
    """Generates the key for stand-ins, which is never stored."""

    def __post_init__(self) -> None:
        """Check every value."""
        checks = OptionChecks(self)
        checks.check_flags("redact")
        if self.mission_id is not None:
            checks.check_text("mission_id")
        checks.check_text_mappings("secrets")
        if self.certify is not None:
            checks.check_instance(
                "certify", CertifyOptions, advice="Pass CertifyOptions(…), or None to skip certifying."
            )
        if self.skills is not None:
            checks.check_instance("skills", SkillRegistry, advice="Build one with SkillRegistry.of(…).")
        _check_shared_options(self, checks)
