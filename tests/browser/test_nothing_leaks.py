from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.architecture.sources import PROJECT
from tests.browser.leak_classes import CLASSES, LeakClass
from tests.browser.leak_run import IPV4, attempt_all, fate_of, record_leaks

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from eikon_engine.outcome.outcomes import NetworkOutcome

pytestmark = pytest.mark.browser

PAST_INTERCEPTION = ("WebSocket of a worker", "WebRTC over UDP", "WebTransport")


class Tried(NamedTuple):
    """The outcome of every kind of traffic, and the requests that a loopback server received."""

    outcomes: dict[str, NetworkOutcome]
    asked: tuple[str, ...]


@pytest.fixture(scope="module")
def tried(portal: BlockingPortal, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    """Attempt every kind of traffic once in a sealed session."""

    async def attempt() -> Tried:
        async with record_leaks(tmp_path_factory.mktemp("leaks")) as leaks:
            outcomes = await attempt_all(leaks)
            return Tried(outcomes, (*leaks.site.paths(), *leaks.neighbour.paths()))

    return portal.call(attempt)


@pytest.mark.parametrize("leak", CLASSES, ids=lambda leak: leak.name)
def test_every_kind_of_traffic_is_contained(tried: Tried, leak: LeakClass) -> None:
    """Each kind is served, blocked by a route, caught behind the routes, or not even attempted by the browser."""
    assert fate_of(tried.outcomes[leak.name]) == leak.fate


def test_no_server_receives_a_request(tried: Tried) -> None:
    """Neither the recorded site nor another loopback port is contacted by a replay."""
    assert tried.asked == ()


def test_ip_addresses_are_caught_with_their_target(tried: Tried) -> None:
    """A violation names the intended host."""
    targets = {each.target for each in tried.outcomes["WebSocket of a worker"].page_violations}

    assert {"escape.test:443", IPV4.partition("//")[2]} <= targets


def test_no_packet_leaves_the_machine() -> None:
    """In a namespace that captures every packet, a sealed session sends none, and an unsealed one does."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.leaks", *PAST_INTERCEPTION],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "sealed: 0 packets left, 0 requests reached a server on loopback" in done.stdout.splitlines()
