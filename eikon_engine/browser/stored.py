"""Observe what a browser stores for sites: cookies, local and session storage."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from eikon_engine.browser.clean import clean
from eikon_engine.redact.memory import stored_digest
from eikon_engine.trace.observation import StoredItem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from playwright.async_api import Cookie, Page

    from eikon_engine.browser.session import Session
    from eikon_engine.redact.discover import Finding
    from eikon_engine.redact.found import FoundSecrets

BRIEF_S: Final = 24 * 3600
"""Cookies that expire this soon may exist in a replay though they were gone in the recording, and vice versa."""
_READ: Final = """() => {
  const read = name => {
    try {
      return Object.entries(window[name]);
    } catch {
      return [];  // a document without access to storage
    }
  };
  return [location.origin, read('localStorage'), read('sessionStorage')];
}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredValue:
    """One stored value, for display."""

    kind: Literal["cookie", "local", "session"]
    place: str
    name: str
    value: str
    """Without secrets."""
    page: int | None
    """As `StoredItem.page`."""


async def stored_items(session: Session) -> tuple[StoredItem, ...]:
    """Return the stored items of all open pages; a page that is navigating contributes none."""
    items = [_item(session, each) for each in await _kept(session)]
    found = {each.sort_key: each for each in items}
    return tuple(found[key] for key in sorted(found))


async def stored_values(session: Session) -> tuple[StoredValue, ...]:
    """Return the stored values of all open pages, in the same order."""
    values = {
        StoredValue(
            kind=each.kind,
            place=clean(session, each.place),
            name=clean(session, each.name),
            value=clean(session, _clean_value(session, each)),
            page=each.page,
        )
        for each in await _kept(session)
    }
    return tuple(sorted(values, key=lambda each: (each.kind, each.place, each.page or 0, each.name, each.value)))


async def keep_as_known(session: Session) -> None:
    """Exclude everything stored by now from secret detection: the replayed bundle holds it already."""
    found = session.found
    if found is None:
        return
    for each in await _kept(session):
        found.leave(each.value, _findings(found, each))


async def _kept(session: Session) -> list[_Kept]:
    pages = session.ledger.open_pages()
    cookies, *stores = await asyncio.gather(_cookies(session), *(_of_page(*each) for each in pages))
    return [each for some in (cookies, *stores) for each in some]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A stored item as the browser returns it."""

    kind: Literal["cookie", "local", "session"]
    place: str
    name: str
    value: str = field(repr=False)
    page: int | None = None
    is_brief: bool = False
    is_hidden: bool = False
    """Whether it is an HttpOnly cookie."""


async def _cookies(session: Session) -> list[_Kept]:
    from playwright.async_api import Error

    try:
        cookies = await session.context.cookies()
    except Error:
        return []  # the context is closing
    end = time.time() + BRIEF_S
    return [
        _Kept(
            kind="cookie",
            place=f"{each.get('domain', '')}{each.get('path', '')}{_part(each)}",
            name=each["name"],
            value=each["value"],
            is_brief=0 < each.get("expires", -1) < end,
            is_hidden=each.get("httpOnly", False),
        )
        for each in cookies
        if "name" in each and "value" in each
    ]


def _part(cookie: Cookie) -> str:
    """Name the site that a partitioned cookie belongs to."""
    key = cookie.get("partitionKey")
    return f" under {key}" if key else ""


async def _of_page(ordinal: int, page: Page) -> list[_Kept]:
    from playwright.async_api import Error

    try:
        origin, local, own = await page.evaluate(_READ)
    except Error:
        return []  # the page is navigating or closing
    kept = [_Kept(kind="local", place=origin, name=name, value=value) for name, value in local]
    kept += [_Kept(kind="session", place=origin, name=name, value=value, page=ordinal) for name, value in own]
    return kept


def _item(session: Session, kept: _Kept) -> StoredItem:
    value = _clean_value(session, kept)
    digest = stored_digest(value)
    if session.found is not None:
        session.memory.note_stored(digest, value if kept.is_hidden else kept.value)
    return StoredItem(
        kind=kept.kind,
        place=clean(session, kept.place),
        name=clean(session, kept.name),
        digest=digest,
        page=kept.page,
        is_brief=kept.is_brief,
    )


def _clean_value(session: Session, kept: _Kept) -> str:
    """Return a value without secrets, after searching it for new ones."""
    redact, found = session.redactor.text, session.found
    if found is None:
        return redact(kept.value)
    found.learn(_findings(found, kept), made=not kept.is_hidden)
    if kept.kind != "cookie":
        return redact(kept.value)
    return found.cookie_value(kept.name, kept.value, redact, is_hidden=kept.is_hidden)


def _findings(found: FoundSecrets, kept: _Kept) -> Iterable[Finding]:
    if kept.kind == "cookie":
        return found.discover.in_cookie(kept.name, kept.value, is_hidden=kept.is_hidden)
    return found.discover.in_storage(kept.name, kept.value)
