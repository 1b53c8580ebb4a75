"""The console messages of each open page, and its uncaught errors."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.browser.clean import redact_page_text

if TYPE_CHECKING:
    from playwright.async_api import Page

    from eikon_engine.browser.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleEntry:
    """One message."""

    page: int
    """Ordinal."""
    kind: str
    """`log`, `warning`, `error` … as the browser names it; `uncaught` for an uncaught error."""
    text: str
    place: str = ""
    """URL and line, where the browser knows them."""


async def read_console(session: Session) -> tuple[ConsoleEntry, ...]:
    """Return the last 200 messages of each open page, then its last 200 errors, all without secrets."""
    entries = await asyncio.gather(*(_read_page_console(session, *each) for each in session.tracker.open_pages()))
    return tuple(each for some in entries for each in some)


async def _read_page_console(session: Session, ordinal: int, page: Page) -> list[ConsoleEntry]:
    from playwright.async_api import Error

    try:
        messages, errors = await asyncio.gather(page.console_messages(), page.page_errors())
    except Error:
        return []  # the page is closing
    entries = []
    for each in messages:
        url, line = each.location.get("url", ""), each.location.get("lineNumber", 0)
        place = redact_page_text(session, f"{url}:{line + 1}") if url else ""
        entries.append(
            ConsoleEntry(page=ordinal, kind=each.type, text=redact_page_text(session, each.text), place=place)
        )
    for error in errors:
        text = f"{error.name or 'Error'}: {error.message}"
        entries.append(ConsoleEntry(page=ordinal, kind="uncaught", text=redact_page_text(session, text)))
    return entries
