"""Observe what a browser stores for sites: cookies, local and session storage."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from eikon_engine.browser.clean import redact_page_text
from eikon_engine.redact.memory import storage_digest
from eikon_engine.trace.observation import StoredItem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from playwright.async_api import Cookie, Page

    from eikon_engine.browser.session import Session
    from eikon_engine.redact.discover import SecretMatch
    from eikon_engine.redact.found import SecretDetector

EXPIRES_SOON_S: Final = 24 * 3600
"""Cookies that expire this soon may exist in a replay though they were gone in the recording, and vice versa."""
_READ_STORAGE: Final = """() => {
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


async def read_stored_items(session: Session) -> tuple[StoredItem, ...]:
    """Return the stored items of all open pages; a page that is navigating contributes none."""
    items = [_stored_item(session, each) for each in await _read_all(session)]
    found = {each.sort_key: each for each in items}
    return tuple(found[key] for key in sorted(found))


async def read_stored_values(session: Session) -> tuple[StoredValue, ...]:
    """Return the stored values of all open pages, in the same order."""
    values = {
        StoredValue(
            kind=each.kind,
            place=redact_page_text(session, each.place),
            name=redact_page_text(session, each.name),
            value=redact_page_text(session, _redacted_value(session, each)),
            page=each.page,
        )
        for each in await _read_all(session)
    }
    return tuple(sorted(values, key=lambda each: (each.kind, each.place, each.page or 0, each.name, each.value)))


async def exclude_from_detection(session: Session) -> None:
    """Exclude everything stored by now from secret detection: the replayed bundle holds it already."""
    found = session.secret_detector
    if found is None:
        return
    for each in await _read_all(session):
        found.exempt(each.value, _findings(found, each))


async def _read_all(session: Session) -> list[_StoredItem]:
    pages = session.tracker.open_pages()
    cookies, *stores = await asyncio.gather(_read_cookies(session), *(_read_page(*each) for each in pages))
    return [each for some in (cookies, *stores) for each in some]


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoredItem:
    """A stored item as the browser returns it."""

    kind: Literal["cookie", "local", "session"]
    place: str
    name: str
    value: str = field(repr=False)
    page: int | None = None
    expires_soon: bool = False
    is_http_only: bool = False
    """Whether it is an HttpOnly cookie."""


async def _read_cookies(session: Session) -> list[_StoredItem]:
    from playwright.async_api import Error

    try:
        cookies = await session.context.cookies()
    except Error:
        return []  # the context is closing
    end = time.time() + EXPIRES_SOON_S
    return [
        _StoredItem(
            kind="cookie",
            place=f"{each.get('domain', '')}{each.get('path', '')}{_partition_suffix(each)}",
            name=each["name"],
            value=each["value"],
            expires_soon=0 < each.get("expires", -1) < end,
            is_http_only=each.get("httpOnly", False),
        )
        for each in cookies
        if "name" in each and "value" in each
    ]


def _partition_suffix(cookie: Cookie) -> str:
    """Name the site that a partitioned cookie belongs to."""
    key = cookie.get("partitionKey")
    return f" under {key}" if key else ""


async def _read_page(ordinal: int, page: Page) -> list[_StoredItem]:
    from playwright.async_api import Error

    try:
        origin, local, own = await page.evaluate(_READ_STORAGE)
    except Error:
        return []  # the page is navigating or closing
    kept = [_StoredItem(kind="local", place=origin, name=name, value=value) for name, value in local]
    kept += [_StoredItem(kind="session", place=origin, name=name, value=value, page=ordinal) for name, value in own]
    return kept


def _stored_item(session: Session, item: _StoredItem) -> StoredItem:
    value = _redacted_value(session, item)
    digest = storage_digest(value)
    if session.secret_detector is not None:
        session.digest_memory.note_stored(digest, value if item.is_http_only else item.value)
    return StoredItem(
        kind=item.kind,
        place=redact_page_text(session, item.place),
        name=redact_page_text(session, item.name),
        digest=digest,
        page=item.page,
        is_brief=item.expires_soon,
    )


def _redacted_value(session: Session, item: _StoredItem) -> str:
    """Return a value without secrets, after searching it for new ones."""
    redact, found = session.redactor.redact_text, session.secret_detector
    if found is None:
        return redact(item.value)
    found.add(_findings(found, item), by_page=not item.is_http_only)
    if item.kind != "cookie":
        return redact(item.value)
    return found.redact_cookie(item.name, item.value, redact, is_http_only=item.is_http_only)


def _findings(found: SecretDetector, item: _StoredItem) -> Iterable[SecretMatch]:
    if item.kind == "cookie":
        return found.search.in_cookie(item.name, item.value, is_hidden=item.is_http_only)
    return found.search.in_storage(item.name, item.value)
