"""Rules in a trace are validated."""

from __future__ import annotations

import json

import pytest

from eikon_engine.errors import TraceFieldError
from eikon_engine.trace.rules import ResponseValueRule
from eikon_engine.trace.trace_file import parse_trace, serialize_trace
from tests.trace.trace_values import trace

GOOD = {"kind": "query_key", "name": "_", "reason": "a cache buster"}


def _with_rule(**rule: object) -> bytes:
    plain = json.loads(serialize_trace(trace()))
    plain["network"] = {"folder": "network", "rules": [GOOD, rule]}
    return json.dumps(plain).encode()


def test_a_rule_applies_to_every_request_by_default() -> None:
    """Only kind, part and reason are required."""
    parsed = parse_trace(_with_rule(**GOOD), "t")

    assert parsed.network is not None
    assert [(rule.url, rule.method, rule.reason) for rule in parsed.network.rules] == [
        ("*", None, "a cache buster")
    ] * 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "cookie"}, "kind: expected one of query_key, query_stamp, json_path, timestamp, header, form_field,"),
        ({"reason": ""}, "reason: expected"),
        ({"name": ""}, "name: expected"),
        ({"url": "http://a/?b"}, "url: expected"),
        ({"kind": "json_path", "path": "at"}, "path: expected"),
        ({"kind": "json_path", "path": "$"}, "path: expected"),
        ({"since": 1}, "since: this field is unknown"),
    ],
)
def test_an_invalid_rule_is_refused_with_its_field(change: dict[str, object], message: str) -> None:
    """The error for an unknown kind, an empty reason or an invalid path has the path of the field."""
    rule = GOOD | change
    if "path" in change:
        del rule["name"]

    with pytest.raises(TraceFieldError) as caught:
        parse_trace(_with_rule(**rule), "t")

    assert caught.value.message.startswith(f"t: network.rules[1].{message}")


@pytest.mark.parametrize(
    ("pattern", "value_pattern"),
    [
        ('id="([^"]+)"', '[^"]+'),
        (r"(?P<id>[)(]+)\)", "[)(]+"),
        (r"(?<=x)(?:y|(?=z))(a|b)(?(1)c|d)", "a|b"),
        ('(?x) id= # an (id)\n "([0-9]+)" # )', "(?x:[0-9]+)"),
        (r"(?#an ( id)(\d+)", r"\d+"),
        (r"(?x)(?-x: # )([a-f]+)", "(?x:[a-f]+)"),
        (r"#(\d+)", r"\d+"),
        (r"(?i)no ([a-f]+)", "(?i:[a-f]+)"),
        (r"(?i:no ([a-f]+))", "(?i:[a-f]+)"),
        (r"(?s-i:.)([a-f]+)", "[a-f]+"),
    ],
)
def test_the_value_of_a_rule_has_its_pattern_and_flags(pattern: str, value_pattern: str) -> None:
    """Parentheses in classes, escapes and comments are no groups."""
    assert ResponseValueRule(pattern=pattern, reason="an id").value_pattern == value_pattern
