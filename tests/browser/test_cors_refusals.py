"""Requests that CORS blocks are blocked again in a replay, with the same messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.trace.actions import Click, Navigate
from tests.browser.desk import at
from tests.browser.pages import Answer
from tests.browser.test_sealed import both

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.desk import Room
    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

WAYS = {
    "fetch without a referrer": "fetch('{}/d', {{referrerPolicy: 'no-referrer'}}).catch(() => say('no'))",
    "fetch without CORS": "fetch('{}/d', {{mode: 'no-cors'}}).then(r => say(r.type), () => say('no'))",
    "font": "new FontFace('a', 'url({}/f.woff2)').load().then(() => say('got'), () => say('no'))",
    "module": "import('{}/m.js').then(() => say('got'), () => say('no'))",
    "image": "i.onerror = () => say('no'); i.crossOrigin = ''; i.src = '{}/i.png'",
    "frame of no origin": "f.srcdoc = `<script>fetch('{}/d').catch(() => parent.postMessage('no', '*'))</scr` + `ipt>`",
}
PAGE = """<p id=p></p><button id=b>Go</button><img id=i><iframe id=f sandbox=allow-scripts></iframe><script>
const say = text => {{ p.textContent += text + ' '; }};
onmessage = event => say(event.data);
b.onclick = () => {{ {} }};</script>"""


@pytest.mark.parametrize("way", WAYS)
def test_a_cors_refusal_is_replayed_with_its_message(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path, way: str
) -> None:
    """A request to another origin that does not allow it fails alike, with the same console errors."""
    for path, kind in (("/d", "text/plain"), ("/f.woff2", "font/woff2"), ("/m.js", "text/javascript")):
        site.answers[path] = Answer(body="1", content_type=kind)
    url = site.put(PAGE.format(WAYS[way].format(site.elsewhere)))

    seen, _ = both(live_browser, sealed_browser, tmp_path, [Navigate(url=url), Click(target=at("#b"))])

    blocked = [error for error in seen[-1].console_errors if error.endswith("has been blocked by CORS policy")]
    assert len(blocked) == (way != "fetch without CORS")
