"""The canonical text of JSON values."""

from __future__ import annotations

import json
import math
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.errors import TraceFieldError
from eikon_engine.files.json_text import JsonValue, canonical_json

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def test_keys_are_sorted_and_characters_stay() -> None:
    """Equal values have equal texts."""
    assert canonical_json({"b": [1, 1.0, True, None], "a": "ä€"}) == '{"a":"ä€","b":[1,1.0,true,null]}'


@given(value=_JSON)
def test_the_text_reads_back(value: JsonValue) -> None:
    """The text is parsed to an equal value with the same text."""
    text = canonical_json(value)

    assert json.loads(text) == value
    assert canonical_json(json.loads(text)) == text


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"rows": [0, {"price": math.nan}]}, r"\$\.rows\[1\]\.price: expected a JSON number, got nan"),
        ([-math.inf], r"\$\[0\]: expected a JSON number, got -inf"),
        ({"two words": (1,)}, r'\$\["two words"\]: expected a JSON value, got tuple'),
        ({1: 2}, r"\$: expected a string as a key, got 1"),
    ],
)
def test_a_value_other_than_json_is_named_by_its_path(value: object, message: str) -> None:
    """NaN, tuples and non-string keys are refused."""
    with pytest.raises(TraceFieldError, match=message):
        canonical_json(cast("JsonValue", value))
