"""Bodies that a page reads as blobs are recorded like any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.trace.actions import Download, FunctionCondition, Navigate, WaitFor
from tests.browser.desk import at
from tests.browser.pages import Answer
from tests.browser.test_sealed import both

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.desk import Room
    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

SIZE = 20_000
KIND = "Text/CSV; Charset=UTF-8"
TYPE = "text/csv; charset=utf-8"
READS = "const read = b => b.text().then(t => { document.title = [b.type, t.length, b.constructor.name].join(' ') });"
WAYS = {
    "fetch": "fetch('/file').then(r => r.blob()).then(read)",
    "clone": "fetch('/file').then(r => r.clone().blob()).then(read)",
    "worker": "const source = `fetch('{}/file').then(r => r.blob()).then(b => postMessage(b))`;"
    "new Worker(URL.createObjectURL(new Blob([source]))).onmessage = e => read(e.data)",
    "XMLHttpRequest": "const x = new XMLHttpRequest(); x.open('GET', '/file'); x.responseType = 'blob';"
    "x.onload = () => read(x.response); x.send()",
}
DONE = WaitFor(condition=FunctionCondition(expression="document.title.includes('Blob')"))


@pytest.mark.parametrize("way", WAYS)
def test_a_blob_is_replayed(live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path, way: str) -> None:
    """The blob has the type that the browser gives it, and its whole content."""
    site.answers["/file"] = Answer(body="x" * SIZE, content_type=KIND)
    url = site.put(f"<script>{READS}{WAYS[way].replace('{}', site.url)}</script>")

    seen, _ = both(live_browser, sealed_browser, tmp_path, [Navigate(url=url), DONE])

    assert seen[-1].pages[0].title == f"{'text/csv' if way == 'XMLHttpRequest' else TYPE} {SIZE} Blob"


LINKS = {
    "file.txt": ("download", ""),
    "mine.txt": ("download=mine.txt", ""),
    "th_eirs.txt": ("download=mine.txt", 'attachment; filename="th\\"eirs.txt"'),
    "ü.txt": ("download=mine.txt", "attachment; filename*=UTF-8''%C3%BC.txt"),
}
"""Attributes of a link, and the `Content-Disposition` of its target, by the name of the resulting file."""


@pytest.mark.parametrize("name", LINKS)
def test_a_download_link_is_replayed(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path, name: str
) -> None:
    """The browser requests it outside of all routes unless the page fetches it; the replay serves it anyway."""
    attribute, disposition = LINKS[name]
    headers = (("Content-Disposition", disposition),) if disposition else ()
    site.answers["/file"] = Answer(body="x" * SIZE, content_type="text/plain", headers=headers)
    url = site.put(f"<a id=a href=/file {attribute}>Get</a>")

    seen, _ = both(live_browser, sealed_browser, tmp_path, [Navigate(url=url), Download(target=at("#a"))])

    assert [(each.name, each.size, each.failure) for each in seen[-1].downloads] == [(name, SIZE, None)]
