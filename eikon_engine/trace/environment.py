"""What a session starts with: the browser environment, storage state and session storage."""

import json
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field, JsonValue, StringConstraints, ValidationError

from eikon_engine.errors import UsageError
from eikon_engine.files.limits import parse_json, read_document
from eikon_engine.files.models import MAX_FAULTS, DeferredAdapter, FileModel, validation_error


class Viewport(FileModel):
    """Size of the page in CSS pixels."""

    width: int = Field(gt=0)
    height: int = Field(gt=0)


DEFAULT_VIEWPORT = Viewport(width=1280, height=720)


class Geolocation(FileModel):
    """Emulated position; pages can read it only with the permission `geolocation`."""

    latitude: float = Field(ge=-90, le=90)
    longitude: float = Field(ge=-180, le=180)
    accuracy: float = Field(default=0.0, ge=0)
    """In metres."""


class PageEnvironment(FileModel):
    """What an empty page reports about its environment at the start of the session."""

    user_agent: str
    languages: tuple[str, ...]
    locale: str
    """Locale of dates and numbers."""
    timezone: str
    width: int
    height: int
    screen_width: int
    screen_height: int
    device_pixel_ratio: float
    dark: bool
    reduced_motion: bool
    forced_colors: bool
    touch_points: int
    cpu_count: int


class Environment(FileModel):
    """The options a browser context is created with, and the browser it ran in."""

    browser_name: Literal["chromium"] = "chromium"
    browser_version: str
    playwright_version: str
    platform: str
    flags: tuple[str, ...] = ()
    viewport: Viewport = DEFAULT_VIEWPORT
    device_scale_factor: float = 1.0
    locale: str = "en-US"
    timezone: str = "UTC"
    user_agent: str = ""
    color_scheme: Literal["light", "dark", "no-preference"] = "light"
    reduced_motion: Literal["reduce", "no-preference"] = "no-preference"
    forced_colors: Literal["active", "none"] = "none"
    has_touch: bool = False
    is_mobile: bool = False
    """Whether the `viewport` meta element of a page is honoured, as on a phone."""
    permissions: tuple[str, ...] = ()
    """Permissions granted to every site."""
    geolocation: Geolocation | None = None
    extra_http_headers: dict[str, str] = Field(default_factory=dict)
    """Sent with every request; values of secrets are placeholders."""
    cpu_count: int | None = Field(default=None, ge=1)
    """Emulated number of processors; None for that of the machine."""
    device_memory_gb: float | None = Field(default=None, gt=0)
    """Emulated memory, visible to pages of secure origins; None for that of the machine."""
    browser_kind: str = ""
    """`headless-shell`, `chromium` or `chrome`, with `, window` if headed; empty if unknown."""
    page_view: PageEnvironment | None = None
    """None if it was not recorded."""
    fonts_digest: str = ""
    """SHA-256 of the sorted list of installed fonts; empty if unknown."""
    clock_start_ms: int
    """Time of the page's clock at the start of the mission, in milliseconds since 1970 UTC."""
    clock: Literal["stepped", "natural"] = "stepped"
    """Whether the page's clock was stepped during the recording, or ran on its own."""
    random_seed: int = Field(ge=1, lt=2**31)
    random_source: Literal["flag", "script"] = "flag"
    """Whether a flag of the browser seeds `Math.random`, or, in the browser of an agent, a script in its pages."""
    settle_ms: float = 500.0
    """Page time that passes after each action before it is observed."""
    tick_ms: float = Field(default=500.0, ge=1)
    """Longest step of page time before the page must be idle again."""


STORAGE_STATE_FILE: Final = "storage_state.json"
SESSION_STORAGE_FILE: Final = "session_storage.json"

StorageState: TypeAlias = dict[str, Any]
"""Playwright's format, for which it exports no complete type: `{cookies: […], origins: […]}`."""
Origin: TypeAlias = Annotated[str, StringConstraints(pattern=r"^https?://[^/?#\s]+$")]
SessionStorage: TypeAlias = dict[Origin, dict[str, str]]

_SESSION_STORAGE: Final[DeferredAdapter[SessionStorage]] = DeferredAdapter(SessionStorage)
_SESSION_ONLY: Final = -1


def parse_storage_state(text: bytes) -> StorageState:
    """Parse a storage state; the browser validates the items of its lists.

    Raises:
        ValueError: the text is not a storage state; the message is one line.
    """
    state = parse_json(text)
    if not isinstance(state, dict):
        message = f"expected an object with cookies and origins, got {_describe_json(state)}"
        raise ValueError(message)  # noqa: TRY004 - a value of the file is invalid, not a type in our code
    for name in ("cookies", "origins"):
        if not isinstance(state.get(name, []), list):
            message = f"expected a list of {name}, got {_describe_json(state[name])}"
            raise ValueError(message)  # noqa: TRY004 - as above
    return state


def read_storage_state(path: Path) -> StorageState:
    """Read a storage state provided by the user.

    Raises:
        UsageError: the file is missing or invalid.
    """
    try:
        return parse_storage_state(read_document(path))
    except (OSError, ValueError) as error:
        message = f"expected a storage state (JSON, Playwright's format) at {path}, got {error}"
        raise UsageError(message) from error


def parse_session_storage(text: bytes) -> SessionStorage:
    """Parse a session storage.

    Raises:
        ValueError: the text is not a session storage; the message is one line.
    """
    try:
        return _SESSION_STORAGE.validate_json(text)
    except ValidationError as error:
        if error.error_count() > MAX_FAULTS:
            raise ValueError(validation_error(error, text, "the file").message) from error
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"] if part != "[key]") or "the file"
        message = f"expected {{origin: {{key: value}}}} with strings, origins like https://example.com, got {place}: "
        raise ValueError(message + first["msg"]) from error


def revive_expired_cookies(state: StorageState, now_s: float) -> StorageState:
    """Return a recorded state in which cookies that have expired since become session cookies.

    They were valid when the mission began; without this, the browser rejects them and the mission starts signed out.
    """
    cookies = [_as_session_cookie(cookie, now_s) for cookie in state.get("cookies", [])]
    return {**state, "cookies": cookies}


def _as_session_cookie(cookie: JsonValue, now_s: float) -> JsonValue:
    if not isinstance(cookie, dict):
        return cookie
    expires = cookie.get("expires")
    expired = isinstance(expires, int | float) and 0 <= expires <= now_s
    return {**cookie, "expires": _SESSION_ONLY} if expired else cookie


def _describe_json(value: JsonValue) -> str:
    return "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else json.dumps(value)[:60]
