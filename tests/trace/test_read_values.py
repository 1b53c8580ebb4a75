"""Values that reads return are compared exactly, apart from white space that style sheets determine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.trace.actions import Read
from eikon_engine.trace.read_values import LONG_VALUE, RENDERED_TEXTS, is_same_value, to_read_value, value_text

if TYPE_CHECKING:
    from pydantic import JsonValue

    from eikon_engine.trace.actions import ReadKind

ROW = "\t\n\t\tDamson\t7\t"


def is_same(what: ReadKind, recorded: JsonValue, observed: JsonValue) -> bool:
    """Compare two values of a read, with their texts if they are long."""
    values = to_read_value(recorded), to_read_value(observed)
    texts = (value_text(recorded), value_text(observed)) if values[0].long else None
    return is_same_value(Read(what=what), *values, texts)


@pytest.mark.parametrize("what", sorted(RENDERED_TEXTS))
@pytest.mark.parametrize("times", [1, LONG_VALUE])
def test_white_space_of_rendered_text_depends_on_style_sheets(what: ReadKind, times: int) -> None:
    """A button that is a block until the style sheet is loaded adds a line break."""
    assert is_same(what, ROW * times, "\t \t\tDamson\t7\t" * times)
    assert is_same(what, [ROW * times], ["Damson 7 " * times])
    assert not is_same(what, ROW * times, ROW.replace("7", "8") * times)
    assert not is_same(what, "7 8" * times, "78" * times)


@pytest.mark.parametrize("what", ["text_content", "all_text_contents", "content", "input_value", "inner_html"])
def test_other_white_space_is_compared(what: ReadKind) -> None:
    """The text of the document itself is the same under all style sheets."""
    assert not is_same(what, "a\nb", "a b")


@given(st.lists(st.text()), st.lists(st.text()))
def test_lists_are_equal_if_their_texts_are(recorded: list[str], observed: list[str]) -> None:
    """No text takes the place of another."""
    same = [each.split() for each in recorded] == [each.split() for each in observed]

    assert is_same("all_inner_texts", list(recorded), list(observed)) == same
