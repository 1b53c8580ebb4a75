"""How a mission is recorded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from eikon_engine.redact.rules import RedactionRules
from eikon_engine.trace.environment import DEFAULT_VIEWPORT, Viewport
from eikon_engine.trace.wall_clock import fresh_id, fresh_key, utc_now

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path

    from eikon_engine.completions import CompletionClient
    from eikon_engine.trace.environment import Geolocation


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOptions:
    """Everything that can be chosen about a recording."""

    headless: bool = True
    browser_path: Path | None = None
    viewport: Viewport = DEFAULT_VIEWPORT
    device_scale_factor: float = 1.0
    locale: str = "en-US"
    timezone: str = "UTC"
    color_scheme: Literal["light", "dark", "no-preference"] = "light"
    user_agent: str | None = None
    """What the browser calls itself; its own name if left out."""
    reduced_motion: Literal["reduce", "no-preference"] = "no-preference"
    forced_colors: Literal["active", "none"] = "none"
    has_touch: bool = False
    is_mobile: bool = False
    """Whether the `viewport` element of a page counts, as on a telephone."""
    permissions: tuple[str, ...] = ()
    """What every site may do unasked, by Playwright's names: `geolocation`, `clipboard-read` …"""
    geolocation: Geolocation | None = None
    extra_http_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with every request; a value that nobody may read belongs into `secrets` as well."""
    clock_start: datetime | None = None
    """What the page's clock shows at the start; the time of the recording if left out."""
    clock: Literal["stepped", "natural"] = "stepped"
    """Whether the page's clock stands still while the agent thinks, or runs by itself as in any browser; see
    `docs/recording.md` for what each is good for."""
    random_seed: int = 1
    settle_ms: float = 500.0
    """Page time that passes after each action."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Values that are written nowhere, by name. A password that is only typed is one from that moment on."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Values of what stands as `{{name}}` in texts and URLs of actions; the trace keeps the name, with this value."""
    redact: bool = True
    """Whether secrets that nobody named are looked for, and replaced by stand-ins; see `docs/redaction.md`."""
    redaction: RedactionRules = field(default_factory=RedactionRules)
    """What else is a secret, and what is none."""
    storage_state: Path | None = None
    """Cookies, local storage and IndexedDB to begin with (Playwright's format)."""
    session_storage: Path | None = None
    """Session storage to begin with in the first page: a JSON file `{origin: {key: value}}`."""
    ask: CompletionClient | None = None
    """What answers skills that ask a model; what it answers is kept in the bundle, for replays."""
    keeps_responses: bool = True
    """Whether the recorder keeps what `ask` answers; not where `ask` keeps it in the bundle itself."""
    now: Callable[[], datetime] = utc_now
    """The clock of the recording."""
    new_id: Callable[[], str] = fresh_id
    """Where the id of the trace comes from."""
    new_key: Callable[[], bytes] = fresh_key
    """Where the key of stand-ins comes from, which is kept nowhere."""
