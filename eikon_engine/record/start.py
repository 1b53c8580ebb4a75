"""What a recording begins with: read from the files that its options name, and kept in its bundle."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from eikon_engine.errors import UsageError
from eikon_engine.trace.execution import StartState
from eikon_engine.trace.start_state import (
    SESSION_STORAGE_FILE,
    STORAGE_STATE_FILE,
    SessionStorage,
    StorageState,
    parse_session_storage,
    parse_storage_state,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.browser.session import Session, SessionOptions
    from eikon_engine.browser.worker import BrowserWorker
    from eikon_engine.record.write import BundleWriter


def read_storage_state(path: Path | None) -> StorageState | None:
    """Read the file of cookies, local storage and IndexedDB.

    Raises:
        UsageError: there is no such file, or it holds something else.
    """
    if path is None:
        return None
    try:
        return parse_storage_state(path.read_bytes())
    except (OSError, ValueError) as error:
        message = f"wanted a storage state (JSON, Playwright's format) at {path}, found {error}"
        raise UsageError(message) from error


def read_session_storage(path: Path | None) -> SessionStorage:
    """Read the file of session storage; nothing without one.

    Raises:
        UsageError: there is no such file, or it holds something else.
    """
    if path is None:
        return {}
    try:
        return parse_session_storage(path.read_bytes())
    except (OSError, ValueError) as error:
        message = f"wanted a session storage (JSON) at {path}, found {error}"
        raise UsageError(message) from error


async def keep_start(worker: BrowserWorker, writer: BundleWriter, options: SessionOptions) -> StartState:
    """Write what the session begins with into the bundle, without secrets.

    Cookies are those that the browser took; the rest is what it was given, since reading it back would load pages.
    """
    given = options.storage_state or {"origins": []}
    state: StorageState = {**given, "cookies": await worker.session.context.cookies()}
    return write_start(worker.session, writer, options, state)


def write_start(session: Session, writer: BundleWriter, options: SessionOptions, state: StorageState) -> StartState:
    """Write it as it is known."""
    redact = session.redactor.redact_texts
    writer.write_file(STORAGE_STATE_FILE, _text(redact(state)))
    session_storage: dict[str, JsonValue] = {origin: {**items} for origin, items in options.session_storage.items()}
    if session_storage:
        writer.write_file(SESSION_STORAGE_FILE, _text(redact(session_storage)))
    return StartState(
        storage_state=STORAGE_STATE_FILE,
        session_storage=SESSION_STORAGE_FILE if session_storage else None,
        secrets=tuple(sorted(options.kept_secrets)),
    )


def _text(value: JsonValue) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=False).encode()
