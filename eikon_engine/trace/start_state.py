"""The start state of a session: cookies, local storage, IndexedDB, and session storage of the first page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

from pydantic import ConfigDict, StringConstraints, TypeAdapter, ValidationError
from pydantic_core import from_json

from eikon_engine.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import JsonValue

STORAGE_STATE_FILE: Final = "storage_state.json"
SESSION_STORAGE_FILE: Final = "session_storage.json"

StorageState: TypeAlias = dict[str, Any]
"""Playwright's format, for which it exports no complete type: `{cookies: […], origins: […]}`."""
Origin: TypeAlias = Annotated[str, StringConstraints(pattern=r"^https?://[^/?#\s]+$")]
SessionStorage: TypeAlias = dict[Origin, dict[str, str]]

_SESSION_STORAGE: Final = TypeAdapter(SessionStorage, config=ConfigDict(strict=True))
_SESSION_ONLY: Final = -1


def parse_storage_state(text: bytes) -> StorageState:
    """Parse a storage state; the browser validates the items of its lists.

    Raises:
        ValueError: the text is not a storage state; the message is one line.
    """
    state = from_json(text)
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
        return parse_storage_state(path.read_bytes())
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
