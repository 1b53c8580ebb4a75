"""Prepare text and snapshots of pages for files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.trace.dom import map_strings

if TYPE_CHECKING:
    from eikon_engine.browser.session import Session
    from eikon_engine.trace.dom import PageSnapshot


def redact_page_text(session: Session, text: str) -> str:
    """Redact a text of a page, and replace lone surrogates, which JSON cannot represent."""
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return session.redactor.redact_text(text)


def redact_snapshot(session: Session, snapshot: PageSnapshot) -> PageSnapshot:
    """Redact a snapshot, and map its URLs to those of the recording."""
    if session.redactor.is_noop:
        return snapshot
    return map_strings(snapshot, lambda text: session.redacted_scripts.get(text) or session.redactor.redact_text(text))
