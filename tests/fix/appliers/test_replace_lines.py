from __future__ import annotations

import pytest

from eikon_engine.errors import FixError
from eikon_engine.fix.appliers.edit_text import BYTE_ORDER_MARK, replace_lines
from tests.error_codes import has_code


def test_a_byte_order_mark_is_preserved() -> None:
    """Line 1 matches without the mark, and the result begins with it; other lines are not affected."""
    text = f"{BYTE_ORDER_MARK}a\nb\n"

    assert replace_lines(text, ["a"], ["c"], "x") == f"{BYTE_ORDER_MARK}c\nb\n"
    assert replace_lines(text, ["a", "b"], [f"{BYTE_ORDER_MARK}c"], "x") == f"{BYTE_ORDER_MARK}c\n"
    assert replace_lines(text, ["b"], ["c"], "x") == f"{BYTE_ORDER_MARK}a\nc\n"


def test_a_byte_order_mark_can_be_removed() -> None:
    """If the old lines include the mark and the new ones do not, it is removed."""
    assert replace_lines(f"{BYTE_ORDER_MARK}{{\n}}\n", [f"{BYTE_ORDER_MARK}{{"], ["{"], "x") == "{\n}\n"


def test_a_byte_order_mark_does_not_affect_matching() -> None:
    """Lines that differ in the mark only are two matches."""
    with pytest.raises(FixError, match="expected exactly one match, got 2 at lines", check=has_code("patch-rejected")):
        replace_lines(f"{BYTE_ORDER_MARK}a\na\n", ["a"], ["b"], "x")
