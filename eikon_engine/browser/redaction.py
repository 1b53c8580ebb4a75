"""Redact text, snapshots and network data of a session before they are written to files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.dom import map_strings
from eikon_engine.dom.inline_scripts import changed_script_digests

if TYPE_CHECKING:
    from collections.abc import Iterable

    from playwright.async_api import Response

    from eikon_engine.browser.session import Session
    from eikon_engine.dom import PageSnapshot
    from eikon_engine.network.exchange import HeaderPairs


def redact_page_text(session: Session, text: str) -> str:
    """Redact a text of a page, and replace lone surrogates."""
    return session.redactor.redact_text(without_lone_surrogates(text))


def without_lone_surrogates(text: str) -> str:
    """Replace lone surrogates, which JSON cannot represent."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def redact_snapshot(session: Session, snapshot: PageSnapshot) -> PageSnapshot:
    """Redact a snapshot, and map its URLs to those of the recording."""
    if session.redactor.is_noop:
        return snapshot
    return map_strings(snapshot, lambda text: session.redacted_scripts.get(text) or session.redactor.redact_text(text))


async def redact_response_headers(session: Session, response: Response) -> HeaderPairs:
    """Return redacted response headers; also detect secrets in the response's URL."""
    from playwright.async_api import Error

    try:
        pairs = [(pair["name"], pair["value"]) for pair in await response.headers_array()]
    except Error:
        pairs = list(response.headers.items())  # the page is gone; the provisional headers are still known
    if session.secret_detector is not None:
        session.secret_detector.add(session.secret_detector.search.in_url(response.url))
        session.secret_detector.add(session.secret_detector.search.in_headers(pairs))
    return redact_headers(session, ((name.lower(), value) for name, value in pairs))


def redact_headers(session: Session, pairs: Iterable[tuple[str, str]]) -> HeaderPairs:
    """Return redacted headers."""
    redact, found = session.redactor.redact_text, session.secret_detector
    if found is None:
        return tuple((name, redact(value)) for name, value in pairs)
    return tuple((name, found.redact_header(name, value, redact)) for name, value in pairs)


def redact_body(session: Session, data: bytes, content_type: str) -> bytes:
    """Return a redacted response body."""
    if session.secret_detector is not None:
        session.secret_detector.add(session.secret_detector.search.in_body(data, content_type))
    clean = session.redactor.redact_bytes(data)
    session.redacted_scripts |= changed_script_digests(data, clean, content_type)
    return clean
