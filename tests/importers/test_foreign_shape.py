"""Reading known fields of objects in foreign files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from eikon_engine.importers.foreign_file import ForeignModel, unknown_fields

if TYPE_CHECKING:
    from pydantic import JsonValue

DEEP = 200


class Inner(ForeignModel):
    """A nested object."""

    selectors: tuple[str | tuple[str, ...], ...] = ()


class Outer(ForeignModel):
    """The root object of a file."""

    name: str
    size: float = 0.0
    inner: tuple[Inner, ...] = ()
    free: dict[str, object] | None = None


KNOWN: dict[str, JsonValue] = {
    "name": "a",
    "size": 2,
    "inner": [{"selectors": ["#a", ["#b", "#c"]]}],
    "free": {"list": [1, [2]]},
}
OTHERS = st.dictionaries(st.text().filter(lambda name: name not in Outer.model_fields), st.integers() | st.text())


@given(more=OTHERS)
def test_unused_fields_are_dropped_and_can_be_reported(more: dict[str, JsonValue]) -> None:
    """Unused fields on any level do not change the value."""
    plain = Outer.model_validate(json.loads(json.dumps(KNOWN)))

    data: dict[str, object] = {**KNOWN, **more, "inner": [{"selectors": ["#a", ["#b", "#c"]], "other": more}]}

    assert Outer.model_validate(data) == plain
    assert unknown_fields(Outer, data) == tuple(more)


def test_lists_of_the_file_are_tuples_of_the_value() -> None:
    """Declared lists become tuples; lists in untyped JSON stay lists."""
    value = Outer.model_validate(KNOWN)

    assert value.inner[0].selectors == ("#a", ("#b", "#c"))
    assert value.free == {"list": [1, [2]]}


@pytest.mark.parametrize("changed", [{"name": 1}, {"size": "2"}, {"inner": {}}, {"inner": [[]]}, {"free": []}])
def test_values_of_other_types_are_refused(changed: dict[str, JsonValue]) -> None:
    """Values are not converted to other types."""
    with pytest.raises(ValidationError, match=next(iter(changed))):
        Outer.model_validate({**KNOWN, **changed})


@pytest.mark.parametrize("data", [None, [], "text", 1])
def test_what_is_no_object_is_refused(data: JsonValue) -> None:
    """Only an object can be read as a shape."""
    with pytest.raises(ValidationError):
        Outer.model_validate(data)


def test_nesting_without_end_is_refused() -> None:
    """Deeply nested lists in a known field do not cause deep recursion."""
    deep: JsonValue = []
    for _ in range(DEEP):
        deep = [deep]

    with pytest.raises(ValidationError):
        Outer.model_validate({"name": "a", "inner": deep})
