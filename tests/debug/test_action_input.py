"""Actions entered on the command line."""

from __future__ import annotations

import pytest

from eikon_engine.debug.action_input import parse_action
from eikon_engine.errors import UsageError
from eikon_engine.trace.actions import Click, Fill, Navigate, SecretRef


def test_a_field_is_named_before_its_value() -> None:
    """A prefix that is not a field is part of the text."""
    filled = parse_action("fill", ["#search", 'text={"secret":"pw"}'])
    clicked = parse_action("click", ["a[href=x]", "page=1"])
    gone = parse_action("navigate", ["http://shop/?q=pears"])

    assert isinstance(filled, Fill)
    assert isinstance(clicked, Click)
    assert isinstance(gone, Navigate)
    assert (filled.text, clicked.target.selector, clicked.page) == (SecretRef(secret="pw"), "a[href=x]", 1)
    assert gone.url == "http://shop/?q=pears"


@pytest.mark.parametrize(
    "selector", ['role=textbox[name="Password"]', "css=#pw", "xpath=//input[@id='pw']", "id=pw", "data-testid=pw"]
)
def test_a_selector_may_start_with_its_engine(selector: str) -> None:
    """Recorded selectors can be pasted where a selector is expected."""
    filled = parse_action("fill", [selector, "tulips"])

    assert isinstance(filled, Fill)
    assert (filled.target.selector, filled.text) == (selector, "tulips")


def test_an_engine_that_is_also_a_field_names_the_field() -> None:
    """If the action has no text, it is part of the selector."""
    named = parse_action("fill", ["text=tulips", "#pw"])
    clicked = parse_action("click", ["text=Buy", "page=1"])

    assert isinstance(named, Fill)
    assert isinstance(clicked, Click)
    assert (named.target.selector, named.text) == ("#pw", "tulips")
    assert (clicked.target.selector, clicked.page) == ("text=Buy", 1)


@pytest.mark.parametrize(
    ("kind", "text", "wanted"),
    [
        ("fill", 'value={"secret":"pw"}', "no field 'value'; available: force, page, target, text, timeout_ms"),
        ("fill", "value=1", "if all of it is the text, write text=value=1"),
        ("click", "value=Buy", "write target.selector=value=Buy"),
        ("press", "role=button", "no field 'role'"),
        ("fly", "to=moon", "expected one of navigate"),
    ],
)
def test_an_unknown_field_is_rejected(kind: str, text: str, wanted: str) -> None:
    """It is not typed into the page; the error explains how to do that."""
    with pytest.raises(UsageError) as refused:
        parse_action(kind, [text] if kind != "fill" else ["#search", text])

    assert wanted in refused.value.message
