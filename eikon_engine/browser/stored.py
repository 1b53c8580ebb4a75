"""Observe what a browser keeps for sites: cookies, local and session storage."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING, Final

from eikon_engine.trace.observation import StoredItem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.async_api import Page

    from eikon_engine.browser.session import Session

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
    pages = [page for _, page in session.ledger.open_pages()]
    cookies, *stores = await asyncio.gather(_cookies(session), *(_of_page(page, session) for page in pages))
    found = {(each.kind, each.place, each.name, each.digest): each for some in (cookies, *stores) for each in some}
    return tuple(found[key] for key in sorted(found))


async def _cookies(session: Session) -> list[StoredItem]:
    from playwright.async_api import Error

    try:
        cookies = await session.context.cookies()
    except Error:
        return []  # the context is going
    return [
        _item(session, "cookie", (f"{each.get('domain', '')}{each.get('path', '')}", each["name"]), each["value"])
        for each in cookies
        if "name" in each and "value" in each
    ]


async def _of_page(page: Page, session: Session) -> list[StoredItem]:
    from playwright.async_api import Error

    try:
        origin, local, own = await page.evaluate(_READ)
    except Error:
        return []  # the page is going
    return list(_items(session, origin, local, own))


def _items(session: Session, origin: str, local: list[list[str]], own: list[list[str]]) -> Iterator[StoredItem]:
    for name, value in local:
        yield _item(session, "local", (origin, name), value)
    for name, value in own:
        yield _item(session, "session", (origin, name), value)


def _item(session: Session, kind: str, place: tuple[str, str], value: str) -> StoredItem:
    redact = session.redactor.text
    digest = hashlib.sha256(redact(value).encode("utf-8", "surrogatepass")).hexdigest()
    data = {"kind": kind, "place": redact(place[0]), "name": redact(place[1]), "digest": digest}
    return StoredItem.model_validate(data)
