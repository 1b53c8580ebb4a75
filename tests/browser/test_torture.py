"""What the web does to a browser, recorded once and played back with the server stopped; all of it: a benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.trace.bundle import open_bundle
from tests.missions.torture import torture
from tests.replay.shared_browsers import SHARED
from tests.sites.torture import ITEMS, serve_torture

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.outcome.outcomes import ReplayOutcome

SLOW = {"never", "cors-closed"}
"""Items whose recording waits for an answer that never comes; the benchmark has them."""


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
    """Replay a bundle; the benchmark does so many times, several at once."""
    done = SHARED.replay(open_bundle(bundle), ReplayOptions(artifacts_dir=bundle.parent / "run"))
    assert done.error is None
    return done.outcome


@pytest.mark.parametrize("page", ["sockets", "exchanges", "bodies", "parts", "frames", "chance"])
def test_everything_on_a_page_replays_as_recorded(tmp_path: Path, page: str) -> None:
    """Record a page of the torture site, stop the server, and find its replay faithful, with nothing missed."""
    SHARED.run(record(tmp_path / "bundle", page))

    outcome = outcome_of(tmp_path / "bundle")

    assert (outcome.verdict, outcome.reasons, outcome.network.misses) == ("faithful", (), ())


@pytest.mark.parametrize("page", ["sockets", "sync-xhr"])
def test_a_recording_in_natural_time_replays_alike(tmp_path: Path, page: str) -> None:
    """What came while the page's clock ran by itself comes at its moment again, or when the page stands still."""
    SHARED.run(record(tmp_path / "bundle", page, clock="natural"))

    outcome = outcome_of(tmp_path / "bundle")

    assert (outcome.verdict, outcome.reasons) == ("faithful", ())
