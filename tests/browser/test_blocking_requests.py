"""A blocked document gets its response, though its clock cannot move and it answers no query."""

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

PAGE = """<button id=b>Go</button><script>
const say = text => { document.title += ', ' + text; };
const ask = (method, ...more) => { const r = new XMLHttpRequest(); r.open(method, '/n#part', ...more); return r; };
b.onclick = () => {
  const later = ask('GET');
  later.onload = () => say('later ' + later.responseText);
  later.send();
  for (const synchronous of [false, undefined]) {
    const now = ask('POST', synchronous);
    now.send('x');
    say('now ' + now.responseText);
  }
  const again = ask('GET', true);
  again.onload = () => say('again ' + again.responseText);
  again.send();
};</script>"""


def test_a_synchronous_request_is_answered_at_once(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """It precedes earlier requests of the page, in the middle of a click, and no timeout is involved."""
    site.answers["/n"] = lambda asked: Answer(body=f"{asked.method} {len(asked.body)}")
    url = site.put(PAGE)

    seen, network = both(live_browser, sealed_browser, tmp_path, [Navigate(url=url), Click(target=at("#b"))])

    said = seen[-1].pages[0].title.split(", ")
    assert said[:3] == ["page", "now POST 1", "now POST 1"]
    assert sorted(said[3:]) == ["again GET 0", "later GET 0"]  # the site may answer either one first
    assert network.notes == ()
