from __future__ import annotations

import json
from typing import Annotated, TypeAlias

import pytest
from hypothesis import given, settings
from pydantic import Field, JsonValue, StringConstraints

from eikon_engine.errors import YamlError
from eikon_engine.files.models import FileModel
from eikon_engine.files.yaml import TextPosition, read_yaml
from tests.outcome.event_values import json_values

TEXT = """\
# a comment
id: shop
on: no
when: 2026-01-02
steps:
  - {tool: web_fetch, wait: 1.5}
  - |
    two
    lines
nothing:
sizes: [0x1F, 0o17, 1e3, -2, .5, 1_000, 1:30, "3", yes, True, ~]
"""


Lower: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z]+$")]


class Bounded(FileModel):
    """A model with bounds."""

    some: tuple[str, ...] = Field(min_length=1)
    name: Lower = "a"
    counts: dict[Lower, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)


class Wanted(FileModel):
    """A model for reading a file."""

    name: str
    size: int = 1


def test_plain_values_are_those_of_yaml_1_2() -> None:
    """`no`, `on`, dates and times are text; numbers follow the core schema."""
    assert read_yaml(TEXT, "t").data == {
        "id": "shop",
        "on": "no",
        "when": "2026-01-02",
        "steps": [{"tool": "web_fetch", "wait": 1.5}, "two\nlines\n"],
        "nothing": None,
        "sizes": [31, 15, 1000.0, -2, 0.5, "1_000", "1:30", "3", "yes", True, None],
    }


def test_every_value_has_its_position() -> None:
    """A path has a line and column; the path of a missing value has those of its parent."""
    text = read_yaml(TEXT, "t.yaml")

    assert text.position_of(("steps", 0, "wait")) == TextPosition(line=6, column=29)
    assert text.key_positions["steps", 0, "wait"] == TextPosition(line=6, column=23)
    assert text.position_of(("steps", 0, "missing", 3)) == TextPosition(line=6, column=5)
    assert str(text.error_at(("on",), "expected less")) == "t.yaml: line 3, column 5: on: expected less"


@settings(deadline=None)
@given(json_values)
def test_json_is_yaml(value: JsonValue) -> None:
    """Any JSON document is read unchanged."""
    read = read_yaml(json.dumps(value), "t").data

    assert read == value
    assert json.dumps(read) == json.dumps(value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", ("line 3, column 1", "duplicate key 'a'", "line 1, column 1")),
        ("a: [1\n", ("line 2, column 1", "expected ',' or ']'")),
        ("a:\n  b: c: d\n", ("line 2, column 7", "mapping values are not allowed")),
        ("a: &x 1\n", ("line 1, column 4", "anchor &x")),
        ("a: *x\n", ("line 1, column 4", "alias *x")),
        ("a: !!python/object:os.system x\n", ("line 1, column 4", "tag")),
        ("a: .inf\n", ("line 1, column 4", "finite number")),
        ("a: 1e999\n", ("line 1, column 4", "too large")),
        ("1: x\n", ("line 1, column 1", "a string as a key", "quotes")),
        ("[1]: x\n", ("line 1, column 1", "a string as a key")),
        ("--- 1\n--- 2\n", ("line 2", "one document")),
        ("a: \x07\n", ("unacceptable character",)),
        ("[" * 5000, ("levels",)),
        ('a: "\\ud83d"\n', ("line 1, column 4", "lone surrogate")),
    ],
)
def test_what_json_cannot_express_is_rejected_with_its_position(text: str, words: tuple[str, ...]) -> None:
    """The error line has line and column."""
    with pytest.raises(YamlError) as caught:
        read_yaml(text, "t.yaml")

    assert caught.value.message.startswith("t.yaml: ")
    assert "\n" not in caught.value.message
    for word in words:
        assert word in caught.value.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("in:\n  name: 3\n", "t: line 2, column 9: in.name: expected a string, got 3"),
        ("in:\n  size: 3\n", "t: line 2, column 3: in.name: this field is missing"),
        ("in:\n  name: x\n  speed: 3\n", "t: line 3, column 3: in.speed: this field is unknown"),
    ],
)
def test_a_model_is_read_strictly(text: str, message: str) -> None:
    """A value that does not fit its model is reported with its position."""
    with pytest.raises(YamlError) as caught:
        read_yaml(text, "t").parse_as(Wanted, ("in",))

    assert caught.value.message.startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t: line 1, column 1: expected an object, got null"),
        ("# nothing\n", "t: line 1, column 1: expected an object, got null"),
        ("- a\n", "t: line 1, column 1: expected an object, got a list"),
        ("some: []\n", "t: line 1, column 7: some: expected at least 1 item, got none"),
        (
            "some: [a]\nname: a b\n",
            't: line 2, column 7: name: expected text that matches ^[a-z]+$, got the string "a b"',
        ),
        ("some: [a]\ncounts: {a: -1}\n", "t: line 2, column 13: counts.a: expected 0 or more, got -1"),
        ("some: [a]\ncounts: {A: 1}\n", "t: line 2, column 10: counts.A: expected text that matches ^[a-z]+$, got"),
    ],
)
def test_violated_bounds_of_a_model_are_reported_with_their_position(text: str, message: str) -> None:
    """The message has our wording, line and column, for any length of the text."""
    with pytest.raises(YamlError) as caught:
        read_yaml(text, "t").parse_as(Bounded)

    assert caught.value.message.startswith(message)
