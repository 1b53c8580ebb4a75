"""Recordings in natural time: a replay steps the page clock, and is faithful."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.trace.actions import Click, Navigate
from tests.browser.desk import at
from tests.browser.pages import Answer, redirect, serve_pages
from tests.replay.conftest import replay
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.outcome.outcomes import ReplayOutcome
    from tests.browser.pages import Asked, PageSite

pytestmark = pytest.mark.browser

WORKER = Answer(body="postMessage('hi')", content_type="text/javascript")
PARENT = Answer(body="new Worker('/worker.js').onmessage = e => postMessage(e.data)", content_type="text/javascript")
SYNCHRONOUSLY = {
    "script": "importScripts(place + '/slow.js');",
    "request": "const sent = new XMLHttpRequest(); sent.open('GET', place + '/slow.js', false); sent.send();",
}
SAYS = "<p id=p></p><script>{}.onmessage = e => {{ p.textContent += e.data }}</script>"
PAGES = {
    "worker": SAYS.format("new Worker('/worker.js')"),
    "module worker": SAYS.format("new Worker('/worker.js', {type: 'module'})"),
    "shared worker": SAYS.format("new SharedWorker('/shared.js').port"),
    "worker of a worker": SAYS.format("new Worker('/parent.js')"),
    **{
        f"worker of a blob that waits for a {what}": SAYS.format(
            "new Worker(URL.createObjectURL(new Blob(["
            f"`const place = '${{location.origin}}'; {wait} postMessage('hi')`])))"
        )
        for what, wait in SYNCHRONOUSLY.items()
    },
    "worker that breaks": "<p id=p></p><script>new Worker('/bad.js').onerror = () => p.textContent = 1</script>",
    "redirected frame": "<iframe src=/old></iframe><iframe src=/old></iframe>",
}


def slow(_: Asked) -> Answer:
    """Answer after the page has loaded."""
    threading.Event().wait(1)
    return Answer(body="self.isLoaded = true", content_type="text/javascript")


def serve(site: PageSite) -> None:
    """Answer the requests of the pages."""
    site.answers |= {
        "/worker.js": WORKER,
        "/parent.js": PARENT,
        "/shared.js": Answer(body="onconnect = e => e.ports[0].postMessage('hi')", content_type="text/javascript"),
        "/bad.js": Answer(body="((", content_type="text/javascript"),
        "/slow.js": slow,
        "/old": redirect("/new"),
        "/new": Answer(body="<p>new"),
    }


def record_and_replay(bundle: Path, page: str) -> ReplayOutcome:
    """Record a visit and a click in natural time, stop the site, replay."""
    SHARED.run(record(bundle, page))
    return replay(bundle, bundle.parent / "run")


async def record(bundle: Path, page: str) -> None:
    """Record a visit and a click in natural time."""
    with serve_pages() as site:
        serve(site)
        url = site.put(f"{PAGES[page]}<button id=b>Go</button>")
        options = RecordOptions(clock="natural", settle_ms=300.0)
        async with (
            open_recorder(bundle, mission_text="m", mission_id="m", options=options) as mission,
            mission.subgoal("Visit"),
        ):
            await mission.perform(Navigate(url=url))
            await mission.perform(Click(target=at("#b")))


@pytest.mark.parametrize("page", PAGES)
def test_a_recording_in_natural_time_replays_without_a_note(tmp_path: Path, page: str) -> None:
    """A response whose page time has not come yet is not waited for in wall time."""
    outcome = record_and_replay(tmp_path / "bundle", page)

    found = (outcome.verdict, outcome.reasons, outcome.network.notes, outcome.network.misses)
    assert found == ("faithful", (), (), ())
