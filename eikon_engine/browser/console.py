"""The console messages of each open page, and its uncaught errors."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.browser.clean import clean

if TYPE_CHECKING:
    from playwright.async_api import Page

    from eikon_engine.browser.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message."""

    page: int
    """Ordinal."""
    kind: str
    """`log`, `warning`, `error` … as the browser names it; `uncaught` for an uncaught error."""
    text: str
    place: str = ""
    """URL and line, where the browser knows them."""


async def console_of(session: Session) -> tuple[Said, ...]:
    """Return the last 200 messages of each open page, then its last 200 errors, all without secrets."""
    entries = await asyncio.gather(*(_of_page(session, *each) for each in session.ledger.open_pages()))
    return tuple(each for some in entries for each in some)


async def _of_page(session: Session, ordinal: int, page: Page) -> list[Said]:
    from playwright.async_api import Error

    try:
        messages, errors = await asyncio.gather(page.console_messages(), page.page_errors())
    except Error:
        return []  # the page is closing
    entries = []
    for each in messages:
        url, line = each.location.get("url", ""), each.location.get("lineNumber", 0)
        place = clean(session, f"{url}:{line + 1}") if url else ""
        entries.append(Said(page=ordinal, kind=each.type, text=clean(session, each.text), place=place))
    for error in errors:
        text = f"{error.name or 'Error'}: {error.message}"
        entries.append(Said(page=ordinal, kind="uncaught", text=clean(session, text)))
    return entries
