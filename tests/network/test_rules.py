"""Rules blank the parts they name, and nothing else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.network.keys import canonical_request
from eikon_engine.network.rules import (
    applicable_rules,
    blank_message,
    blank_request,
    blank_socket_url,
)
from eikon_engine.trace.rules import (
    FormFieldRule,
    HeaderRule,
    JsonPathRule,
    PathSegmentRule,
    QueryKeyRule,
    ResponseValueRule,
    TimestampRule,
    VolatileRule,
    describe_rule,
)

ITEMS = "http://shop.test/items"
WHY = "a cache buster"
BUSTER = QueryKeyRule(name="_", reason=WHY)
MULTIPART = "multipart/form-data; boundary=b17"


def key(rule: VolatileRule, url: str = ITEMS, body: bytes | None = None, content_type: str | None = None) -> str:
    """Return the key of a request under one rule."""
    method = "GET" if body is None else "POST"
    return blank_request(canonical_request(method, url, body, content_type), (rule,)).key


def part_of(name: str, value: str) -> bytes:
    """Write one part of a multipart body."""
    return f'--b17\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()


@given(st.text(min_size=1), st.text())
def test_requests_that_differ_in_a_ruled_query_value_are_one(one: str, other: str) -> None:
    """Requests that differ only in the value of an ignored query parameter match."""
    from urllib.parse import quote

    assert key(BUSTER, f"{ITEMS}?page=1&_={quote(one)}") == key(BUSTER, f"{ITEMS}?page=1&_={quote(other)}")


@pytest.mark.parametrize("query", ["page=2&_=1", "page=1", "_=1&page=1", "page=1&_=1&_=2", "page=1&__=1"])
def test_everything_else_of_a_query_still_counts(query: str) -> None:
    """Other values, the order, and the number of occurrences of the name still distinguish requests."""
    assert key(BUSTER, f"{ITEMS}?{query}") != key(BUSTER, f"{ITEMS}?page=1&_=1")


def test_a_name_is_matched_as_the_page_means_it() -> None:
    """Percent-encoding does not affect how a name matches."""
    rule = QueryKeyRule(name="time stamp", reason=WHY)

    assert key(rule, f"{ITEMS}?time%20stamp=1") == key(rule, f"{ITEMS}?time%20stamp=2")


@pytest.mark.parametrize(
    ("path", "one", "other"),
    [
        ("$.at", {"at": 1}, {"at": "2"}),
        ("$.meta.at", {"meta": {"at": 1}, "b": 2}, {"b": 2, "meta": {"at": [1]}}),
        ("$.events[*].id", {"events": [{"id": 1}, {"id": 2}]}, {"events": [{"id": 3}, {"id": 4}]}),
        ("$.users.*.seen", {"users": {"a": {"seen": 1}}}, {"users": {"a": {"seen": 2}}}),
        ("$[1]", [1, 2, 3], [1, 4, 3]),
        ('$["two words"].x', {"two words": {"x": 1}}, {"two words": {"x": 2}}),
        ("$.request-id", {"request-id": 1}, {"request-id": 2}),
    ],
)
@pytest.mark.parametrize("content_type", ["application/json", "text/plain;charset=UTF-8"])
def test_bodies_that_differ_at_a_ruled_path_are_one(path: str, one: object, other: object, content_type: str) -> None:
    """A JSON body is compared without the ignored paths, also if it was sent as plain text."""
    rule = JsonPathRule(path=path, reason=WHY)

    keys = {key(rule, body=json.dumps(body).encode(), content_type=content_type) for body in (one, other)}

    assert len(keys) == 1


@pytest.mark.parametrize("body", ['{"at": 1, "n": 2}', '{"n": 1}', '{"n": 1.0, "at": 1}', '{"at": 1, "n": "1"}'])
def test_everything_else_of_a_json_body_still_counts(body: str) -> None:
    """Other values, differently written numbers, and whether the path exists still distinguish requests."""
    rule = JsonPathRule(path="$.at", reason=WHY)
    json_type = "application/json"

    assert key(rule, body=body.encode(), content_type=json_type) != key(
        rule, body=b'{"at": 7, "n": 1}', content_type=json_type
    )


@given(st.binary(max_size=40), st.sampled_from([None, "application/json", "text/plain", MULTIPART]))
def test_any_body_can_be_blanked(body: bytes, content_type: str | None) -> None:
    """Bodies that do not match their media type are unchanged."""
    wanted = canonical_request("POST", ITEMS, body, content_type)
    rules = (JsonPathRule(path="$.a[*]", reason=WHY), FormFieldRule(name="a", reason=WHY))

    loosened = blank_request(wanted, rules)

    assert loosened.rules or loosened.key == wanted.key


def test_a_form_field_is_ignored_in_both_kinds_of_forms() -> None:
    """An ignored field of a form may change; its other fields may not."""
    rule = FormFieldRule(name="token", reason=WHY)
    form = "application/x-www-form-urlencoded"
    parts = [
        part_of("q", q) + part_of("token", token) + b"--b17--\r\n" for q, token in [("1", "a"), ("1", "b"), ("2", "a")]
    ]

    urlencoded = [key(rule, body=body, content_type=form) for body in (b"q=1&token=a", b"q=1&token=b", b"q=2&token=a")]
    multipart = [key(rule, body=body, content_type=MULTIPART) for body in parts]

    for keys in (urlencoded, multipart):
        assert keys[0] == keys[1]
        assert keys[0] != keys[2]


@pytest.mark.parametrize(
    ("url", "method", "fits"),
    [
        ("*", None, True),
        ("http://shop.test/*", "get", True),
        ("http://shop.test/items", None, True),
        ("*/items", None, True),
        ("http://*.test/*", "GET", True),
        ("http://shop.test/", None, False),
        ("shop.test", None, False),
        ("http://shop.test/item.", None, False),
        ("*", "POST", False),
    ],
)
def test_a_rule_applies_to_matching_urls(url: str, method: str | None, fits: bool) -> None:  # noqa: FBT001 - a case
    """The glob matches the URL without its query, and only `*` is special."""
    rule = QueryKeyRule(url=url, method=method, name="_", reason=WHY)

    assert (applicable_rules("GET", f"{ITEMS}?_=1/", (rule,)) == (rule,)) is fits


def test_socket_messages_are_compared_with_ruled_parts_blanked() -> None:
    """JSON messages are blanked and normalized; other text is unchanged."""
    rules = (
        JsonPathRule(url="ws://shop.test/*", method="WEBSOCKET", path="$.id", reason=WHY),
        JsonPathRule(method="POST", path="$.op", reason=WHY),
    )

    text, used = blank_message("ws://shop.test/live?v=1", b'{"op": "buy", "id": 17}', rules)

    assert (text, used) == (b'{"id":null,"op":"buy"}', rules[:1])
    assert blank_message("ws://shop.test/live", b"ping \xff", rules) == (b"ping \xff", ())
    assert blank_message("ws://other.test/live", b'{ "id": 1}', rules) == (b'{ "id": 1}', ())


def test_addresses_of_sockets_are_compared_without_ruled_names() -> None:
    """A session number in the query of a socket may change."""
    rule = QueryKeyRule(method="WEBSOCKET", name="sid", reason=WHY)

    url, used = blank_socket_url("WS://Shop.test:80/live?sid=99&v=1", (rule,))

    assert (url, used) == ("ws://shop.test/live?sid=&v=1", (rule,))


def test_rules_are_described_by_part_and_scope() -> None:
    """A rule without a scope has a short description."""
    header = HeaderRule(name="Accept", url="http://shop.test/*", method="GET", reason=WHY)

    assert describe_rule(BUSTER) == "query _"
    assert describe_rule(header) == "header accept of GET http://shop.test/*"
    assert describe_rule(JsonPathRule(path="$.a", method="POST", reason=WHY)) == "body $.a of POST *"
    assert describe_rule(FormFieldRule(name="t", reason=WHY)) == "form field t"
    learned = ResponseValueRule(url="http://shop.test/", pattern=r"h1>\ Order\ \(No\.\ ([0-9a-f]{16})(?=<)", reason=WHY)
    assert describe_rule(learned) == "value after 'Order (No. ' in responses of http://shop.test/"
    written = ResponseValueRule(pattern='data-[a-z]+="([^"]+)"', reason=WHY)
    assert describe_rule(written) == 'value data-[a-z]+="([^"]+)" in responses'


def test_text_that_looks_like_a_time_placeholder_is_not_a_time() -> None:
    """A socket message without a time does not match a recorded one with a time."""
    rule = TimestampRule(url="ws://shop.test/live", method="WEBSOCKET", reason="says when")

    recorded, used = blank_message("ws://shop.test/live", b"saved 2025-03-14T09:30:00Z", (rule,))
    sent, _ = blank_message("ws://shop.test/live", b"saved time", (rule,))

    assert used == (rule,)
    assert recorded != sent


@pytest.mark.parametrize(
    ("rule", "url", "body", "content_type"),
    [
        (QueryKeyRule(name="id", reason=WHY, pattern="[0-9a-f]{4}"), f"{ITEMS}?id=%s", None, None),
        (PathSegmentRule(position=1, reason=WHY, pattern="[0-9a-f]{4}"), f"{ITEMS}/%s/cart", None, None),
        (JsonPathRule(path="$.id", reason=WHY, pattern="[0-9a-f]{4}"), ITEMS, '{"id":"%s"}', "application/json"),
        (
            FormFieldRule(name="id", reason=WHY, pattern="[0-9a-f]{4}"),
            ITEMS,
            "id=%s",
            "application/x-www-form-urlencoded",
        ),
        (
            FormFieldRule(name="id", reason=WHY, pattern="[0-9a-f]{4}"),
            ITEMS,
            part_of("id", "%s").decode() + "--b17--\r\n",
            MULTIPART,
        ),
    ],
    ids=lambda each: each.kind if hasattr(each, "kind") else "",
)
def test_only_values_that_match_the_pattern_are_ignored(
    rule: VolatileRule, url: str, body: str | None, content_type: str | None
) -> None:
    """Two ids of its form make one request; another value, or a longer one, makes another request."""

    def key_with(value: str) -> str:
        at = url.replace("%s", value)
        return key(rule, at, None if body is None else body.replace("%s", value).encode(), content_type)

    keys = {value: key_with(value) for value in ("3f2a", "9b1c", "pear", "3f2a9")}

    assert keys["3f2a"] == keys["9b1c"]
    assert len(set(keys.values())) == 3


def test_a_pattern_is_a_regular_expression() -> None:
    """One that is none is refused where it is read."""
    with pytest.raises(ValueError, match=r"expected a regular expression, got '\('"):
        QueryKeyRule(name="id", reason=WHY, pattern="(")
