"""A live replay of an unchanged site is faithful although its WebSockets say more, earlier, or with drawn ids."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from aiohttp import WSMsgType, web
from playwright.sync_api import Browser, Page, expect

from tests.record.recorded_page import TWICE, recorded_page, steps
from tests.replay.conftest import replay
from tests.sites.async_loopback import HOST, hide_the_server, running_application

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.outcome.outcomes import ReplayOutcome

pytestmark = pytest.mark.browser

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = """<!doctype html><title>Tasks</title><label>Task <input id=task></label><button id=add>Add</button>
<p id=state>Connecting</p><ul id=tasks></ul>
<script>const client = '{client}';</script><script src=/tasks.js></script>"""
SCRIPT: Final = """
const socket = new WebSocket(`ws://${location.host}/socket?EIO=4&client_id=${client}`);
let acknowledged = 0, received = 0;
const send = (kind, values) => socket.send('42' + JSON.stringify([kind, { client_id: client, ...values }]));
setInterval(() => { if (acknowledged < received) send('ack', { received }); acknowledged = received; }, {interval});
socket.onmessage = ({ data }) => {
  if (data === '2') socket.send('3');
  if (data.startsWith('0')) socket.send('40');
  if (!data.startsWith('42')) return;
  const [kind, value] = JSON.parse(data.slice(2));
  received += 1;
  state.textContent = value.state;
  if (kind !== 'task') return;
  const task = document.createElement('li');
  task.innerHTML = `<label><input type=checkbox> ${value.text}</label>`;
  task.onchange = () => send('done', { listener_id: value.listener_id });
  tasks.append(task);
};
add.onclick = () => send('add', { text: task.value });
"""


def draw() -> str:
    """Draw an id."""
    return secrets.token_hex(16)


class Tasks:
    """Tasks that a page sends to its server, and gets from it, over a socket of Engine.IO."""

    def __init__(self) -> None:
        """Connect at once, without pings."""
        self.url = ""
        self.connects_after_s = 0.0
        self.pings_after_s = 60.0
        """Wall time between two pings."""
        self.answer = "Added"
        self.answers_after_s = 0.0
        self.times_ready = 1
        """How often the server says that it is ready."""
        self.client = ""
        """Id of the client and its listeners; they are drawn for each page if it is empty."""
        self.acknowledges_after_ms = 60_000
        """Interval of the page after which it acknowledges what it received."""

    async def page(self, _request: web.Request) -> web.Response:
        """Return the page, which has a drawn id."""
        return web.Response(text=PAGE.format(client=self.client or draw()), content_type="text/html")

    async def script(self, _request: web.Request) -> web.Response:
        """Return its script."""
        return web.Response(
            text=SCRIPT.replace("{interval}", str(self.acknowledges_after_ms)), content_type="text/javascript"
        )

    async def socket(self, request: web.Request) -> web.WebSocketResponse:
        """Answer what the page sends."""
        await asyncio.sleep(self.connects_after_s)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_str('0{"sid":"x","pingInterval":60000,"pingTimeout":60000}')
        pings = asyncio.ensure_future(self.ping(socket))
        listeners: set[str] = set()
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    await self.answer_to(socket, message.data, listeners)
        finally:
            pings.cancel()
        return socket

    async def ping(self, socket: web.WebSocketResponse) -> None:
        """Send the pings."""
        while True:
            await asyncio.sleep(self.pings_after_s)
            await socket.send_str("2")

    async def answer_to(self, socket: web.WebSocketResponse, message: str, listeners: set[str]) -> None:
        """Answer one message."""
        if message == "40":
            for _ in range(self.times_ready):
                await socket.send_str('42["ready",{"state":"Ready"}]')
        kind, value = json.loads(message[2:]) if message.startswith("42") else ("", {})
        if kind == "add":
            listeners.add(listener := self.client or draw())
            await asyncio.sleep(self.answers_after_s)
            task = {"listener_id": listener, "text": value["text"], "state": self.answer}
            await socket.send_str("42" + json.dumps(["task", task]))
        elif kind == "done":
            is_known = value["listener_id"] in listeners
            state = "Done" if is_known else "No such task"
            await socket.send_str("42" + json.dumps(["done", {"state": state}]))


@contextmanager
def serve_tasks() -> Iterator[Tasks]:
    """Serve until the block ends."""
    site, application = Tasks(), web.Application()
    application.on_response_prepare.append(hide_the_server)
    application.router.add_get("/", site.page)
    application.router.add_get("/tasks.js", site.script)
    application.router.add_get("/socket", site.socket)
    with running_application(application, (0,)) as ports:
        site.url = f"http://{HOST}:{ports[0]}"
        yield site


def add_and_finish(page: Page, url: str) -> None:
    """Add a task and check it off, as fast as the page allows."""
    page.goto(url)
    expect(page.locator("#state")).to_have_text("Ready")
    page.get_by_label("Task").fill("Water")
    page.get_by_role("button", name="Add").click()
    expect(page.locator("#state")).to_have_text("Added")
    page.get_by_label("Water").check()
    expect(page.locator("#state")).to_have_text("Done")


def add_without_waiting(page: Page, url: str) -> None:
    """Add a task, and do something else before the server has answered."""
    page.goto(url)
    expect(page.locator("#state")).to_have_text("Ready")
    page.get_by_label("Task").fill("Water")
    page.get_by_role("button", name="Add").click()
    page.get_by_label("Task").fill("")
    expect(page.locator("#state")).to_have_text("Added")


@pytest.fixture(scope="module")
def tasks() -> Iterator[Tasks]:
    """Serve the tasks."""
    with serve_tasks() as site:
        yield site


@pytest.fixture(scope="module")
def bundle(chromium: Browser, tasks: Tasks, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record the mission on a server that connects late, and learn what it draws."""
    folder = tmp_path_factory.mktemp("tasks") / "b"
    tasks.connects_after_s = 1.0
    with recorded_page(chromium, folder, TWICE) as agent:
        add_and_finish(agent.page, tasks.url)
    tasks.connects_after_s = 0.0
    learned = subprocess.run(
        [sys.executable, "-m", "eikon_engine", "certify", str(folder), "--network", "live", "--runs", "2", "--accept"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert learned.returncode == 0, learned.stdout + learned.stderr
    return folder


def differences(outcome: ReplayOutcome) -> list[str]:
    """Return what differs."""
    return [each.message + each.expected + each.observed for each in outcome.divergences]


def findings(outcome: ReplayOutcome) -> list[str]:
    """Return what differs and does not count, such as pages that were late."""
    return [
        found.message
        for attempt in outcome.subgoals
        for each in attempt.steps
        for found in getattr(each, "findings", ())
    ]


def test_an_unchanged_site_is_faithful(bundle: Path, tasks: Tasks, tmp_path: Path) -> None:
    """Its ids differ, also those in its messages; the page connects, and sends its first message, earlier."""
    tasks.pings_after_s = 60.0

    outcome = replay(bundle, tmp_path / "run", network="live", secrets={})

    assert differences(outcome) == []
    assert outcome.verdict == "faithful"


def test_heartbeats_are_no_messages_of_the_mission(bundle: Path, tasks: Tasks, tmp_path: Path) -> None:
    """How many pings a server sends depends on how long its socket is open; the page answers each.

    Some may come before the first message, and none is a change of what the server responds.
    """
    tasks.pings_after_s = 0.1

    outcome = replay(bundle, tmp_path / "run", network="live", secrets={})

    assert differences(outcome) == []
    assert outcome.network is not None
    assert outcome.network.response_changes == ()
    assert outcome.verdict == "faithful"


def test_a_changed_message_is_a_difference(bundle: Path, tasks: Tasks, tmp_path: Path) -> None:
    """Whatever is no drawn id is compared: by the state after the click, or by the assertion that comes with it."""
    tasks.pings_after_s, tasks.answer = 60.0, "Saved"
    try:
        outcome = replay(bundle, tmp_path / "run", network="live", secrets={})
    finally:
        tasks.answer = "Added"

    assert outcome.verdict == "diverged"
    first = outcome.divergences[0]
    assert (first.code, first.observed) in {("dom-changed", "Saved"), ("assertion-failed", '"Saved"')}


def test_the_page_connected_late_in_the_recording(bundle: Path) -> None:
    """Otherwise nothing would come earlier: the message that the page sends first belongs to the second step."""
    first, second = (each.baseline for each in steps(bundle)[:2])

    assert first is not None
    assert second is not None
    sent = [[key for key in each.requests if " sha256:" in key] for each in (first, second)]
    assert list(map(len, sent)) == [0, 1]


def test_an_interval_that_the_recording_did_not_reach_is_no_difference(
    chromium: Browser, tasks: Tasks, tmp_path: Path
) -> None:
    """A replay lets pages settle after each action, so that an interval fires at a page time after the recording."""
    tasks.client, tasks.acknowledges_after_ms, tasks.pings_after_s = "ada", 5_000, 60.0
    try:
        with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
            agent.page.goto(tasks.url)
            expect(agent.page.locator("#state")).to_have_text("Ready")
            for number in range(12):
                agent.page.get_by_label("Task").fill(f"Water {number}")
        outcome = replay(tmp_path / "b", tmp_path / "run", network="live", secrets={})
    finally:
        tasks.client, tasks.acknowledges_after_ms = "", 60_000

    assert differences(outcome) == []
    assert outcome.verdict == "faithful"


def test_an_answer_that_the_agent_did_not_wait_for_may_come_earlier(
    chromium: Browser, tasks: Tasks, tmp_path: Path
) -> None:
    """Under load, the observation of an action may precede the answer of the server to what the action sent.

    A live replay has the answer already, and shows it when the recording did. Another answer is a difference.
    """
    tasks.client, tasks.answers_after_s, tasks.pings_after_s = "ada", 1.0, 60.0
    try:
        with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
            add_without_waiting(agent.page, tasks.url)
        tasks.answers_after_s = 0.0
        same = replay(tmp_path / "b", tmp_path / "same", network="live", secrets={})
        tasks.answer = "Saved"
        other = replay(tmp_path / "b", tmp_path / "other", network="live", secrets={})
    finally:
        tasks.client, tasks.answers_after_s, tasks.answer = "", 0.0, "Added"

    assert differences(same) == []
    assert same.verdict == "faithful"
    first = other.divergences[0]
    assert (first.sequence, first.observed) == (6, '"Saved"')


@pytest.mark.parametrize("answers_after_s", [0.0, 1.0])
def test_a_server_may_say_less_before_the_page_asks(
    chromium: Browser, tasks: Tasks, tmp_path: Path, answers_after_s: float
) -> None:
    """A process that starts may say less of its state; the answers to later messages keep their moments.

    They are waited for, too.
    """
    tasks.client, tasks.answers_after_s, tasks.pings_after_s, tasks.times_ready = "ada", 1.0, 60.0, 4
    try:
        with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
            add_without_waiting(agent.page, tasks.url)
        tasks.answers_after_s, tasks.times_ready = answers_after_s, 2
        outcome = replay(tmp_path / "b", tmp_path / "run", network="live", secrets={})
    finally:
        tasks.client, tasks.answers_after_s, tasks.times_ready = "", 0.0, 1

    assert differences(outcome) == findings(outcome) == []
    assert outcome.verdict == "faithful"
