from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from eikon_engine.trace.actions import Navigate
from tests.browser.pages import TRAIL

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.outcome.outcomes import NetworkOutcome
    from tests.browser.desk import Room

pytestmark = pytest.mark.browser

PAGE = """<img src=/missing.png><link rel=icon href="data:,"><script>
fetch('REFUSED').catch(() => 0);
const given_up = new AbortController();
fetch('/slow', {signal: given_up.signal}).catch(() => 0);
given_up.abort();
</script>"""


def test_failed_requests_are_reported(live_browser: Room, sealed_browser: Room, tmp_path: Path) -> None:
    """A status from 400 on and a missing response are failures, live and sealed; a cancelled request is not."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        refused = f"http://127.0.0.1:{closed.getsockname()[1]}/"
    address = live_browser.site.put(TRAIL + PAGE.replace("REFUSED", refused))

    with live_browser.recording(tmp_path) as desk:
        desk.ok(Navigate(url=address))
        live = desk.network()
    with sealed_browser.sealed(tmp_path) as desk:
        desk.ok(Navigate(url=address))
        sealed = desk.network()

    wanted = [("/missing.png", "404"), ("/", "net::ERR_CONNECTION_REFUSED")]
    assert _failed(live) == _failed(sealed) == sorted(wanted)
    assert sealed.misses == ()


def _failed(network: NetworkOutcome) -> list[tuple[str, str]]:
    assert network.failed is not None
    return sorted(("/" + each.url.split("/", 3)[3], each.what) for each in network.failed)
