"""Pages find entries, marks and timing of their document in `performance`, at times of the page clock."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from eikon_engine.trace.actions import Navigate, Reload
from tests.browser.pages import Answer

if TYPE_CHECKING:
    from tests.browser.desk import Desk, Room
    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

PAGE = """<img src="/dot.svg"><p id=out></p><script>
performance.mark('begun');
const early = performance.timing.loadEventEnd;
setTimeout(() => performance.mark('ended', { detail: { rows: 3 } }), 40);
</script>"""
DOT = Answer(body="<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>", content_type="image/svg+xml")
READ = """() => {
  const [navigation] = performance.getEntriesByType('navigation');
  const { loadEventEnd, domInteractive, responseEnd } = navigation;
  const { timing } = performance;
  const { startTime: begun } = performance.getEntriesByName('begun')[0];
  return {
    kind: navigation.type, name: navigation.name, status: navigation.responseStatus,
    isLoaded: loadEventEnd >= domInteractive && domInteractive >= responseEnd,
    early, since: timing.loadEventEnd - timing.navigationStart - loadEventEnd,
    legacy: performance.navigation.type,
    resources: performance.getEntriesByType('resource').map(each => [new URL(each.name).pathname, each.duration]),
    paints: performance.getEntriesByName('first-contentful-paint').length,
    took: performance.measure('took', 'begun', 'ended').duration,
    detail: performance.getEntriesByName('ended', 'mark')[0].detail,
    untilNow: performance.measure('open', 'begun').duration === performance.now() - begun,
    fromStart: performance.measure('load', 'navigationStart', 'loadEventEnd').duration === loadEventEnd,
    isPerformance: performance instanceof Performance && navigation instanceof PerformanceNavigationTiming,
    measures: performance.getEntriesByType('measure').map(each => each.name),
    left: (performance.clearMeasures(), performance.getEntriesByType('measure').length),
    listens: typeof performance.addEventListener,
    text: JSON.stringify([performance, performance.getEntries(), performance.memory]),
  };
}"""
"""Reads what web-vitals libraries and error trackers read."""


def visit(room: Room, site: PageSite) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a page reads after its first load, and after it was loaded again."""
    with room.desk() as desk:
        desk.ok(Navigate(url=site.url + "/measured"))
        first = _read(desk)
        desk.ok(Reload())
        return first, _read(desk)


def _read(desk: Desk) -> dict[str, Any]:
    found: dict[str, Any] = desk.js(READ)
    return found


def test_a_page_reads_its_entries_and_timing(live_browser: Room, site: PageSite) -> None:
    """Everything is there, in page time, and equal in every session."""
    site.answers |= {"/measured": Answer(body=f"<!doctype html>{PAGE}"), "/dot.svg": DOT}

    first, again = visit(live_browser, site)

    text = json.loads(first.pop("text"))
    assert first == {
        "kind": "navigate",
        "name": site.url + "/measured",
        "status": 200,
        "isLoaded": True,
        "early": 0,
        "since": 0,
        "legacy": 0,
        "resources": [["/dot.svg", 0]],
        "paints": 1,
        "took": 40,
        "detail": {"rows": 3},
        "untilNow": True,
        "fromStart": True,
        "isPerformance": True,
        "measures": ["took", "open", "load"],
        "left": 0,
        "listens": "function",
    }
    assert text[0]["timeOrigin"] > 0
    assert (again["kind"], again["legacy"]) == ("reload", 1)
    assert json.loads(visit(live_browser, site)[0]["text"]) == text
