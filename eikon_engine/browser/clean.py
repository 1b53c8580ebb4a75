"""Prepare text and snapshots of pages for files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.trace.dom import masked_text

if TYPE_CHECKING:
    from eikon_engine.browser.session import Session
    from eikon_engine.trace.dom import PageSnapshot


def clean(session: Session, text: str) -> str:
    """Redact a text of a page, and replace lone surrogates, which JSON cannot represent."""
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return session.redactor.text(text)


def clean_snapshot(session: Session, snapshot: PageSnapshot) -> PageSnapshot:
    """Redact a snapshot, and map its URLs to those of the recording."""
    if session.redactor.is_idle:
        return snapshot
    return masked_text(snapshot, lambda text: session.scripts.get(text) or session.redactor.text(text))
