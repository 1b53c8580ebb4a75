"""Options of recordings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from eikon_engine.certify.options import CertifyOptions
from eikon_engine.files.wall_clock import random_id, random_key, utc_now
from eikon_engine.secrets.search import RedactionRules
from eikon_engine.trace.environment import DEFAULT_VIEWPORT, Viewport

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path

    from eikon_engine.llm import CompletionClient
    from eikon_engine.skills.registry import SkillRegistry
    from eikon_engine.trace.environment import Geolocation


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOptions:
    """Options of `open_recorder`."""

    headless: bool = True
    browser_path: Path | None = None
    viewport: Viewport = DEFAULT_VIEWPORT
    device_scale_factor: float = 1.0
    locale: str = "en-US"
    timezone: str = "UTC"
    color_scheme: Literal["light", "dark", "no-preference"] = "light"
    user_agent: str | None = None
    """Override of the browser's own user agent."""
    reduced_motion: Literal["reduce", "no-preference"] = "no-preference"
    forced_colors: Literal["active", "none"] = "none"
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
    clock: Literal["stepped", "natural"] = "stepped"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachOptions:
    """Options for recording an agent."""

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
