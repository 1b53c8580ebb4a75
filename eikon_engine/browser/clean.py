"""Prepare what pages say for files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.trace.dom import masked_text

if TYPE_CHECKING:
    from eikon_engine.browser.session import Session
    from eikon_engine.trace.dom import PageSnapshot


def clean(session: Session, text: str) -> str:
    """Prepare a text of a page for a file: without secrets, and without halves of characters, which JSON cannot say."""
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return session.redactor.text(text)


def clean_snapshot(session: Session, snapshot: PageSnapshot) -> PageSnapshot:
    """Prepare a snapshot for a file: without secrets, with the addresses of the recording."""
    if session.redactor.is_idle:
        return snapshot
    return masked_text(snapshot, lambda text: session.scripts.get(text) or session.redactor.text(text))
