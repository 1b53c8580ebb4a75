"""What a server sends on a WebSocket is compared with the recording, message by message."""

from __future__ import annotations

import json
import shutil
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from eikon_engine.browser.traffic.response_changes import RecordingComparison, ResponseChanges
from eikon_engine.browser.traffic.server_messages import (
    MAX_MISSING_MESSAGES,
    ComparedMessages,
    RecordedMessages,
    RecordedSockets,
)
from eikon_engine.divergence.response_diff import is_missing_message
from eikon_engine.files.blobs import BlobStore
from eikon_engine.network.exchange import Moment
from eikon_engine.network.heartbeats import ServerHeartbeat
from eikon_engine.network.matching import RuleUsage
from eikon_engine.network.store import NetworkRecording
from eikon_engine.network.websocket import SocketMessage, SocketOpened, socket_key
from eikon_engine.secrets.redaction import Redactor
from eikon_engine.secrets.stand_ins import RecordedStandIns
from eikon_engine.trace.base_urls import BaseUrlMap
from eikon_engine.trace.rules import ResponseValueRule

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.browser.session import Session

URL = "ws://shop.test/live"
MOMENT = Moment(order=0, at_ms=0, phase=1)


def compared(*contents: bytes, phase: int = 1) -> ComparedMessages:
    """Compare with these recorded messages."""
    recorded = RecordedMessages(key=socket_key(URL), occurrence=0, contents=contents, phases=[phase] * len(contents))
    return ComparedMessages(recorded)


def changes(folder: Path) -> ResponseChanges:
    """Store differences from an empty recording."""
    return ResponseChanges(NetworkRecording(exchanges=(), truncation=None, blobs=BlobStore(folder)))


def missing(messages: ComparedMessages, waited_ms: float) -> list[str]:
    """Return what is missing, as printed."""
    return [str(value) for change in messages.missing(1, waited_ms) for value in change.what]


def test_the_messages_of_a_socket_are_read_once(tmp_path: Path) -> None:
    """Each message that a server sends is compared, so they are needed often."""
    blobs = BlobStore(tmp_path / "blobs")
    events = [
        event
        for socket in range(2)
        for event in (
            SocketOpened(socket=socket, url=URL, moment=MOMENT),
            SocketMessage(socket=socket, sender="server", body=blobs.put(b"stored %d" % socket), moment=MOMENT),
            SocketMessage(socket=socket, sender="page", text="sent", moment=MOMENT),
            SocketMessage(socket=socket, sender="server", text="short", moment=MOMENT),
        )
    ]
    opened = [event for event in events if isinstance(event, SocketOpened)]
    recording = NetworkRecording(exchanges=(), truncation=None, blobs=blobs, sockets=tuple(events))
    sockets = RecordedSockets(recording)
    first = sockets.messages(opened[0], None), sockets.messages(opened[1], None)
    shutil.rmtree(tmp_path / "blobs")

    again = sockets.messages(opened[0], None), sockets.messages(opened[1], None)

    assert again == first
    assert [list(each.contents) for each in again] == [[b"stored 0", b"short"], [b"stored 1", b"short"]]
    assert [each.occurrence for each in again] == [0, 1]
    assert [list(each.phases) for each in again] == [[1, 1], [1, 1]]


def test_the_heartbeats_of_a_socket_are_found_once(tmp_path: Path) -> None:
    """A live replay looks at the others for each message that it gets: here for a thousand."""
    texts = ["2", *(f'42["news",{{"id":{number},"text":"{"x" * 300}"}}]' for number in range(1000))]
    opened = SocketOpened(socket=0, url=URL, moment=MOMENT)
    events = [SocketMessage(socket=0, sender="server", text=text, moment=MOMENT) for text in texts]
    recording = NetworkRecording(exchanges=(), truncation=None, blobs=BlobStore(tmp_path), sockets=(opened, *events))
    sockets = RecordedSockets(recording)
    ping = ServerHeartbeat(b"2", is_binary=False, interval_ms=25_000.0, answer=b"3")
    begin = time.process_time()

    found = [sockets.messages(opened, ping).contents for _ in texts]

    assert time.process_time() - begin < 1
    assert list(found[-1]) == [text.encode() for text in texts[1:]]


def test_a_missing_message_says_how_long_it_was_waited_for() -> None:
    """In whole seconds, and only of those that the recorded server had sent by then."""
    messages = compared(b'{"text":"Hello"}')

    assert missing(messages, 300) == ["message 1 $.text: recorded Hello, live none so far"]
    assert missing(messages, 5_900) == ["message 1 $.text: recorded Hello, live none within 5 s"]
    assert all(is_missing_message(each) for waited_ms in (300, 5_900) for each in messages.missing(1, waited_ms))
    assert missing(compared(b"later", phase=2), 5_900) == []


def test_many_missing_messages_are_looked_at_quickly() -> None:
    """They are looked at again and again while a page is waited for."""
    contents = (
        json.dumps({"number": number, "text": f"line {number}", "at": [number] * 17}) for number in range(4_000)
    )
    messages = compared(*(each.encode() for each in contents))
    first = list(messages.missing(1, 5_000))
    begin = time.process_time()

    again = [list(messages.missing(1, 5_000.0 + looks)) for looks in range(50)]

    assert time.process_time() - begin < 1
    assert again == [first] * 50
    assert len(first) == MAX_MISSING_MESSAGES
    assert first[-1].what[0].part == "message 4000 $.number"


def test_a_difference_that_later_messages_explain_is_amended(tmp_path: Path) -> None:
    """A message that came first seems to be another one until the recorded one comes."""
    messages, found = compared(b"one", b"two"), changes(tmp_path)
    messages.add([b"two"], found)
    before = [str(value) for change in found.changes for value in change.what]

    messages.add([b"one"], found)

    assert before == []
    assert [str(value) for change in found.changes for value in change.what] == [
        "message 1: recorded one, live two",
        "message 2: recorded two, live one",
    ]
    messages.add([b"one", b"two"], found)
    assert [value.live for change in found.changes for value in change.what] == ["two", "one"]


def test_a_recorded_and_a_live_message_of_one_number_are_two(tmp_path: Path) -> None:
    """The second recorded message differs, and the second live one is additional."""
    messages, found = compared(b'{"a":1}', b'{"b":1}'), changes(tmp_path)

    messages.add([b'{"a":1}', b'{"c":1}', b'{"b":2}'], found)

    shown = [[str(value) for value in change.what] for change in found.changes]
    assert sorted(shown) == [
        ["message 2 $.b: recorded 1, live 2"],
        ["message 2 $.c: recorded (absent), live 1"],
    ]


IDS = "3965df97182225ea60d3221740adc570", "b9a52ff590ac6806a0a72fc64d4b62e6"


@pytest.mark.parametrize(
    ("recorded", "live", "is_equal"),
    [
        ("/tickets/17", "/tickets/18", True),
        ("/tickets/17", "/tickets/17", False),
        ("/tickets/17 /tickets/17", "/tickets/18 /tickets/17", False),
    ],
)
def test_a_message_about_a_known_record_has_its_other_ids(
    recorded: str, live: str, tmp_path: Path, *, is_equal: bool
) -> None:
    """The number of the new record is known by then; a message about another record teaches nothing."""
    stand_ins = RecordedStandIns(())
    stand_ins.substitute({"18": "17"}, ["http://shop.test/tickets/"])
    rule = ResponseValueRule(pattern='"id":"([0-9a-f]{32})(?=")', reason="an id")
    opened = SocketOpened(socket=0, url=URL, moment=MOMENT)
    ours, theirs = (
        NetworkRecording(
            exchanges=(),
            truncation=None,
            blobs=BlobStore(tmp_path),
            sockets=(
                opened,
                SocketMessage(socket=0, sender="server", text=f'{{"id":"{id_}","url":"{url}"}}', moment=MOMENT),
            ),
        )
        for id_, url in zip(IDS, (recorded, live), strict=True)
    )
    session = SimpleNamespace(redactor=Redactor({}, stand_ins), urls=BaseUrlMap())
    comparison = RecordingComparison(ours, theirs, (rule,))
    comparison.start(cast("Session", session), RuleUsage((rule,)))

    comparison.compare_socket(opened, theirs.sockets)

    assert (stand_ins.replace_text(IDS[1]) == IDS[0]) == is_equal
    assert (not comparison.changes.changes) == is_equal
