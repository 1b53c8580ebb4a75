"""Prepare network data for files: secrets in it are detected first, then replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.redact.scripts import renamed_scripts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from playwright.async_api import Response

    from eikon_engine.browser.session import Session
    from eikon_engine.network.exchange import HeaderPairs


async def clean_answer_headers(session: Session, answer: Response) -> HeaderPairs:
    """Return redacted response headers; also detect secrets in the response's URL."""
    from playwright.async_api import Error

    try:
        pairs = [(pair["name"], pair["value"]) for pair in await answer.headers_array()]
    except Error:
        pairs = list(answer.headers.items())  # the page is gone; the provisional headers are still known
    if session.found is not None:
        session.found.learn(session.found.discover.in_address(answer.url))
        session.found.learn(session.found.discover.in_headers(pairs))
    return clean_headers(session, ((name.lower(), value) for name, value in pairs))


def clean_headers(session: Session, pairs: Iterable[tuple[str, str]]) -> HeaderPairs:
    """Return redacted headers."""
    redact, found = session.redactor.text, session.found
    if found is None:
        return tuple((name, redact(value)) for name, value in pairs)
    return tuple((name, found.header(name, value, redact)) for name, value in pairs)


def clean_body(session: Session, data: bytes, content_type: str) -> bytes:
    """Return a redacted response body."""
    if session.found is not None:
        session.found.learn(session.found.discover.in_body(data, content_type))
    clean = session.redactor.data(data)
    if session.found is not None:
        session.scripts |= renamed_scripts(data, clean, content_type)
    return clean
