"""A message that a live server no longer sends, or sends in addition, explains the page that shows the difference."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pytest
from aiohttp import web

from eikon_engine.record import open_recorder
from eikon_engine.trace.actions import Click, Navigate
from eikon_engine.trace.target import Target
from tests.replay.conftest import replay
from tests.replay.shared_browsers import SHARED
from tests.sites.async_loopback import HOST, hide_the_server, running_application

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.outcome.outcomes import ReplayOutcome

pytestmark = pytest.mark.browser

PAGE: Final = """<!doctype html><title>Chat</title><button id=join>Join</button> <b id=who></b><ul id=log></ul>
<script>
join.onclick = () => {
  const socket = new WebSocket(`ws://${location.host}/chat`)
  socket.onmessage = event => {
    const message = JSON.parse(event.data)
    if (message.kind === 'presence') who.textContent = `${message.user} is here`
    if (message.kind === 'chat') log.insertAdjacentHTML('beforeend', `<li>${message.text}</li>`)
  }
}
</script>"""
MESSAGES: Final[tuple[dict[str, JsonValue], ...]] = (
    {"kind": "presence", "user": "Grace", "at": 1},
    {"kind": "load", "percent": 12},
    {"kind": "chat", "text": "Hello, Ada", "at": 2},
)
NOTICE: Final[dict[str, JsonValue]] = {"kind": "chat", "text": "Maintenance at noon", "at": 3}


class Chat:
    """A site whose server sends some messages to each page that joins."""

    def __init__(self) -> None:
        """Send those of the recording."""
        self.url = ""
        self.messages = MESSAGES

    async def page(self, _request: web.Request) -> web.Response:
        """Return the page."""
        return web.Response(text=PAGE, content_type="text/html")

    async def chat(self, request: web.Request) -> web.WebSocketResponse:
        """Send the messages, and stay open."""
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        for each in self.messages:
            await socket.send_str(json.dumps(each))
        async for _ in socket:
            pass
        return socket


@contextmanager
def serve_chat() -> Iterator[Chat]:
    """Serve until the block ends."""
    chat, application = Chat(), web.Application()
    application.on_response_prepare.append(hide_the_server)
    application.router.add_get("/", chat.page)
    application.router.add_get("/chat", chat.chat)
    with running_application(application, (0,)) as ports:
        chat.url = f"http://{HOST}:{ports[0]}"
        yield chat


async def record(chat: Chat, folder: Path) -> None:
    """Record joining the chat."""
    recorder = open_recorder(folder, mission_text="Join the chat", mission_id="chat")
    async with recorder as mission, mission.subgoal("Join", subgoal_id="join"):
        await mission.perform(Navigate(url=f"{chat.url}/"))
        await mission.perform(Click(target=Target(selector="#join")))


def replayed(tmp_path: Path, messages: tuple[dict[str, JsonValue], ...]) -> tuple[ReplayOutcome, str]:
    """Record the mission, and replay it on a server that sends other messages; also return the key of its socket."""
    with serve_chat() as chat:
        SHARED.run(record(chat, tmp_path / "bundle"))
        chat.messages = messages
        outcome = replay(tmp_path / "bundle", tmp_path / "run", network="live", secrets={})
        return outcome, f"WEBSOCKET {chat.url.replace('http', 'ws')}/chat"


@pytest.mark.parametrize(
    ("messages", "missing"),
    [
        pytest.param(MESSAGES[:2], "message 3 $.text: recorded Hello, Ada", id="the last one"),
        pytest.param(MESSAGES[1:], "message 1 $.user: recorded Grace", id="the first one"),
        pytest.param(
            ({**MESSAGES[1], "percent": 7}, {**MESSAGES[2], "at": 9}),
            "message 1 $.user: recorded Grace",
            id="others differ",
        ),
        pytest.param((), "message 1 $.user: recorded Grace", id="all"),
    ],
)
def test_a_message_that_is_no_longer_sent_is_named(
    tmp_path: Path, messages: tuple[dict[str, JsonValue], ...], missing: str
) -> None:
    """The replay waited for the page; the message whose text is not on it any more was not sent."""
    outcome, socket = replayed(tmp_path, messages)

    assert outcome.explanation is not None
    assert outcome.explanation.cause == "test-data", outcome.explanation
    assert outcome.explanation.why.startswith(f"{socket} received different messages: {missing}, live none within 30 s")


def test_an_additional_message_is_named(tmp_path: Path) -> None:
    """Its text is on the page."""
    outcome, socket = replayed(tmp_path, (*MESSAGES[:2], NOTICE, *MESSAGES[2:]))

    assert outcome.explanation is not None
    assert outcome.explanation.cause == "test-data", outcome.explanation
    assert outcome.explanation.why == (
        f"{socket} received different messages: message 3 $.text: recorded (absent), live Maintenance at noon"
    )


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param((MESSAGES[0], MESSAGES[2]), id="one is missing"),
        pytest.param((MESSAGES[0], MESSAGES[1], MESSAGES[1], MESSAGES[2]), id="one is additional"),
        pytest.param((MESSAGES[1], MESSAGES[0], MESSAGES[2]), id="another order"),
    ],
)
def test_messages_that_the_page_does_not_show_are_no_difference(
    tmp_path: Path, messages: tuple[dict[str, JsonValue], ...]
) -> None:
    """The page ignores the load of the server."""
    outcome, _ = replayed(tmp_path, messages)

    assert outcome.divergences == ()
    assert outcome.verdict == "faithful"


def test_a_message_that_the_changed_text_does_not_show_is_no_cause(tmp_path: Path) -> None:
    """The load is missing, too, but the page shows another user."""
    outcome, socket = replayed(tmp_path, ({**MESSAGES[0], "user": "Barbara"}, MESSAGES[2]))

    assert outcome.explanation is not None
    assert outcome.explanation.why == (
        f"{socket} received different messages: message 1 $.user: recorded Grace, live Barbara"
    )
    assert "percent" not in str(outcome.explanation.evidence)
