"""Read the start state of a recording and store it in the bundle."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from eikon_engine.browser.redaction import redact_headers
from eikon_engine.errors import UsageError
from eikon_engine.files.limits import read_document
from eikon_engine.trace.environment import (
    SESSION_STORAGE_FILE,
    STORAGE_STATE_FILE,
    SessionStorage,
    StorageState,
    parse_session_storage,
)
from eikon_engine.trace.execution import StartState

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.browser.session import Session
    from eikon_engine.record.bundle_writer import BundleWriter
    from eikon_engine.redact.secret_detector import SecretDetector
    from eikon_engine.trace.environment import Environment


def read_session_storage(path: Path | None) -> SessionStorage:
    """Read a session storage file; empty without a path.

    Raises:
        UsageError: the file is missing or malformed.
    """
    if path is None:
        return {}
    try:
        return parse_session_storage(read_document(path))
    except (OSError, ValueError) as error:
        message = f"cannot read the session storage {path}: {error}; expected JSON {{origin: {{key: value}}}}"
        raise UsageError(message) from error


def write_start_state(
    session: Session, writer: BundleWriter, state: StorageState, session_storage: SessionStorage
) -> StartState:
    """Write the start state of a session into the bundle, redacted."""
    declared = session.redacted_names
    if session.secret_detector is not None:
        detect_in_start_state(session.secret_detector, state, session_storage)
        state = {**state, "cookies": [_redact_cookie(session, each) for each in state["cookies"]]}
    redact = session.redactor.redact_json
    writer.write_file(STORAGE_STATE_FILE, _json_bytes(redact(state)))
    if session_storage:
        items: dict[str, JsonValue] = {origin: {**values} for origin, values in session_storage.items()}
        writer.write_file(SESSION_STORAGE_FILE, _json_bytes(redact(items)))
    return StartState(
        storage_state=STORAGE_STATE_FILE,
        session_storage=SESSION_STORAGE_FILE if session_storage else None,
        secrets=tuple(sorted(declared)),
    )


def redact_environment(session: Session, environment: Environment) -> Environment:
    """Redact the headers of the environment for the trace; the session still sends the originals."""
    pairs = environment.extra_http_headers.items()
    if session.secret_detector is not None:
        session.secret_detector.add(session.secret_detector.search.in_headers(pairs))
    return environment.model_copy(update={"extra_http_headers": dict(redact_headers(session, pairs))})


def detect_in_start_state(
    detector: SecretDetector, state: StorageState, session_storage: Mapping[str, Mapping[str, str]]
) -> None:
    """Search the start state of a session for secrets."""
    discover = detector.search
    for cookie in state.get("cookies", []):
        is_hidden = cookie.get("httpOnly", False)
        detector.add(discover.in_cookie(cookie["name"], cookie["value"], is_hidden=is_hidden))
    for origin in state.get("origins", []):
        for item in origin.get("localStorage", []):
            detector.add(discover.in_storage(str(item.get("name", "")), str(item.get("value", ""))))
        detector.add(discover.in_values("storage", origin.get("indexedDB")))
    for items in session_storage.values():
        for name, value in items.items():
            detector.add(discover.in_storage(name, value))


def _redact_cookie(session: Session, cookie: JsonValue) -> JsonValue:
    if session.secret_detector is None or not isinstance(cookie, dict):
        return cookie
    name, value, is_hidden = str(cookie["name"]), str(cookie["value"]), bool(cookie.get("httpOnly"))
    clean = session.secret_detector.redact_cookie(name, value, session.redactor.redact_text, is_http_only=is_hidden)
    return {**cookie, "value": clean}


def _json_bytes(value: JsonValue) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=False).encode()
