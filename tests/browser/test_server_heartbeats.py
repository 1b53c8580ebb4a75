"""What sockets carry in a replay that passes more page time than its recording."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest

from eikon_engine.browser.traffic.sealed import SealedTraffic
from eikon_engine.network.store import read_network
from eikon_engine.trace.actions import Click, FunctionCondition, Navigate, WaitFor
from tests.browser.desk import at
from tests.sites.torture import serve_torture

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.outcome.outcomes import NetworkOutcome
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.observation import Observation
    from tests.browser.desk import Desk, Room
    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

HEARTBEATS: Final = 3
HEARD: Final = WaitFor(condition=FunctionCondition(expression=f"() => heard >= {HEARTBEATS}"), timeout_ms=20_000)
LATER: Final = "() => performance.now() > 5000"
"""Later than the recording of an interval ends, in page time."""
MUCH_LATER: Final = "() => performance.now() > 40_000"
"""Much later than the recording of heartbeats ends, in page time."""
WATCHING: Final = """<p id=out>connected</p><script>
const socket = new WebSocket('URL');
const lose = () => { out.textContent = 'lost'; socket.close(4000, 'no heartbeat'); };
let watch, heard = 0, last = -Infinity;
const count = part => {
  if (performance.now() - last > 1100) heard += part;
  last = performance.now();
};
const expectNext = ms => { clearTimeout(watch); watch = setTimeout(lose, ms); };
SCRIPT
</script>"""
COUNT: Final = "socket.onmessage = () => { count(1); expectNext(3000); };"
"""The page time of a recording passes slowly on a busy machine; intervals of less than a second do not count."""
ANSWER: Final = "socket.onmessage = () => { count(0.5); socket.send('here'); expectNext(3000); };"
"""Six of these, since a busy machine delays some, and two intervals must be similar."""
PING: Final = """
let waits = false;
const ping = () => {
  socket.send('ping');
  if (!waits) expectNext(1500);
  waits = true;
  setTimeout(ping, 400);
};
socket.onopen = ping;
socket.onmessage = () => { heard++; waits = false; clearTimeout(watch); };"""
ENGINE_IO: Final = """
socket.onmessage = event => { heard = 3; if (event.data === '2') socket.send('3'); expectNext(3000); };"""
ENGINE_IO_3: Final = """
const ping = () => { socket.send('2'); expectNext(1500); };
socket.onmessage = () => { heard = 3; clearTimeout(watch); setTimeout(ping, 400); };"""
WATCHES: Final = {
    "pings of the server": ("/ws/heartbeat/ping", COUNT),
    "pings with times": ("/ws/heartbeat/time", COUNT),
    "answered messages": ("/ws/heartbeat/answered", ANSWER),
    "pings of the page": ("/ws/heartbeat/pong", PING),
    "an Engine.IO server": ("/ws/heartbeat/engine?EIO=4&transport=websocket", ENGINE_IO),
    "an Engine.IO server of version 3": ("/ws/heartbeat/engine?EIO=3&transport=websocket", ENGINE_IO_3),
}
SAVING: Final = """<button onclick="act()">Act</button><script>
const socket = new WebSocket('URL');
let count = 0, last = 0;
const act = () => { count++; ACT };
const save = () => { if (count > last) socket.send('seen ' + (last = count)); };
socket.onopen = () => { BEGIN };
</script>"""
INTERVAL: Final = ("setInterval(save, 3000)", "")
TIMER_OF_CLICK: Final = ("", "setTimeout(save, 1500)")
INTERVAL_OF_CLICK: Final = ("", "setInterval(save, 1500)")


ENDED_EARLY_MS: Final = 1000.0
ENDED_LATE_MS: Final = 20_000.0


def do(desk: Desk, actions: tuple[Action, ...], recorded: list[Observation]) -> list[Observation]:
    """Perform actions that succeed."""
    seen = []
    for place, action in enumerate(actions):
        performed = desk.do(action, recorded[place] if place < len(recorded) else None)
        assert performed.error is None, performed.error
        assert performed.observation is not None
        seen.append(performed.observation)
    return seen


def replay_longer(
    rooms: tuple[Room, Room], folder: Path, actions: tuple[Action, ...], condition: str, *, end_ms: float | None = None
) -> NetworkOutcome:
    """Record actions, and repeat them in a sealed session that then waits for a condition.

    The recording ends after the last action unless `end_ms` is set.
    """
    with rooms[0].recording(folder) as desk:
        seen = do(desk, actions, [])
        end_ms = desk.worker.session.timeline.now_ms if end_ms is None else end_ms
    traffic = SealedTraffic(replace(read_network(folder), end_ms=end_ms))
    more = WaitFor(condition=FunctionCondition(expression=condition), timeout_ms=50_000)
    with rooms[1].sealed(folder, traffic=traffic) as desk:
        do(desk, (*actions, more), seen)
        return desk.network()


@pytest.mark.parametrize("watch", WATCHES)
def test_a_page_that_waits_for_heartbeats_keeps_its_socket(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path, watch: str
) -> None:
    """A page closes its socket if no heartbeat came for one and a half intervals, or no answer to its own."""
    path, script = WATCHES[watch]
    with serve_torture() as torture:
        page = WATCHING.replace("URL", torture.url.replace("http", "ws") + path).replace("SCRIPT", script)
        actions = (Navigate(url=site.put(page)), HEARD)
        connected = f"{MUCH_LATER} && out.textContent === 'connected'"
        outcome = replay_longer((live_browser, sealed_browser), tmp_path, actions, connected)

    assert outcome.misses == ()
    assert outcome.repeats > HEARTBEATS
    assert any("more heartbeat" in note for note in outcome.notes), outcome.notes


@pytest.mark.parametrize("path", ["/ws/heartbeat/ping", "/ws/heartbeat/engine?EIO=4&transport=websocket"])
def test_no_heartbeat_is_added_within_the_recording(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path, path: str
) -> None:
    """Until its end, a replay has the recorded messages only: the server was silent."""
    with serve_torture() as torture:
        page = WATCHING.replace("URL", torture.url.replace("http", "ws") + path)
        page = page.replace("SCRIPT", "socket.onmessage = () => { heard++; };")
        actions = (Navigate(url=site.put(page)), HEARD)
        outcome = replay_longer((live_browser, sealed_browser), tmp_path, actions, MUCH_LATER, end_ms=60_000.0)

    assert outcome.repeats == 0
    assert outcome.misses == ()


def replay_saving(
    rooms: tuple[Room, Room], site: PageSite, folder: Path, scripts: tuple[str, str], end_ms: float
) -> NetworkOutcome:
    """Record a page that loads and is clicked, with a script for each, and repeat it with more page time."""
    with serve_torture() as torture:
        page = SAVING.replace("URL", torture.url.replace("http", "ws") + "/ws/binary")
        actions = (
            Navigate(url=site.put(page.replace("BEGIN", scripts[0]).replace("ACT", scripts[1]))),
            WaitFor(condition=FunctionCondition(expression="() => socket.readyState === 1")),
            Click(target=at("button")),
        )
        return replay_longer(rooms, folder, actions, LATER, end_ms=end_ms)


def test_an_interval_may_send_what_the_recording_did_not_reach(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path
) -> None:
    """It was begun before the last action, and would have sent it after the recording."""
    outcome = replay_saving((live_browser, sealed_browser), site, tmp_path, INTERVAL, ENDED_EARLY_MS)

    assert outcome.misses == ()
    assert outcome.repeats == 1
    assert any("after the recording" in note for note in outcome.notes), outcome.notes


@pytest.mark.parametrize(
    ("scripts", "end_ms"),
    [(INTERVAL, ENDED_LATE_MS), (TIMER_OF_CLICK, ENDED_EARLY_MS), (INTERVAL_OF_CLICK, ENDED_EARLY_MS)],
    ids=["interval within the recording", "timer of a click", "interval of a click"],
)
def test_any_other_further_message_is_a_miss(
    live_browser: Room, sealed_browser: Room, site: PageSite, tmp_path: Path, scripts: tuple[str, str], end_ms: float
) -> None:
    """An action caused it, or the recorded page would have sent it."""
    outcome = replay_saving((live_browser, sealed_browser), site, tmp_path, scripts, end_ms)

    assert len(outcome.misses) == 1, outcome.misses
    assert outcome.repeats == 0
