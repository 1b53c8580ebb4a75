"""Differences between bodies and between messages, value by value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.divergence.response_diff import ABSENT, diff_bodies, diff_messages

STREAM = {"text/event-stream"}


def shown(before: list[bytes], after: list[bytes]) -> list[str]:
    """Return the differences between two sequences of messages, as printed."""
    return [str(each) for each in diff_messages("message", before, after)]


def test_a_message_of_json_is_compared_by_value() -> None:
    """A changed value in the second message is named by its path."""
    found = shown([b'{"rate":1}', b'{"rate":2}'], [b'{"rate":1}', b'{"rate":3}'])

    assert found == ["message 2 $.rate: recorded 2, live 3"]


def test_a_missing_message_is_named_by_its_number() -> None:
    """If the first of two messages is missing, the second one is not reported as changed."""
    assert shown([b"one", b"two"], [b"two"]) == [f"message 1: recorded one, live {ABSENT}"]


def test_an_added_message_is_named_by_its_position() -> None:
    """A message is added in the middle."""
    assert shown([b"one", b"two"], [b"one", b"new", b"two"]) == [f"message 2: recorded {ABSENT}, live new"]


def test_messages_of_one_kind_are_compared_with_each_other() -> None:
    """All messages have another time; the first one is missing, and not the second one changed into another kind."""
    before = [b'{"kind":"user","name":"Grace","at":1}', b'{"kind":"chat","text":"Hello, Ada","at":2}']
    after = [b'{"kind":"chat","text":"Hello, Ada","at":3}']

    assert shown(before, after) == [
        f"message 1 $.kind: recorded user, live {ABSENT}",
        f"message 1 $.name: recorded Grace, live {ABSENT}",
        f"message 1 $.at: recorded 1, live {ABSENT}",
        "message 2 $.at: recorded 2, live 3",
    ]


def test_a_message_in_another_place_is_neither_missing_nor_additional() -> None:
    """Both sides have it; what only one side has is reported."""
    assert shown([b"one", b"two", b"three"], [b"two", b"three", b"one", b"four"]) == [
        f"message 4: recorded {ABSENT}, live four"
    ]
    assert shown([b"one", b"two"], [b"two", b"one"]) == [
        "message 1: recorded one, live two",
        "message 2: recorded two, live one",
    ]


@pytest.mark.parametrize("message", [b'{"a":NaN}', b'{"a":[1,Infinity]}', b'{"a":1e400}', b"[-Infinity]"])
def test_a_message_with_a_number_that_json_lacks_is_shown_whole(message: bytes) -> None:
    """Python parses it; a trace cannot hold the number."""
    assert shown([], [message]) == [f"message 1: recorded {ABSENT}, live {message.decode()}"]
    assert shown([message], []) == [f"message 1: recorded {message.decode()}, live {ABSENT}"]


def test_a_lone_surrogate_in_the_name_of_a_value_is_replaced() -> None:
    """An outcome, which is a file, names the value."""
    before, after = rb'{"\ud800":1}', rb'{"\ud800":2}'
    added = list(diff_messages("message", [], [before]))
    changed = list(diff_messages("message", [before], [after]))
    bodies = [*diff_bodies(b"{}", before, {"application/json"}), *diff_bodies(before, b"{}", {"application/json"})]

    for change in (*added, *changed, *bodies):
        assert "\ufffd" in change.model_dump_json()


def test_a_binary_message_has_another_content() -> None:
    """Nobody can read it; the text that replaces it, or that it replaces, is shown."""
    (found,) = diff_messages("message", [b"\xff\x00"], [b"\xff\x01"])

    (text,) = diff_messages("message", [b"\xff\x00"], [b"ready"])

    assert (found.recorded, found.live) == ("2 bytes", "2 bytes of another content")
    assert (text.recorded, text.live) == ("2 bytes", "ready")


def test_an_event_stream_is_compared_event_by_event() -> None:
    """Changed data of one event is reported; comments and line endings are ignored."""
    before = b': hello\n\ndata: {"van": 3}\n\nevent: note\ndata: late\n\n'
    after = b'data: {"van": 4}\r\n\r\nevent: note\r\ndata: late\r\n\r\n'

    assert [str(each) for each in diff_bodies(before, after, STREAM)] == ["event 1 $.van: recorded 3, live 4"]


def test_an_event_with_another_name_is_another_one() -> None:
    """A change of an event's type alone is a difference."""
    found = [str(each) for each in diff_bodies(b"event: a\ndata: x\n\n", b"event: b\ndata: x\n\n", STREAM)]

    assert len(found) == 1
    assert found[0].startswith("event 1: recorded event: a")


@given(st.lists(st.binary(max_size=6), max_size=6), st.lists(st.binary(max_size=6), max_size=6))
def test_sequences_differ_exactly_if_a_change_is_reported(before: list[bytes], after: list[bytes]) -> None:
    """A difference is reported exactly if the messages differ, and every reported change is real."""
    found = list(diff_messages("message", before, after))

    assert bool(found) == (before != after)
    assert all(each.recorded != each.live for each in found)
