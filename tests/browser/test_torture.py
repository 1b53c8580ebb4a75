"""The torture site, recorded once and replayed with its server stopped; a benchmark covers all of its items."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.network.store import read_network
from eikon_engine.network.websocket import SocketMessage
from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.trace.bundle import open_bundle
from tests.missions.torture import torture
from tests.replay.shared_browsers import SHARED
from tests.sites.torture import ITEMS, serve_torture, sockets

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.outcome.outcomes import ReplayOutcome

pytestmark = pytest.mark.browser

SLOW = {"never", "cors-closed"}
"""Items whose recording waits for a response that never arrives; the benchmark has them."""


async def record(folder: Path, page: str, *, clock: str = "stepped") -> None:
    """Record the items of one page of the torture site, and stop the site."""
    upload = folder.parent / "up.txt"
    upload.write_text("upload me")
    items = [item for item in ITEMS if page in {item.page, item.name} and item.name not in SLOW]
    options = RecordOptions(clock="natural" if clock == "natural" else "stepped")
    with serve_torture() as site:
        async with open_recorder(folder, mission_text="torture", mission_id="torture", options=options) as mission:
            await torture(mission, site.url, upload, items=items)


def outcome_of(bundle: Path) -> ReplayOutcome:
    """Replay a bundle; the benchmark runs many replays concurrently."""
    done = SHARED.replay(open_bundle(bundle), ReplayOptions(artifacts_dir=bundle.parent / "run"))
    assert done.error is None
    return done.outcome


@pytest.mark.parametrize("page", ["sockets", "exchanges", "bodies", "parts", "frames", "chance"])
def test_everything_on_a_page_replays_as_recorded(tmp_path: Path, page: str) -> None:
    """The replay of a page without its server is faithful, and nothing is missed."""
    SHARED.run(record(tmp_path / "bundle", page))

    outcome = outcome_of(tmp_path / "bundle")

    assert (outcome.verdict, outcome.reasons, outcome.network.misses) == ("faithful", (), ())


@pytest.mark.parametrize("page", ["sockets", "sync-xhr"])
def test_a_recording_with_the_natural_clock_replays_faithfully(tmp_path: Path, page: str) -> None:
    """Events of a running page clock are delivered at their moments, or when the page blocks."""
    SHARED.run(record(tmp_path / "bundle", page, clock="natural"))

    outcome = outcome_of(tmp_path / "bundle")

    assert (outcome.verdict, outcome.reasons) == ("faithful", ())


def test_a_message_right_after_a_response_is_recorded_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server sends the message at once, so that the recorder learns of both at the same time."""
    monkeypatch.setattr(sockets, "_NOTICE_DELAY", 0.0)

    for number in range(4):
        bundle = tmp_path / str(number)
        SHARED.run(record(bundle, "ws-notify"))

        recorded = read_network(bundle / "network")
        response = max(each.completion or 0 for each in recorded.exchanges if each.key.endswith("/ws/act"))
        messages = [each for each in recorded.sockets if isinstance(each, SocketMessage)]
        (notice,) = (each for each in messages if each.text == "notice after action 3")
        assert response < notice.moment.order
