"""Read what a browser stores for sites (cookies, web storage, database names), and restore session storage."""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from eikon_engine.browser.frames import frame_tree
from eikon_engine.browser.page_calls import call_in_frame
from eikon_engine.browser.redaction import redact_page_text, without_lone_surrogates
from eikon_engine.redact.digests import storage_digest
from eikon_engine.trace.observation import StoredItem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from playwright.async_api import BrowserContext, Cookie, Frame, Page, Route

    from eikon_engine.browser.session import Session
    from eikon_engine.redact.secret_detector import SecretDetector
    from eikon_engine.secrets.search import SecretMatch

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


WebStorage: TypeAlias = tuple[str, tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]
"""The origin of a document, and the names and values of its local storage and of its session storage."""


def stored_items(
    session: Session, cookies: Iterable[BrowserItem], pages: Mapping[int, WebStorage]
) -> tuple[StoredItem, ...]:
    """Return the cookies of a session, and the web storage of its open pages by their ordinals, as observed."""
    stores = (item for ordinal, storage in pages.items() for item in _items_of_page(ordinal, storage))
    items = [_stored_item(session, each) for each in (*cookies, *stores)]
    found = {each.sort_key: each for each in items}
    return tuple(found[key] for key in sorted(found))


async def read_stored_values(session: Session) -> tuple[StoredValue, ...]:
    """Return the stored values of all open pages, in the same order."""
    values = {
        StoredValue(
            kind=each.kind,
            place=redact_page_text(session, each.place),
            name=redact_page_text(session, each.name),
            value=without_lone_surrogates(_redacted_value(session, each)),
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


async def _read_all(session: Session) -> list[BrowserItem]:
    pages = session.tracker.open_pages()
    cookies, *stores = await asyncio.gather(session.cookies.read(), *(_read_page(*each) for each in pages))
    return [each for some in (cookies, *stores) for each in some]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserItem:
    """A stored item as the browser returns it."""

    kind: Literal["cookie", "local", "session"]
    place: str
    name: str
    value: str = field(repr=False)
    page: int | None = None
    expires_soon: bool = False
    is_http_only: bool = False
    """Whether it is an HttpOnly cookie."""


class CookieReader:
    """Reads the cookies of a context: each time, or only if they may have changed since.

    The browser does not report changes. Responses set cookies: known only if we serve them all. Scripts set them: each
    document counts its writes. Cookies also expire.
    """

    def __init__(self, context: BrowserContext) -> None:
        """Read each time."""
        self._context = context
        self._is_kept = False
        """Whether cookies are kept until they may have changed."""
        self._cookies: list[BrowserItem] | None = None
        """The cookies, unless they may have changed."""
        self._changes = 0
        """How often they may have changed."""
        self._script_writes: int | None = None
        """How often scripts of the documents had written cookies when they were read."""
        self._expiry_s = math.inf
        """When the first of them expires, in Unix time."""

    def keep_until_change(self) -> None:
        """Read only after a change from now on: every response that may be one is announced to `note_change`."""
        self._is_kept = True
        self._context.on("page", self._on_page)
        for page in self._context.pages:
            self._on_page(page)

    def note_change(self, *_event: object) -> None:
        """Note that cookies may have changed."""
        self._cookies = None
        self._changes += 1

    async def read(self, script_writes: int | None = None) -> list[BrowserItem]:
        """Return the cookies; none while the context is closing.

        `script_writes` is how often scripts of the open documents have written some; None if that is unknown.
        """
        is_current = script_writes is not None and script_writes == self._script_writes
        if self._cookies is not None and is_current and time.time() < self._expiry_s:
            return self._cookies
        changes = self._changes
        cookies = await self._read()
        self._cookies = cookies if self._is_kept and changes == self._changes else None
        self._script_writes = script_writes
        return cookies

    async def _read(self) -> list[BrowserItem]:
        from playwright.async_api import Error

        try:
            cookies = await self._context.cookies()
        except Error:
            return []  # the context is closing
        self._expiry_s = min((each["expires"] for each in cookies if each.get("expires", -1) > 0), default=math.inf)
        end = time.time() + EXPIRES_SOON_S
        return [
            BrowserItem(
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

    def _on_page(self, page: Page) -> None:
        self.note_change()
        for event in ("close", "framenavigated", "framedetached"):
            page.on(event, self.note_change)


def _partition_suffix(cookie: Cookie) -> str:
    """Name the site that a partitioned cookie belongs to."""
    key = cookie.get("partitionKey")
    return f" under {key}" if key else ""


async def _read_page(ordinal: int, page: Page) -> list[BrowserItem]:
    from playwright.async_api import Error

    try:
        origin, local, own = await call_in_frame(page.main_frame, _READ_STORAGE)
    except Error:
        return []  # the page is navigating or closing
    return _items_of_page(ordinal, (origin, tuple(local), tuple(own)))


def _items_of_page(ordinal: int, storage: WebStorage) -> list[BrowserItem]:
    origin, local, own = storage
    kept = [BrowserItem(kind="local", place=origin, name=name, value=value) for name, value in local]
    kept += [BrowserItem(kind="session", place=origin, name=name, value=value, page=ordinal) for name, value in own]
    return kept


def _stored_item(session: Session, item: BrowserItem) -> StoredItem:
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


def _redacted_value(session: Session, item: BrowserItem) -> str:
    """Return a value without secrets, after searching it for new ones."""
    redact, found = session.redactor.redact_text, session.secret_detector
    if found is None:
        return redact(item.value)
    found.add(_findings(found, item), by_page=not item.is_http_only)
    if item.kind != "cookie":
        return redact(item.value)
    return found.redact_cookie(item.name, item.value, redact, is_http_only=item.is_http_only)


def _findings(found: SecretDetector, item: BrowserItem) -> Iterable[SecretMatch]:
    if item.kind == "cookie":
        return found.search.in_cookie(item.name, item.value, is_hidden=item.is_http_only)
    return found.search.in_storage(item.name, item.value)


DATABASE_RESPONSE_S: Final = 5.0
"""Wall time for a document to answer: while it deletes a database, opening one blocks."""
_READ_DATABASES: Final = """async () => {
  const stores = name => new Promise(resolve => {
    const request = indexedDB.open(name);
    request.onupgradeneeded = () => request.transaction.abort();  // it was deleted meanwhile: do not create it
    request.onerror = event => { event.preventDefault(); resolve([]); };
    request.onsuccess = () => {
      const names = [...request.result.objectStoreNames];
      request.result.close();
      resolve(names);
    };
  });
  const found = [];
  try {
    for (const { name } of await indexedDB.databases()) {
      found.push(`IndexedDB ${JSON.stringify(name)}`);
      for (const store of await stores(name)) {
        found.push(`store ${JSON.stringify(store)} of IndexedDB ${JSON.stringify(name)}`);
      }
    }
  } catch {}  // a document that may not keep anything
  try {
    for (const name of await caches.keys()) found.push(`cache ${JSON.stringify(name)}`);
  } catch {}
  return found;
}"""


async def database_names(session: Session) -> frozenset[str]:
    """List the databases, stores and caches of all open documents, without any effect on the next action."""
    frames = [frame for _, page in session.tracker.open_pages() for _, frame in frame_tree(page.main_frame)]
    by_frame = await asyncio.gather(*(_read_document(frame) for frame in frames))
    await session.stabilizer.wait_until_idle()
    return frozenset(redact_page_text(session, each) for some in by_frame for each in some)


async def _read_document(frame: Frame) -> list[str]:
    from playwright.async_api import Error

    try:
        async with asyncio.timeout(DATABASE_RESPONSE_S):
            return [str(each) for each in await call_in_frame(frame, _READ_DATABASES)]
    except Error:
        return []  # the document is being replaced
    except TimeoutError:
        return ["something that cannot be read"]


BLANK_PAGE: Final = "about:blank"
_FILL_STORAGE: Final = (
    "items => { for (const [key, value] of Object.entries(items)) sessionStorage.setItem(key, value); }"
)


async def open_page_with_session_storage(context: BrowserContext, storage: Mapping[str, Mapping[str, str]]) -> None:
    """Open the first page of a context with its session storage filled, blank and without history."""
    page = await context.new_page()
    await page.route("**/*", _fulfill_blank)
    for origin, items in storage.items():
        await page.goto(f"{origin}/")
        await page.evaluate(_FILL_STORAGE, dict(items))
    await page.goto(BLANK_PAGE)
    await page.unroute("**/*")
    protocol = await context.new_cdp_session(page)
    await protocol.send("Page.resetNavigationHistory")
    await protocol.detach()


async def _fulfill_blank(route: Route) -> None:
    await route.fulfill(status=200, content_type="text/html", body="")
