"""The keys of requests of a session, by which recorded and replayed requests are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.network.keys import request_key

if TYPE_CHECKING:
    from playwright.async_api import Request

    from eikon_engine.browser.session import Session
    from eikon_engine.secrets.redaction import Redactor


def recorded_or_own_key(session: Session, request: Request) -> str:
    """Return the key of the recorded request that a request repeats, else its own one."""
    return session.traffic.recorded_key(request) or redacted_key(session, request)


def counting_key(session: Session, request: Request) -> str:
    """Compute the key that counts requests while more secrets are being found. Never written to files."""
    return _compute_key(session, session.redactor.named_only, request)


def redacted_key(session: Session, request: Request) -> str:
    """Compute the key of a request, without secrets."""
    key = _compute_key(session, session.redactor, request)
    body, content_type = session.request_bodies.of(request), request.headers.get("content-type")
    if session.secret_detector is not None:
        session.digest_memory.note_request(key, request.method, request.url, body, content_type)
    return key


def _compute_key(session: Session, redactor: Redactor, request: Request) -> str:
    body = session.request_bodies.of(request)
    sent = None if body is None else redactor.redact_key_bytes(body)
    return request_key(request.method, redactor.redact_text(request.url), sent, request.headers.get("content-type"))
