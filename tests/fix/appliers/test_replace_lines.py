from __future__ import annotations

import pytest

from eikon_engine.errors import FixError
from eikon_engine.fix.appliers.edit_text import BYTE_ORDER_MARK, replace_lines
from tests.error_codes import has_code


def test_a_byte_order_mark_is_preserved() -> None:
    """Line 1 is found without it, and the text begins with it as before; other lines know nothing of it."""
    text = f"{BYTE_ORDER_MARK}a\nb\n"

    assert replace_lines(text, ["a"], ["c"], "x") == f"{BYTE_ORDER_MARK}c\nb\n"
    assert replace_lines(text, ["a", "b"], [f"{BYTE_ORDER_MARK}c"], "x") == f"{BYTE_ORDER_MARK}c\n"
    assert replace_lines(text, ["b"], ["c"], "x") == f"{BYTE_ORDER_MARK}a\nc\n"


def test_a_byte_order_mark_can_be_removed() -> None:
    """Old lines that begin with it name it."""
    assert replace_lines(f"{BYTE_ORDER_MARK}{{\n}}\n", [f"{BYTE_ORDER_MARK}{{"], ["{"], "x") == "{\n}\n"


def test_a_byte_order_mark_does_not_affect_matching() -> None:
    """Lines that stand twice but for the mark stand twice."""
    with pytest.raises(FixError, match="expected exactly one match, got 2 at lines", check=has_code("patch-rejected")):
        replace_lines(f"{BYTE_ORDER_MARK}a\na\n", ["a"], ["b"], "x")
