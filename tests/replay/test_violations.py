"""A replay in which requests bypassed the recorded network."""

from __future__ import annotations

import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from eikon_engine.browser.traffic.sink import open_sink
from eikon_engine.outcome.events import SubgoalEnd
from eikon_engine.record import open_recorder
from eikon_engine.replay import ReplayEngine, ReplayOptions
from eikon_engine.replay import context as worker_for
from eikon_engine.report.replay_reports import SUMMARY_FILE
from eikon_engine.trace.actions import Navigate, SelectorCondition, WaitFor
from eikon_engine.trace.target import Target
from tests.browser.pages import serve_pages
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from eikon_engine.browser.traffic.sink import Sink
    from eikon_engine.outcome.events import EventLine

pytestmark = pytest.mark.browser

PAGE = """<p id=state></p><script>
const worker = new Worker(URL.createObjectURL(new Blob([
  `const socket = new WebSocket('ws://127.0.0.1:8099/none'); socket.onclose = () => postMessage('closed')`])));
worker.onmessage = () => { document.getElementById('state').innerHTML = '<b id=closed>closed</b>' };
</script>"""


BYE = """<b id=closed>closed</b><script>
for (const going of ['beforeunload', 'pagehide', 'visibilitychange', 'unload'])
  addEventListener(going, () => { new Image().src = '/bye'; navigator.sendBeacon('/bye') });
</script>"""
"""Sends requests on page-leave events, which neither the recording nor the replay fires."""


@pytest.mark.parametrize("page", [PAGE, BYE], ids=["escapes", "does not"])
def test_a_replay_that_leaks_is_not_faithful(tmp_path: Path, page: str) -> None:
    """A page that looks the same but bypassed the recording is unverifiable, and the summary gives the reason."""
    with serve_pages() as site:
        SHARED.run(_record(site.put(page), tmp_path / "bundle"))

    outcome = ReplayEngine(ReplayOptions(artifacts_dir=tmp_path / "run")).replay(tmp_path / "bundle")

    summary = (tmp_path / "run" / SUMMARY_FILE).read_text(encoding="utf-8")
    escapes = page == PAGE
    assert [step.verdict for subgoal in outcome.subgoals for step in subgoal.steps] == ["faithful", "faithful"]
    assert outcome.verdict == ("unverifiable" if escapes else "faithful")
    assert [(each.method, each.target) for each in outcome.network.violations] == (
        [("CONNECT", "127.0.0.1:8099")] if escapes else []
    )
    assert any("CONNECT 127.0.0.1:8099" in reason for reason in outcome.reasons) == escapes
    assert ("bypassed the routes, blocked (page): CONNECT 127.0.0.1:8099" in summary) == escapes


async def _record(url: str, folder: Path) -> None:
    async with open_recorder(folder, mission_text="Wait for the worker") as mission, mission.subgoal("Wait"):
        await mission.perform(Navigate(url=url))
        await mission.perform(WaitFor(condition=SelectorCondition(target=Target(selector="#closed"))))


def test_a_request_that_escapes_at_the_end_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that reaches the sink while the session closes makes the replay not faithful."""
    with serve_pages() as site:
        SHARED.run(_record(site.put("<b id=closed>closed</b>"), tmp_path / "bundle"))
    sinks: list[Sink] = []

    @asynccontextmanager
    async def watched_sink() -> AsyncIterator[Sink]:
        async with open_sink() as sink:
            sinks.append(sink)
            yield sink

    def escape(line: EventLine) -> None:
        if isinstance(line.event, SubgoalEnd):
            with socket.create_connection(("127.0.0.1", sinks[-1].port("page"))) as asking:
                asking.sendall(b"CONNECT shop.test:443 HTTP/1.1\r\n\r\n")

    monkeypatch.setattr(worker_for, "open_sink", watched_sink)
    options = ReplayOptions(artifacts_dir=tmp_path / "run", readers=(escape,))

    outcome = ReplayEngine(options).replay(tmp_path / "bundle")

    assert [(each.method, each.target) for each in outcome.network.page_violations] == [("CONNECT", "shop.test:443")]
    assert outcome.verdict == "unverifiable"
