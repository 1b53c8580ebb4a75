"""The calls that read from a page, and the values that they return."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlparse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.trace.actions import (
    UNBOUNDED_TIMEOUT_MS,
    Action,
    Evaluate,
    Expect,
    ExpectedText,
    Read,
    ReadValue,
)
from eikon_engine.trace.labels import action_label
from eikon_engine.trace.playwright_calls import CallContext, UnsupportedCallError, convert_read, decode_result, is_read
from eikon_engine.trace.read_values import LONG_VALUE, NotJsonError, redact_read_value, to_read_value, value_text
from eikon_engine.trace.target import Target

HERE: Final = Target(selector="#a")
FIRST: Final = Target(selector="#a >> nth=0")
STRICT: Final = {"selector": "#a", "strict": True}
ARGUMENT: Final = {"value": {"o": [{"k": "n", "v": {"n": 1}}], "id": 1}, "handles": []}
NONE: Final = {"value": {"v": "undefined"}, "handles": []}

READS: Final[list[tuple[str, dict[str, Any], Action, str]]] = [
    ("Frame.innerText", STRICT, Read(what="inner_text", target=HERE), "read inner text of #a"),
    ("Frame.innerText", {"selector": "#a"}, Read(what="inner_text", target=FIRST), "read inner text of #a >> nth=0"),
    (
        "Frame.getAttribute",
        {**STRICT, "name": "href"},
        Read(what="attribute", name="href", target=HERE),
        "read attribute href of #a",
    ),
    ("Frame.queryCount", {"selector": "#a"}, Read(what="count", target=HERE), "read count of #a"),
    ("Frame.title", {}, Read(what="title"), "read title"),
    ("Frame.content", {"includeShadow": True}, Read(what="content", options={"include_shadow": True}), "read content"),
    (
        "Frame.evalOnSelectorAll",
        {"selector": "#a", "expression": "ee => ee.map(e => e.innerText)", "arg": NONE},
        Read(what="all_inner_texts", target=HERE),
        "read all inner texts of #a",
    ),
    (
        "Frame.evalOnSelectorAll",
        {"selector": "#a", "expression": "ee => ee.length", "arg": NONE},
        Evaluate(expression="ee => ee.length", target=HERE, all_matches=True, timeout_ms=30_000),
        "evaluate ee => ee.length on #a",
    ),
    (
        "Frame.evaluateExpression",
        {"expression": "x => x.n", "arg": ARGUMENT},
        Evaluate(expression="x => x.n", argument={"n": 1}, timeout_ms=30_000),
        "evaluate x => x.n",
    ),
    (
        "Frame.evaluateExpressionHandle",
        {"expression": "document.body", "arg": NONE},
        Evaluate(expression="document.body", returns_handle=True, timeout_ms=30_000),
        "evaluate document.body",
    ),
    (
        "Frame.expect",
        {
            "selector": "#a",
            "expression": "to.have.text",
            "expectedText": [{"regexSource": "^a", "regexFlags": "i", "matchSubstring": False}],
            "isNot": True,
        },
        Expect(
            expression="to.have.text",
            target=HERE,
            is_not=True,
            texts=(ExpectedText(regex_source="^a", regex_flags="i", match_substring=False),),
        ),
        "expect #a not to have text '^a'",
    ),
    (
        "Frame.expect",
        {"expression": "to.have.title", "expectedText": [{"string": "Home"}], "isNot": False},
        Expect(expression="to.have.title", texts=(ExpectedText(string="Home"),)),
        "expect the page to have title 'Home'",
    ),
    (
        "Frame.expect",
        {"selector": "#a", "expression": "to.have.count", "expectedNumber": 3, "isNot": False},
        Expect(expression="to.have.count", target=HERE, number=3.0),
        "expect #a to have count 3",
    ),
]


@pytest.mark.parametrize(("name", "params", "action", "label"), READS)
def test_a_read_becomes_its_action(name: str, params: dict[str, Any], action: Action, label: str) -> None:
    """What is read, and everything that decides what it returns, is in the action."""
    assert is_read(name, params)
    assert convert_read(name, params, CallContext()) == action
    assert action_label(action) == label


def test_only_a_read_that_waits_has_the_deadline_of_its_call() -> None:
    """Calls that do not wait are sent with the timeout 0, which means none for others."""
    assert convert_read("Frame.innerText", STRICT, CallContext(timeout_ms=700)).timeout_ms == 700
    assert convert_read("Frame.innerText", STRICT, CallContext(timeout_ms=0)).timeout_ms == UNBOUNDED_TIMEOUT_MS
    assert convert_read("Frame.isVisible", STRICT, CallContext(timeout_ms=0)).timeout_ms == 5_000


def test_a_read_in_an_iframe_has_its_selectors() -> None:
    """The document of an iframe has a title and an element of its own."""
    context = CallContext(frames=("#f",))

    assert convert_read("Frame.title", {}, context) == Read(what="title", frames=("#f",))
    assert convert_read("Frame.innerText", STRICT, context) == Read(
        what="inner_text", target=Target(selector="#a", frames=("#f",))
    )


def test_a_script_with_a_handle_is_refused() -> None:
    """A replay has no handle to pass."""
    given_handle = {"expression": "x => x", "arg": {"value": {"h": 0}, "handles": [object()]}}

    with pytest.raises(UnsupportedCallError, match="a handle as its argument"):
        convert_read("Frame.evaluateExpression", given_handle, CallContext())


@pytest.mark.parametrize("value", [{"v": "NaN"}, {"d": "2026-01-01T00:00:00.000Z"}, {"bi": "12"}])
def test_an_assertion_that_expects_what_json_cannot_represent_is_refused(value: dict[str, Any]) -> None:
    """The warning says what replays do without it."""
    given = {**STRICT, "expression": "to.have.property", "expectedValue": {"value": value, "handles": []}}

    with pytest.raises(UnsupportedCallError, match="JSON cannot represent the value that it expects; replays skip it"):
        convert_read("Frame.expect", given, CallContext())


def test_a_handle_has_no_value() -> None:
    """What a handle refers to is not compared."""
    with pytest.raises(UnsupportedCallError, match="a handle"):
        decode_result("Frame.evaluateExpressionHandle", {"handle": object()}, lambda value: value)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (math.nan, {"$numberDouble": "NaN"}),
        ([1, -math.inf, math.inf], [1, {"$numberDouble": "-Infinity"}, {"$numberDouble": "Infinity"}]),
        ({"at": datetime(2026, 1, 2, tzinfo=UTC)}, {"at": {"$date": "2026-01-02T00:00:00.000Z"}}),
        (urlparse("http://a.test/b?c#d"), {"$url": "http://a.test/b?c#d"}),
        (re.compile("a+", re.IGNORECASE | re.MULTILINE), {"$regularExpression": {"pattern": "a+", "options": "im"}}),
        (TypeError("no such thing"), {"$error": "TypeError: no such thing"}),
        (2**70, 2**70),
        ({"$date": "today"}, {"$object": {"$date": "today"}}),
        ({"$object": {"$date": 1}}, {"$object": {"$object": {"$object": {"$date": 1}}}}),
        ({"$date": "today", "a": 1}, {"$date": "today", "a": 1}),
    ],
)
def test_values_that_json_does_not_have_are_objects(value: object, written: Any) -> None:  # noqa: ANN401 - any JSON
    """They read back as written, and differ from a text or an object that looks the same."""
    seen = to_read_value(value)

    assert seen == ReadValue(value=written)
    assert ReadValue.model_validate_json(seen.model_dump_json()) == seen
    assert redact_read_value(seen, lambda plain: plain) == seen


JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@given(JSON)
def test_a_value_reads_back_as_written(value: Any) -> None:  # noqa: ANN401 - any value of JSON
    """What is compared in a replay is what was recorded, whatever the agent got."""
    seen = to_read_value(value)

    written = Read(what="title", value=seen).model_dump_json()

    assert Read.model_validate_json(written).value == seen
    assert redact_read_value(seen, lambda plain: json.loads(value_text(plain))) == seen


@given(st.text().map(lambda text: "x" * LONG_VALUE + text))
def test_a_long_value_is_stored_once_and_equal_ones_have_equal_digests(text: str) -> None:
    """The trace has the digest, the bundle the text."""
    stored: list[bytes] = []

    def store(data: bytes) -> Any:  # noqa: ANN401 - as `blob_ref`
        stored.append(data)
        return to_read_value(text).long

    seen = to_read_value(text, store=store)

    assert seen == to_read_value(text)
    assert seen.value is None
    assert json.loads(stored[0]) == text


@pytest.mark.parametrize("value", [{1: "a"}, object(), b"a", [{2}], re.compile(b"a")])
def test_what_is_no_json_is_refused(value: object) -> None:
    """It could not be compared after it was written."""
    with pytest.raises(NotJsonError):
        to_read_value(value)


def test_numbers_and_lone_surrogates_have_one_form() -> None:
    """A browser has one kind of number, and texts that JSON cannot represent."""
    assert to_read_value(2.0) == to_read_value(2)
    assert to_read_value("a\ud800") == ReadValue(value="a\ufffd")
