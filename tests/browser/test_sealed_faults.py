"""An error while a recording is served ends the replay at once, and is reported."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING

import pytest

from eikon_engine.browser.stabilizer import IDLE_TIMEOUT_S
from eikon_engine.browser.traffic.sealed import SealedTraffic
from eikon_engine.errors import InternalError
from eikon_engine.files.blobs import BlobStore
from eikon_engine.network.store import read_network
from eikon_engine.trace.actions import Navigate
from tests.browser.pages import Answer

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.files.blobs import BlobRef
    from tests.browser.desk import Room
    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser


class FaultyStore(BlobStore):
    """A store that fails for one body."""

    def get(self, ref: BlobRef) -> bytes:
        """Fail for a body of three bytes."""
        if ref.size == len("yes"):
            raise KeyError(ref.size)
        return super().get(ref)


def test_an_internal_error_ends_the_replay(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """A request that we failed to serve is not left pending."""
    site.answers["/data"] = Answer(body="yes", content_type="text/plain")
    action = Navigate(url=site.put("<script>const r = new XMLHttpRequest(); r.open('GET', '/data'); r.send()</script>"))
    with live_browser.recording(tmp_path) as desk:
        recorded = desk.ok(action)
    recording = dataclasses.replace(read_network(tmp_path), blobs=FaultyStore(tmp_path / "blobs"))
    begin = time.monotonic()

    with sealed_browser.desk(SealedTraffic(recording)) as desk, pytest.raises(InternalError, match="KeyError: 3"):
        desk.do(action, recorded)

    assert time.monotonic() - begin < IDLE_TIMEOUT_S
