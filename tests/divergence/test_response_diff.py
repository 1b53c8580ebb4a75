"""Differences between a recorded response and a live one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.divergence.response_diff import ComparedResponse, compare_responses, diff_text

JSON = (("content-type", "application/json"),)
HTML = (("content-type", "text/html; charset=utf-8"),)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def answer(
    body: bytes | None = None, headers: tuple[tuple[str, str], ...] = JSON, status: int = 200, url: str = "http://h/"
) -> ComparedResponse:
    """Return a response."""
    return ComparedResponse(url=url, status=status, headers=headers, body=body)


def shown(recorded: ComparedResponse, live: ComparedResponse) -> list[str]:
    """Return the differences, as printed."""
    return [str(change) for change in compare_responses(recorded, live)]


def test_a_status_is_named_before_the_url() -> None:
    """A form that fails is not redirected as it was; the error is what happened, and names the group in triage."""
    sent = "http://shop.example/login"

    changes = compare_responses(answer(url="http://shop.example/"), answer(url=sent, status=500))

    assert [each.part for each in changes][:2] == ["status", "url"]


def test_a_json_value_is_named_by_its_path() -> None:
    """A changed price in a list is reported with its path."""
    before = {"items": [{"name": "Pear", "price": "3.10"}, {"name": "Plum", "price": "2.00"}]}
    after = {"items": [{"name": "Pear", "price": "3.50"}, {"name": "Plum", "price": "2.00"}]}

    found = shown(answer(json.dumps(before).encode()), answer(json.dumps(after).encode()))

    assert found == ["body $.items[0].price: recorded 3.10, live 3.50"]


def test_added_and_removed_values_are_named_one_by_one() -> None:
    """A removed element is reported with each of its values."""
    found = shown(answer(b'[{"name":"Pear","price":3}]'), answer(b"[]"))

    assert found == ["body $[0].name: recorded Pear, live (absent)", "body $[0].price: recorded 3, live (absent)"]


def test_a_number_that_became_a_text_is_shown_as_json() -> None:
    """A value whose type changed is a different value."""
    assert shown(answer(b'{"n":1}'), answer(b'{"n":"1"}')) == ['body $.n: recorded 1, live "1"']


def test_a_long_text_is_shown_where_it_differs() -> None:
    """Only the surroundings of a changed word in a long text are shown."""
    before, after = ("x " * 300 + f"<b>{word}</b>" + " y" * 300 for word in ("cheap", "dear"))

    found = shown(answer(json.dumps([before]).encode()), answer(json.dumps([after]).encode()))

    assert found == ["body $[0]: recorded cheap, live dear"]


@pytest.mark.parametrize("media", [JSON, HTML, (("content-type", "text/event-stream"),)])
def test_two_long_values_are_never_cut_to_the_same_text(media: tuple[tuple[str, str], ...]) -> None:
    """Whatever the type of a body, what is shown of two values differs."""
    before, after = ("word" * 100 + end + "more" * 100 for end in ("cheap", "dear"))
    bodies = [f'["{each}"]' if media is JSON else f"data: {each}\n\n" for each in (before, after)]

    (change,) = compare_responses(*(answer(each.encode(), media) for each in bodies))

    assert "cheap" in change.recorded
    assert "dear" in change.live
    assert max(len(change.recorded), len(change.live)) < 200


def test_a_long_url_is_cut_around_its_difference() -> None:
    """Also what is no body."""
    urls = [f"http://h/{'a' * 300}?page={page}" for page in (1, 2)]

    (change,) = compare_responses(*(answer(url=each) for each in urls))

    assert (change.recorded[-20:], change.live[-20:]) == ("ge=1 (316 characters)"[-20:], "ge=2 (316 characters)"[-20:])
    assert change.recorded.startswith("…a")


def test_order_and_spaces_of_json_are_no_difference() -> None:
    """The same object with another order of keys and other white space is equal."""
    assert shown(answer(b'{"a":1,"b":2}'), answer(b'{ "b": 2, "a": 1 }')) == []


def test_html_is_compared_by_values_even_on_one_line() -> None:
    """A changed price and a changed attribute on the same line are both reported."""
    before = b'<tr><td>Carrot</td><td>0.25 \xe2\x82\xac</td></tr><button id="add-to-cart">Add</button>'
    after = b'<tr><td>Carrot</td><td>0.35 \xe2\x82\xac</td></tr><button id="buy-now">Add</button>'

    found = shown(answer(before, HTML), answer(after, HTML))

    assert found == [
        "body line 1: recorded 0.25 €, live 0.35 €",
        "body line 1: recorded add-to-cart, live buy-now",
    ]


def test_status_headers_and_cookies_are_compared_by_what_matters() -> None:
    """Status, type, location and cookie names are compared; cookie values and cache validators are not."""
    before = answer(None, (*JSON, ("etag", "1"), ("set-cookie", "sid=1; Path=/\nlang=en")))
    after = answer(
        None, (("Content-Type", "text/html"), ("etag", "2"), ("location", "/x"), ("set-cookie", "sid=2")), 302
    )

    assert shown(before, after) == [
        "status: recorded 200, live 302",
        "header content-type: recorded application/json, live text/html",
        "header location: recorded (absent), live /x",
        "cookies set: recorded lang, sid, live sid",
    ]


def test_other_bodies_are_compared_by_digest() -> None:
    """A picture with one changed byte is one of another content, without its digests."""
    png = (("content-type", "image/png"),)

    (found,) = shown(answer(b"\x00", png), answer(b"\x01", png))

    assert found == "body: recorded 1 byte, live 1 byte of another content"


def test_json_that_is_none_is_compared_as_text() -> None:
    """An error page in place of JSON is compared as text."""
    assert shown(answer(b"{}"), answer(b"Oops")) == ["body line 1: recorded {}, live Oops"]


@given(VALUES, VALUES)
def test_equal_json_is_silent_and_unequal_json_is_not(before: object, after: object) -> None:
    """A difference is reported exactly if the values differ."""
    one, other = (json.dumps(value, sort_keys=True) for value in (before, after))

    found = shown(answer(json.dumps(before).encode()), answer(json.dumps(after).encode()))

    assert bool(found) == (one != other)


@given(st.text(alphabet="<a> \n1\"'"), st.text(alphabet="<a> \n1\"'"))
def test_texts_differ_where_more_than_white_space_does(before: str, after: str) -> None:
    """Texts are compared by the words between tags and line endings."""

    def words(text: str) -> list[str]:
        return text.split()

    found = list(diff_text(before, after))

    assert not (before == after and found)
    assert found or "".join(words(before)) == "".join(words(after))
