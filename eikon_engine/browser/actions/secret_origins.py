"""Type a secret only into the origins that it is bound to; refuse a step before it types one elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.browser.actions.effect import require_page, translated_errors
from eikon_engine.errors import RequirementError
from eikon_engine.files.origins import url_origin
from eikon_engine.trace.actions import InsertText, Navigate, SecretRef
from eikon_engine.trace.variables import placeholder_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.async_api import Frame, Locator

    from eikon_engine.browser.session import Session
    from eikon_engine.trace.actions import Action, Text

_OWN_BLANK = frozenset({"", "about:blank", "about:srcdoc"})
"""URLs of frames whose content is from the document around them."""


def allowed_origins(session: Session, text: Text) -> frozenset[str] | None:
    """Return the origins into which a text may be typed; None if it is no secret, or one that is not bound."""
    return session.secret_origins.get(text.secret) if isinstance(text, SecretRef) else None


async def require_target_origin(session: Session, text: Text, locator: Locator) -> None:
    """Check that a text may be typed into an element.

    Raises:
        RequirementError: it is a secret, and the document of the element is of another origin.
    """
    allowed = allowed_origins(session, text)
    if allowed is None or not isinstance(text, SecretRef):
        return
    async with translated_errors("reading the origin of the target"):
        handle = await locator.element_handle()
        frame = await handle.owner_frame()
        await handle.dispose()
    url = "" if frame is None else _document_url(frame)
    if url_origin(url) not in allowed:
        raise RequirementError(_message(text.secret, url_origin(url) or url, allowed), code="secret-not-bound")


def _document_url(frame: Frame) -> str:
    """Return the URL that the browser has for a document, or for the one around it that gave it its content.

    A script in the document would get the answers that the page wants.
    """
    while frame.url in _OWN_BLANK and frame.parent_frame is not None:
        frame = frame.parent_frame
    return frame.url


def require_page_origins(session: Session, action: Action) -> None:
    """Check that every document of a page may have the secrets that an action holds, except those for its target.

    What has the focus, and where a script runs, only the page knows.

    Raises:
        RequirementError: a document is of another origin than the secret is bound to.
    """
    if not session.secret_origins:
        return
    names = set(placeholder_names(action))
    if isinstance(action, InsertText) and isinstance(action.text, SecretRef):
        names.add(action.text.secret)
    for name in sorted(names & session.secret_origins.keys()):
        allowed = session.secret_origins[name]
        for url in _reached_documents(session, action):
            if url_origin(url) not in allowed:
                raise RequirementError(_message(name, url_origin(url) or url, allowed), code="secret-not-bound")


def _reached_documents(session: Session, action: Action) -> Iterator[str]:
    """Yield the URLs of the documents that may get the texts of an action."""
    if isinstance(action, Navigate):
        yield action.url
        return
    page = require_page(session, action.page)
    yield page.url
    yield from (frame.url for frame in page.frames if frame != page.main_frame and frame.url not in _OWN_BLANK)


def _message(name: str, origin: str, allowed: frozenset[str]) -> str:
    return (
        f"secret {name}: expected an origin that it is bound to ({', '.join(sorted(allowed))}), got {origin}; it was "
        f"not typed. If it belongs there, too, use --secret {name}@{','.join((*sorted(allowed), origin))}=…"
    )
