"""Observe what a browser keeps for sites: cookies, local and session storage."""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from eikon_engine.browser.clean import clean
from eikon_engine.trace.observation import StoredItem

if TYPE_CHECKING:
    from playwright.async_api import Cookie, Page

    from eikon_engine.browser.session import Session

BRIEF_S: Final = 24 * 3600
"""Cookies that end so soon may be there in a replay when they were gone, and the other way round."""
_READ: Final = """() => {
  const read = name => {
    try {
      return Object.entries(window[name]);
    } catch {
      return [];  // a document that may not keep anything
    }
  };
  return [location.origin, read('localStorage'), read('sessionStorage')];
}"""


async def stored_items(session: Session) -> tuple[StoredItem, ...]:
    """Return what is kept for all open pages; a page that is going says nothing of its own."""
    pages = session.ledger.open_pages()
    cookies, *stores = await asyncio.gather(_cookies(session), *(_of_page(*each, session) for each in pages))
    found = {_key(each): each for some in (cookies, *stores) for each in some}
    return tuple(found[key] for key in sorted(found))


def _key(item: StoredItem) -> tuple[str, str, int, str, str]:
    return item.kind, item.place, -1 if item.page is None else item.page, item.name, item.digest


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """Something that is kept, as the browser says it."""

    kind: Literal["cookie", "local", "session"]
    place: str
    name: str
    value: str = field(repr=False)
    page: int | None = None
    is_brief: bool = False


async def _cookies(session: Session) -> list[StoredItem]:
    from playwright.async_api import Error

    try:
        cookies = await session.context.cookies()
    except Error:
        return []  # the context is going
    end = time.time() + BRIEF_S
    kept = (
        _Kept(
            kind="cookie",
            place=f"{each.get('domain', '')}{each.get('path', '')}{_part(each)}",
            name=each["name"],
            value=each["value"],
            is_brief=0 < each.get("expires", -1) < end,
        )
        for each in cookies
        if "name" in each and "value" in each
    )
    return [_item(session, each) for each in kept]


def _part(cookie: Cookie) -> str:
    """Name the site under which a partitioned cookie is kept."""
    key = cookie.get("partitionKey")
    return f" under {key}" if key else ""


async def _of_page(ordinal: int, page: Page, session: Session) -> list[StoredItem]:
    from playwright.async_api import Error

    try:
        origin, local, own = await page.evaluate(_READ)
    except Error:
        return []  # the page is going
    kept = [_Kept(kind="local", place=origin, name=name, value=value) for name, value in local]
    kept += [_Kept(kind="session", place=origin, name=name, value=value, page=ordinal) for name, value in own]
    return [_item(session, each) for each in kept]


def _item(session: Session, kept: _Kept) -> StoredItem:
    value = session.redactor.text(kept.value).encode("utf-8", "surrogatepass")
    return StoredItem(
        kind=kept.kind,
        place=clean(session, kept.place),
        name=clean(session, kept.name),
        digest=hashlib.sha256(value).hexdigest(),
        page=kept.page,
        is_brief=kept.is_brief,
    )
