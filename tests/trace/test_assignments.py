from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.errors import TraceFieldError, UsageError
from eikon_engine.trace.actions import AnswerDialog, Fill
from eikon_engine.trace.edit_arguments import parse_declarations, parse_field_edits, undeclared_variables
from eikon_engine.trace.patch import TracePatch, apply_patch
from eikon_engine.trace.target import Target
from tests.trace.trace_values import action, subgoal, trace

if TYPE_CHECKING:
    from pydantic import JsonValue

    from eikon_engine.trace.edits import SetFields

TRACE = trace(
    subgoal_traces=(
        subgoal(
            actions_taken=(
                action(1, action=Fill(target=Target(selector="#a"), text="x")),
                action(2, action=AnswerDialog(accept=True, text="x")),
            )
        ),
    )
)


def read(step: str, *texts: str) -> SetFields:
    """Read assignments as the command does."""
    return parse_field_edits(TRACE, step, texts, same_element=False, reason="why")


@pytest.mark.parametrize(
    ("step", "text", "value"),
    [
        ("a1", "action.text=Banana", "Banana"),
        ("a1", "action.text=3", "3"),
        ("a1", "action.text=true", "true"),
        ("a1", "action.text=null", "null"),
        ("a1", 'action.text="3"', "3"),
        ("a1", "action.text=", ""),
        ("a1", "action.text=a=b", "a=b"),
        ("a1", 'action.text={"secret": "PASSWORD"}', {"secret": "PASSWORD"}),
        ("a1", "action.timeout_ms=3", 3),
        ("a2", "action.text=null", None),
        ("a2", "action.accept=false", False),
        ("a1", 'action.target={"selector": "#b"}', {"selector": "#b"}),
    ],
)
def test_a_value_is_parsed_by_the_type_of_its_field(step: str, text: str, value: JsonValue) -> None:
    """A value is parsed as JSON if its field requires it, otherwise as plain text."""
    edit = read(step, text)

    assert list(edit.fields.values()) == [value]


def test_each_value_is_parsed_by_the_type_of_its_field() -> None:
    """A deadline is parsed as a number, and a text that looks like a number stays text."""
    edit = read("a1", "action.text=3", "action.timeout_ms=4")

    assert edit.fields == {"action.text": "3", "action.timeout_ms": 4}


@pytest.mark.parametrize(
    ("texts", "words"),
    [((), "got none"), (("action.text",), "FIELD=VALUE"), (("=x",), "FIELD=VALUE"), (("a=1", "a=2"), "got a 2")],
)
def test_text_other_than_an_assignment_is_refused(texts: tuple[str, ...], words: str) -> None:
    """Each assignment needs a field, an equals sign and a value, and each field occurs once."""
    with pytest.raises(UsageError, match=words):
        read("a1", *texts)


@pytest.mark.parametrize("value", ["x", "[]", "1e999", "NaN", "[" * 5000, '"\\ud800"', "\udcff"])
def test_a_value_that_does_not_fit_is_an_error_of_one_line(value: str) -> None:
    """A value of the wrong type is refused with the name of the field."""
    with pytest.raises((TraceFieldError, UsageError)) as caught:
        read("a1", f"action.timeout_ms={value}")

    assert "\n" not in caught.value.message


@pytest.mark.parametrize("value", ["1e999", '"\\ud800"', "[" * 5000])
def test_invalid_json_is_read_as_text(value: str) -> None:
    """Invalid numbers, lone surrogates and unterminated lists are texts."""
    assert list(read("a1", f"action.text={value}").fields.values()) == [value]


def test_declarations_have_a_value_or_none() -> None:
    """A name without a value must be provided at replay."""
    one, two = parse_declarations(["fruit=pear", "shop"], "why")

    assert (one.name, one.value, two.name, two.value) == ("fruit", "pear", "shop", None)
    with pytest.raises(UsageError, match="--var"):
        parse_declarations(["two words=x"], "why")


def test_braces_around_an_undeclared_name_are_a_warning() -> None:
    """An undeclared name stays text, with a warning since it may be a mistake."""
    patch = TracePatch(operations=(*parse_declarations(["a=x"], "why"), read("a1", "action.text={{a}}{{b}}")))

    assert undeclared_variables(apply_patch(TRACE, patch), patch) == ("b",)
