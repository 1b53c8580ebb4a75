"""Socket use of a page in a sealed session, compared with its recording."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

import pytest

from eikon_engine.browser.traffic.sealed import SealedTraffic
from eikon_engine.network.store import read_network
from eikon_engine.trace.actions import Click, FunctionCondition, Navigate, WaitFor
from tests.browser.desk import at
from tests.browser.pages import Answer
from tests.sites.torture import serve_torture

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.outcome.outcomes import NetworkOutcome
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.observation import Observation
    from tests.browser.desk import Desk, Room
    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

SCRIPTS = {
    "text": "s.send('abc')",
    "two texts": "s.send('abc'); s.send('abc')",
    "three texts": "s.send('abc'); s.send('abc'); s.send('abc')",
    "bytes": "s.send(new TextEncoder().encode('abc'))",
    "fatal": "s.close(4001, 'fatal')",
    "done": "s.close(4001, 'done')",
    "plain": "s.close()",
    "leave": "location = '/left'",
    "leaves politely": "onpagehide = () => s.close(4002, 'gone'); location = '/left'",
    "nothing": "0",
    "first, then a timer": "s.send('first'); setTimeout(() => s.send('late'), 20)",
    "a timer, then first": "setTimeout(() => s.send('late'), 20); setTimeout(() => s.send('first'), 40)",
    "late, then first": "s.send('late'); s.send('first')",
    "a timer only": "setTimeout(() => s.send('late'), 20)",
    "three pings, then a timer": "n = 3; h = setInterval(() => s.send(n-- ? 'ping' : (clearInterval(h), 'late')), 20)",
    "two pings, then a timer": "n = 2; h = setInterval(() => s.send(n-- ? 'ping' : (clearInterval(h), 'late')), 20)",
    "bytes, then a timer after the answer": (
        "s.onmessage = () => setTimeout(() => s.send('late'), 20); s.send(new TextEncoder().encode('abc'))"
    ),
    "a timer, then bytes": (
        "setTimeout(() => s.send('late'), 20); setTimeout(() => s.send(new TextEncoder().encode('abc')), 40)"
    ),
}


def open_and_click(desk: Desk, url: str, button: str, recorded: list[Observation] | None = None) -> list[Observation]:
    """Open the page with the socket, and perform one action."""
    actions: tuple[Action, ...] = (
        Navigate(url=url),
        WaitFor(condition=FunctionCondition(expression="() => s.readyState === 1")),
        Click(target=at(f"[id='{button}']")),
    )
    seen = []
    for place, action in enumerate(actions):
        performed = desk.do(action, recorded[place] if recorded else None)
        assert performed.error is None, performed.error
        assert performed.observation is not None
        seen.append(performed.observation)
    return seen


def spread(recording: NetworkRecording, interval_ms: int) -> NetworkRecording:
    """Return a recording with a timeline, whose messages were recorded one after the other."""
    at_ms = count(start=0, step=interval_ms)
    moved = [
        each.model_copy(update={"moment": each.moment.model_copy(update={"at_ms": next(at_ms)})})
        for each in recording.sockets
    ]
    return replace(recording, before_timeline=replace(recording, sockets=tuple(moved)))


def replayed(
    rooms: tuple[Room, Room],
    site: PageSite,
    folder: Path,
    buttons_clicked: tuple[str, str],
    interval_ms: int | None = None,
    unsent: list[tuple[str, str]] | None = None,
) -> NetworkOutcome:
    """Perform one action while recording, and another one in a sealed session; return the network outcome.

    `interval_ms` is the time between two recorded messages, if it matters. Key and explanation of what was not sent are
    added to `unsent`.
    """
    site.answers["/left"] = Answer(body="left")
    with serve_torture() as torture:
        buttons = "".join(f'<button id="{name}" onclick="{script}">{name}</button>' for name, script in SCRIPTS.items())
        url = site.put(f"{buttons}<script>s = new WebSocket('{torture.url.replace('http', 'ws')}/ws/binary')</script>")
        with rooms[0].recording(folder) as desk:
            seen = open_and_click(desk, url, buttons_clicked[0])
    recording = read_network(folder)
    if interval_ms is not None:
        recording = spread(recording, interval_ms)
    traffic = SealedTraffic(recording)
    with rooms[1].sealed(folder, traffic=traffic) as desk:
        open_and_click(desk, url, buttons_clicked[1], seen)
        if unsent is not None:
            unsent += [(each.key, each.explanation) for each in traffic.unsent()]
        return desk.network()


@pytest.mark.parametrize("button", SCRIPTS)
def test_a_page_that_repeats_its_recording_has_no_miss(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path, button: str
) -> None:
    """Messages and closes match, including those of a page that navigates away."""
    unsent: list[tuple[str, str]] = []

    network = replayed((live_browser, sealed_browser), site, tmp_path, (button, button), unsent=unsent)

    assert (network.misses, network.unused, network.notes) == ((), (), ())
    assert [key for key, explanation in unsent if not explanation] == []


OTHERS = {
    ("bytes", "text"): (
        "message 1 of the page on this socket differs from the recorded one",
        ("type: recorded binary, sent text",),
    ),
    ("text", "bytes"): (
        "message 1 of the page on this socket differs from the recorded one",
        ("type: recorded text, sent binary",),
    ),
    ("fatal", "done"): (
        "the page closed this socket (4001 'done'); recorded: 4001 'fatal'",
        ("close: recorded 4001 'fatal', sent 4001 'done'",),
    ),
    ("fatal", "plain"): (
        "the page closed this socket (without a code); recorded: 4001 'fatal'",
        ("close: recorded 4001 'fatal', sent without a code",),
    ),
    ("two texts", "three texts"): ("the page sent 3 messages on this socket; 2 were recorded", ()),
    ("nothing", "fatal"): ("the page closed this socket (4001 'fatal'); the recording did not", ()),
    ("text", "plain"): ("the page closed this socket (without a code); the recording did not", ()),
}


@pytest.mark.parametrize("buttons_clicked", OTHERS, ids=" then ".join)
def test_a_page_that_departs_from_its_recording_has_a_miss(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path, buttons_clicked: tuple[str, str]
) -> None:
    """Form, close code and reason count, and the miss names expected and actual values."""
    network = replayed((live_browser, sealed_browser), site, tmp_path, buttons_clicked)

    assert [(each.reason, each.describe_differences()) for each in network.misses] == [OTHERS[buttons_clicked]]


def test_a_timer_may_send_its_message_before_the_one_of_an_action(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """Timers of a busy page fire late; that of a replay fires when it is due, and overtakes the recorded event."""
    buttons_clicked = ("first, then a timer", "a timer, then first")

    network = replayed((live_browser, sealed_browser), site, tmp_path, buttons_clicked)

    assert (network.misses, network.unused) == ((), ())


@pytest.mark.parametrize(
    "buttons_clicked",
    [("first, then a timer", "late, then first"), ("bytes, then a timer after the answer", "a timer, then bytes")],
    ids=["no timer sends it", "the server answers between the two"],
)
def test_another_order_is_a_miss(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path, buttons_clicked: tuple[str, str]
) -> None:
    """An action sends its messages in their order, and a timer cannot precede the answer that started it."""
    network = replayed((live_browser, sealed_browser), site, tmp_path, buttons_clicked)

    assert network.misses[0].reason == "message 1 of the page on this socket differs from the recorded one"


def test_a_message_that_was_overtaken_must_still_be_sent(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """What the timer sent early counts as sent, and the other message does not."""
    network = replayed((live_browser, sealed_browser), site, tmp_path, ("first, then a timer", "a timer only"))

    assert network.misses == ()
    assert [key.partition(" sha256:")[1] for key in network.unused] == [" sha256:"]


def test_a_message_that_was_recorded_much_later_is_not_early(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """The recorded moments count: a timeline moves all messages between two of the server to one moment."""
    buttons_clicked = ("first, then a timer", "a timer, then first")

    network = replayed((live_browser, sealed_browser), site, tmp_path, buttons_clicked, interval_ms=300)

    assert network.misses[0].reason == "message 1 of the page on this socket differs from the recorded one"


def test_no_message_is_early_behind_a_heartbeat(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """A heartbeat fewer is not awaited: what follows it is the next message."""
    buttons_clicked = ("three pings, then a timer", "two pings, then a timer")

    network = replayed((live_browser, sealed_browser), site, tmp_path, buttons_clicked, interval_ms=20)

    assert (network.misses, network.unused) == ((), ())


def test_a_close_that_does_not_happen_is_unused(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """A recorded close without a counterpart is listed like a request that no page sent, and must have been made."""
    unsent: list[tuple[str, str]] = []

    network = replayed((live_browser, sealed_browser), site, tmp_path, ("fatal", "nothing"), unsent=unsent)

    assert network.misses == ()
    assert [(key.partition(" closed ")[2], explanation) for key, explanation in unsent] == [("4001 'fatal'", "")]
    assert [key.partition(" closed ")[2] for key in network.unused] == ["4001 'fatal'"]


def test_misses_are_listed_in_order(live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path) -> None:
    """A miss of a request after one of a socket follows it, so that each step reports each miss once."""
    url = site.put("<button id=b onclick=\"fetch('/late')\">b</button>")
    with live_browser.recording(tmp_path) as desk:
        desk.ok(Navigate(url=url))

    with sealed_browser.sealed(tmp_path) as desk:
        desk.ok(Navigate(url=url))
        desk.js(
            "{ s = new WebSocket('ws://127.0.0.1:9/none'); new Promise(done => { s.onclose = done }).then(() => 0) }"
        )
        before = desk.network().misses
        desk.ok(Click(target=at("#b")))
        after = desk.network().misses

    assert [each.key for each in before] == ["WEBSOCKET ws://127.0.0.1:9/none"]
    assert [each.key for each in after] == ["WEBSOCKET ws://127.0.0.1:9/none", f"GET {site.url}/late"]
