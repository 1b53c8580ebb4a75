"""The requests of a session as recordings store them, and their keys, by which both are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.network.keys import request_key, unpack_body

if TYPE_CHECKING:
    from playwright.async_api import Request

    from eikon_engine.browser.session import Session
    from eikon_engine.network.matching import Match, Playback
    from eikon_engine.secrets.redaction import Redactor


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactedRequest:
    """A request as recordings store it: without secrets."""

    method: str
    url: str
    body: bytes | None
    """The body before a script compressed it."""
    content_type: str | None
    headers: tuple[tuple[str, str], ...]
    packed: bytes | None = None
    """The compressed body; None if it was not."""

    @classmethod
    def of(cls, session: Session, request: Request) -> RedactedRequest:
        """Redact a request of a page, with the secrets and stand-ins that are known by now."""
        return cls.redacted_by(session.redactor, request)

    @classmethod
    def redacted_by(cls, redactor: Redactor, request: Request) -> RedactedRequest:
        """Redact a request of a page."""
        sent = request.post_data_buffer
        body = unpack_body(sent)
        return cls(
            method=request.method,
            url=redactor.redact_text(request.url),
            body=None if body is None else redactor.redact_key_bytes(body),
            content_type=request.headers.get("content-type"),
            headers=tuple(request.headers.items()),
            packed=None if body is sent else sent,
        )

    def match(self, playback: Playback, timer_ms: float | None = None, *, is_for_resource: bool = False) -> Match:
        """Find the recorded response, and count the match; for the options see `Playback.match`.

        A recording made before version 0.1.0 has compressed bodies as they were sent.
        """
        is_packed = self.packed is not None and playback.has_key(
            request_key(self.method, self.url, self.packed, self.content_type)
        )
        body = self.packed if is_packed else self.body
        return playback.match(
            self.method,
            self.url,
            body,
            self.content_type,
            self.headers,
            timer_ms,
            is_for_resource=is_for_resource,
        )


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
