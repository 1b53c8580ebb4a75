"""What a document loads as it is left is recorded like anything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.network.store import read_network
from eikon_engine.trace.actions import Click, Navigate
from tests.browser.desk import at
from tests.browser.pages import Answer
from tests.until import GENEROUS_S, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.desk import Desk, Room
    from tests.browser.pages import Asked, PageSite

pytestmark = pytest.mark.browser

PICTURE = "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>"
PICTURES = 12
CONNECTIONS = 6
"""Connections of Chromium to one host: once it requested more pictures than this, the first ones have arrived."""
TRIES = 5
"""Recordings until one has such pictures: a busy renderer learns of the next document first, which cancels all."""


def test_bodies_of_a_document_that_is_left_are_recorded(live_browser: Room, site: PageSite, tmp_path: Path) -> None:
    """A click loads pictures and leaves the page: the browser keeps their bodies until they are read."""
    paths = [f"/left-{number}.svg" for number in range(PICTURES)]
    for path in paths:
        site.answers[path] = Answer(body=PICTURE, content_type="image/svg+xml")

    def then(_asked: Asked) -> Answer:
        wait_until(lambda: sum("/left-" in each for each in site.paths()) > CONNECTIONS, "pictures", GENEROUS_S)
        return Answer(body="<p>left</p>")

    site.answers["/then"] = then
    load = f"for (let each = 0; each < {PICTURES}; each++) new Image().src = `/left-${{each}}.svg`"
    here = site.put(f'<a href="/then" onmousedown="{load}">Leave</a>')

    for number in range(TRIES):
        with live_browser.recording(tmp_path / str(number)) as desk:
            desk.ok(Navigate(url=here))
            desk.ok(Click(target=at("a")))
        exchanges = [each for each in read_network(tmp_path / str(number)).exchanges if "/left-" in each.key]
        whole = [each.response for each in exchanges if each.failure is None]

        assert len(exchanges) == PICTURES
        assert [each.body_missing for each in whole if each is not None] == [None] * len(whole)
        if whole:
            return
        site.asked.clear()
    pytest.fail(f"the next document cancelled all pictures in each of {TRIES} recordings")


@pytest.mark.parametrize("leave", ["frame.src = next", "frame.remove()"])
def test_a_look_at_a_frame_that_leaves_its_document_ends(desk: Desk, site: PageSite, leave: str) -> None:
    """The timers of a document that is replaced or removed fire no more, and a page that waits for them hangs."""
    inner, following = site.put("<p>first"), site.put("<p>next")
    desk.show(f"<iframe src={inner}></iframe>")

    ended = desk.js(
        f"""(async next => {{
          const frame = document.querySelector('iframe'), before = frame.contentDocument, looks = [];
          const {{ setTimeout: later }} = __pwClock.builtins;
          let open = 0;
          {leave};
          for (let turns = 0; turns < 5 || (frame.isConnected && frame.contentDocument === before); turns += 1) {{
            open += 1;
            looks.push(__eikon__.activityOfTree(2, 'activityTwice'));
            looks.at(-1)?.then(() => {{ open -= 1; }}) ?? (open -= 1);
            await new Promise(turn => later(turn, 1));
          }}
          await Promise.race([Promise.all(looks), new Promise(late => later(late, 3000))]);
          return open === 0;
        }})({following!r})"""
    )

    assert ended
