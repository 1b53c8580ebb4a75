"""List the names of IndexedDB databases, their stores, and caches."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.clean import redact_page_text
from eikon_engine.browser.frames import frame_tree

if TYPE_CHECKING:
    from playwright.async_api import Frame

    from eikon_engine.browser.session import Session

DATABASE_RESPONSE_S: Final = 5.0
"""Wall time for a document to answer: while it deletes a database, opening one blocks."""
_READ_DATABASES: Final = """async () => {
  const stores = name => new Promise(tell => {
    const asked = indexedDB.open(name);
    asked.onupgradeneeded = () => asked.transaction.abort();  // it was deleted meanwhile: none is made
    asked.onerror = event => { event.preventDefault(); tell([]); };
    asked.onsuccess = () => {
      const names = [...asked.result.objectStoreNames];
      asked.result.close();
      tell(names);
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
            return [str(each) for each in await frame.evaluate(_READ_DATABASES)]
    except Error:
        return []  # the document is being replaced
    except TimeoutError:
        return ["something that cannot be read"]
