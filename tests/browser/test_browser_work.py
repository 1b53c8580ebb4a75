"""Work that the browser does beside the main thread of a page keeps the page busy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.trace.actions import Navigate
from tests.browser.test_sealed import both

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.desk import Desk, Room
    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

SLOW = """<script>
const salt = new Uint8Array(8);
crypto.subtle.importKey('raw', salt, 'PBKDF2', false, ['deriveBits'])
  .then(key => crypto.subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-512', salt, iterations: 1500000 }, key, 256))
  .then(() => { document.title = 'derived'; });
</script>"""
"""Works for about a second."""
WORK = {
    "blob": "new Blob(['x']).text()",
    "reader": "happens(reader => reader.readAsText(new Blob(['x'])), new FileReader(), 'loadend')",
    "digest": "crypto.subtle.digest('SHA-256', new Uint8Array(8))",
    "failure": "crypto.subtle.digest('none', new Uint8Array(8)).catch(() => {})",
    "image": "drawn.decode().catch(() => {})",
    "bitmap": "createImageBitmap(new ImageData(1, 1))",
    "database": "happens(() => {}, indexedDB.open('other'), 'success')",
    "transaction": "happens(() => {}, db.transaction('kept').objectStore('kept').transaction, 'complete')",
    "cache": "caches.has('none')",
}
"""Scripts that begin some work, and wait for it."""
DOT = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
OPENED = """new Promise(done => {
  window.drawn = Object.assign(new Image(), { src: '%s' });
  const asked = indexedDB.open('mine');
  asked.onupgradeneeded = () => asked.result.createObjectStore('kept');
  asked.onsuccess = () => { window.db = asked.result; drawn.decode().then(done); };
  window.happens = (start, target, type) => { start(target); return new Promise(told => target['on' + type] = told); };
})"""
COUNTED = """(async () => {
  const { working } = window.__eikon__, before = working();
  const told = %s;
  const during = working();
  await told;
  return [during - before, working() - before];
})()"""


def test_pending_work_is_waited_for(live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path) -> None:
    """No page clock measures its duration, and the recording observes its result."""
    seen, _ = both(live_browser, sealed_browser, tmp_path, [Navigate(url=site.put(SLOW))])

    assert seen[0].pages[0].title == "derived"


@pytest.mark.parametrize("work", WORK)
def test_work_counts_until_its_page_is_notified(desk: Desk, work: str) -> None:
    """It ends with success or failure."""
    desk.show("")
    desk.js(OPENED % DOT)

    assert desk.js(COUNTED % WORK[work]) == [1, 0]


def test_a_loading_image_is_no_work(desk: Desk) -> None:
    """It is a request, and the recording may deliver it later, or never."""
    desk.show("")

    assert desk.js("(() => { new Image().decode().catch(() => {}); return window.__eikon__.working(); })()") == 1
    coming = "Object.assign(new Image(), { src: '/coming.png' }).decode().catch(() => {})"
    assert desk.js(f"(() => {{ {coming}; return window.__eikon__.working(); }})()") == 0
