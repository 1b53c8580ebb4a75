"""WebSockets in the network part of a bundle."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest
from pydantic import ValidationError

from eikon_engine.errors import TraceError, TraceFieldError
from eikon_engine.network.exchange import Moment
from eikon_engine.network.store import NetworkWriter, read_network
from eikon_engine.network.websocket import SocketAccepted, SocketClosed, SocketMessage, SocketOpened, message_key
from tests.error_codes import has_code
from tests.network.factories import make_exchange

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.network.websocket import SocketSide

URL = "ws://shop.test/live"


def moment(order: int) -> Moment:
    """Return the moment of an event in the first action."""
    return Moment(order=order, at_ms=10 * order, phase=1)


def write(folder: Path) -> None:
    """Write a socket with a text and a binary message."""
    with NetworkWriter(folder) as writer:
        body = writer.write_blob(b"\x00\xff")
        writer.append_socket(SocketOpened(socket=0, url=URL, moment=moment(0)))
        writer.append_socket(SocketAccepted(socket=0, protocol="v1", moment=moment(1)))
        writer.append_socket(SocketMessage(socket=0, sender="page", text="hello", moment=moment(2)))
        writer.append_socket(SocketMessage(socket=0, sender="server", binary=True, body=body, moment=moment(3)))
        writer.append_socket(SocketClosed(socket=0, closer="server", code=4001, reason="over", moment=moment(4)))


def test_sockets_read_back_in_their_order(tmp_path: Path) -> None:
    """All socket events survive the file; binary messages are stored as blobs."""
    write(tmp_path)

    recording = read_network(tmp_path)

    kinds = [event.kind for event in recording.sockets]
    assert kinds == ["opened", "accepted", "message", "message", "closed"]
    assert [recording.body(ref) for ref in recording.refs] == [b"\x00\xff"]


def test_a_truncated_last_line_is_skipped(tmp_path: Path) -> None:
    """A killed recorder loses only its last line, and the reader notes it."""
    write(tmp_path)
    file = tmp_path / "sockets.jsonl"
    file.write_bytes(file.read_bytes()[:-20])

    recording = read_network(tmp_path)

    assert len(recording.sockets) == 4
    assert recording.truncation is not None
    assert "only the 4 lines before it were read" in recording.truncation


def test_a_message_without_its_blob_is_an_error(tmp_path: Path) -> None:
    """A bundle that lacks a binary message is not replayed."""
    write(tmp_path)
    next((tmp_path / "blobs").iterdir()).unlink()

    with pytest.raises(TraceError, match=r"line 4: missing file of a message", check=has_code("attachment-missing")):
        read_network(tmp_path)


def test_a_line_of_an_unknown_kind_is_an_error(tmp_path: Path) -> None:
    """An unknown kind of line is an error and is not skipped."""
    write(tmp_path)
    with (tmp_path / "sockets.jsonl").open("ab") as file:
        file.write(b'{"kind":"ping","socket":0}\n')

    with pytest.raises(TraceFieldError, match="line 6"):
        read_network(tmp_path)


def test_every_socket_event_has_a_unique_position(tmp_path: Path) -> None:
    """No two events, nor an event and the end of an exchange, share a position, in the file or on writing."""
    opened = SocketOpened(socket=0, url=URL, moment=moment(1))
    with NetworkWriter(tmp_path / "events") as writer:
        writer.append_socket(opened)
        with pytest.raises(TraceFieldError, match="1 is already used by event 'opened' of socket 0"):
            writer.append_socket(SocketAccepted(socket=0, moment=moment(1)))
    with (tmp_path / "events" / "sockets.jsonl").open("ab") as file:
        file.write(SocketMessage(socket=0, sender="page", text="a", moment=moment(1)).model_dump_json().encode())
    with NetworkWriter(tmp_path / "both") as writer:
        writer.append(make_exchange())
    (tmp_path / "both" / "sockets.jsonl").write_text(
        opened.model_copy(update={"moment": moment(0)}).model_dump_json() + "\n"
    )

    with pytest.raises(
        TraceFieldError, match=r"line 2: moment\.order: 1 is already used by event 'opened' of socket 0"
    ):
        read_network(tmp_path / "events")
    with pytest.raises(TraceFieldError, match=r"line 1: moment\.order: 0 is already used by exchange 0"):
        read_network(tmp_path / "both")


def test_an_event_has_all_its_fields(tmp_path: Path) -> None:
    """Fields that are optional in the constructor are written to the file."""
    write(tmp_path)
    file = tmp_path / "sockets.jsonl"
    file.write_text(file.read_text().replace(',"reason":"over"', ""))

    with pytest.raises(TraceFieldError, match="line 5: reason: the field is missing"):
        read_network(tmp_path)


@pytest.mark.parametrize(
    ("closer", "code", "possible"),
    [
        ("server", 70000, False),
        ("server", -1, False),
        ("server", 65535, True),
        ("server", 70, True),
        ("server", None, True),
        ("page", 999, False),
        ("page", 5000, False),
        ("page", 1000, True),
        ("page", 4999, True),
    ],
)
def test_close_codes_are_those_that_a_side_can_send(closer: SocketSide, code: int | None, possible: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """A server may send any close code that browsers accept; a page may send only some."""
    with nullcontext() if possible else pytest.raises(ValidationError, match=f"got {code}"):
        SocketClosed(socket=0, closer=closer, code=code, moment=moment(0))


def test_a_message_has_one_content() -> None:
    """Text and body at once, neither, or a binary message as text are all rejected."""
    for content in ({"text": "a", "body": {"sha256": "0" * 64, "size": 1}}, {}, {"text": "a", "binary": True}):
        with pytest.raises(ValidationError):
            SocketMessage.model_validate({"socket": 0, "sender": "page", "moment": moment(0), **content}, strict=False)


def test_messages_of_equal_json_have_one_key() -> None:
    """The order of names in a JSON message does not matter; its values do."""
    assert message_key(URL, b'{"a":1,"b":2}') == message_key(URL, b'{ "b": 2, "a": 1 }')
    assert message_key(URL, b'{"a":1}') != message_key(URL, b'{"a":2}')
