"""Initial browser storage of a replay: the recorded state with current secret values restored."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeVar

from pydantic_core import from_json

from eikon_engine.errors import TraceSyntaxError
from eikon_engine.trace.bundle_path import resolve_inside
from eikon_engine.trace.redaction import Redactor
from eikon_engine.trace.start_state import (
    SessionStorage,
    StorageState,
    parse_session_storage,
    parse_storage_state,
    revive_expired_cookies,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.secret_text import SecretValues

StartFile = TypeVar("StartFile", StorageState, SessionStorage)


def recorded_storage_state(bundle: Bundle, secrets: SecretValues, now: datetime) -> StorageState | None:
    """Read cookies, local storage and IndexedDB; extend cookies that have expired since the recording.

    Raises:
        TraceSyntaxError: the file is not a valid storage file.
    """
    relative = bundle.trace.start.storage_state
    if relative is None:
        return None
    state = _read_start_file(bundle, ("start.storage_state", relative), parse_storage_state, secrets)
    return revive_expired_cookies(state, now.timestamp())


def recorded_session_storage(bundle: Bundle, secrets: SecretValues) -> SessionStorage:
    """Read the session storage of the first page; empty if none was recorded.

    Raises:
        TraceSyntaxError: the file is not a valid storage file.
    """
    relative = bundle.trace.start.session_storage
    if relative is None:
        return {}
    return _read_start_file(bundle, ("start.session_storage", relative), parse_session_storage, secrets)


def _read_start_file(
    bundle: Bundle, use: tuple[str, str], parse: Callable[[bytes], StartFile], secrets: SecretValues
) -> StartFile:
    """Read the file that a trace field refers to, and restore the values of secrets."""
    field, relative = use
    path = resolve_inside(bundle.root, relative, field)
    try:
        restored = Redactor(secrets.values).restore_json(from_json(path.read_bytes()))
        return parse(json.dumps(restored).encode())
    except (OSError, ValueError) as error:
        name = field.rpartition(".")[2].replace("_", " ")
        message = f"{path}: expected a {name} in JSON, got {error}. Restore the bundle."
        raise TraceSyntaxError(message) from error
