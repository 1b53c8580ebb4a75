"""Pages whose scripts, style sheets and the like are missing replay as they were recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.record import open_recorder
from eikon_engine.trace.actions import Navigate
from tests.browser.pages import Answer, serve_pages
from tests.replay.conftest import replay
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

RESOURCES = {
    "script": "<script src=/missing></script>",
    "module": "<script type=module src=/missing></script>",
    "import": "<script type=module>import('/missing').catch(() => document.title = 'failed')</script>",
    "style sheet": "<link rel=stylesheet href=/missing>",
    "imported style sheet": "<style>@import '/missing'</style>",
    "font": "<style>@font-face { font-family: a; src: url(/missing) } p { font-family: a }</style>",
    "preload": "<link rel=preload as=script href=/missing>",
    "worker": "<script>new Worker('/missing').onerror = () => { document.title = 'failed' }</script>",
    "object": "<object data=/missing>none</object>",
    "picture": "<img src=/missing alt=none>",
    "frame": "<iframe src=/missing></iframe>",
    "event source": "<script>new EventSource('/missing').onerror = () => { document.title = 'failed' }</script>",
}
"""Elements that request something; Chromium drops the response to most of them if it is an error."""


async def _record(site: PageSite, folder: Path) -> None:
    async with (
        open_recorder(folder, mission_text="Look", mission_id="look") as mission,
        mission.subgoal("Look", subgoal_id="look"),
    ):
        await mission.perform(Navigate(url=f"{site.url}/"))


@pytest.mark.parametrize("status", [404, 500])
@pytest.mark.parametrize("name", RESOURCES)
def test_a_missing_resource_is_missing_again(tmp_path: Path, name: str, status: int) -> None:
    """Its status, and what the browser reports about it, are the same live and sealed."""
    with serve_pages() as site:
        site.answers["/"] = Answer(body=f"<!doctype html><title>Start</title><p>text</p>{RESOURCES[name]}")
        site.answers["/missing"] = Answer(body="<p>not here</p>", status=status)
        SHARED.run(_record(site, tmp_path / "bundle"))
        live = replay(tmp_path / "bundle", tmp_path / "live", network="live")
    sealed = replay(tmp_path / "bundle", tmp_path / "sealed", network="sealed")

    assert [each.message for each in live.divergences] == []
    assert [each.message for each in sealed.divergences] == []
    assert [str(value) for change in live.network.response_changes for value in change.what] == []
    assert (live.verdict, sealed.verdict) == ("faithful", "faithful")
