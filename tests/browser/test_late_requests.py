"""A busy browser reports requests late; a replay knows which ones to wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.trace.actions import FunctionCondition, Navigate, WaitFor
from tests.browser.pages import Answer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.desk import Room
    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

PAGE = """<img id=i><script>
const { port1, port2 } = new MessageChannel();
let hops = 0;
port1.onmessage = () => { if (hops++ < 8000) port2.postMessage(0); else i.src = '/i.svg'; };
port2.postMessage(0);
</script>"""
"""Requests a picture after some wall time that no page clock measures and no idle check observes."""
PICTURE = "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>"


def test_a_recorded_request_is_waited_for(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """The request belongs to the recorded action, even if the page seems idle before."""
    site.answers["/i.svg"] = Answer(body=PICTURE, content_type="image/svg+xml")
    visit = Navigate(url=site.put(PAGE))
    shown = WaitFor(condition=FunctionCondition(expression="i.complete && i.naturalWidth === 9"))
    with live_browser.recording(tmp_path) as desk:
        visited, waited = desk.ok(visit), desk.ok(shown)
    both = tuple(sorted((*visited.requests, *waited.requests)))
    recorded = visited.model_copy(update={"requests": both})
    with sealed_browser.sealed(tmp_path) as desk:
        seen = desk.do(visit, recorded, lambda now: now.observation is not None and now.observation.requests == both)

    assert seen.observation is not None
    assert seen.observation.requests == both
    assert any(key.endswith("/i.svg") for key in both)
