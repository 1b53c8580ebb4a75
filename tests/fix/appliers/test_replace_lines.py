from __future__ import annotations

import pytest

from eikon_engine.errors import PatchRejectedError
from eikon_engine.fix.appliers.edit_text import BYTE_ORDER_MARK, replace_lines


def test_a_byte_order_mark_stays_unseen() -> None:
    """Line 1 is found without it, and the text begins with it as before; other lines know nothing of it."""
    text = f"{BYTE_ORDER_MARK}a\nb\n"

    assert replace_lines(text, ["a"], ["c"], "x") == f"{BYTE_ORDER_MARK}c\nb\n"
    assert replace_lines(text, ["a", "b"], [f"{BYTE_ORDER_MARK}c"], "x") == f"{BYTE_ORDER_MARK}c\n"
    assert replace_lines(text, ["b"], ["c"], "x") == f"{BYTE_ORDER_MARK}a\nc\n"


def test_a_byte_order_mark_can_be_taken_away() -> None:
    """Old lines that begin with it name it."""
    assert replace_lines(f"{BYTE_ORDER_MARK}{{\n}}\n", [f"{BYTE_ORDER_MARK}{{"], ["{"], "x") == "{\n}\n"


def test_a_byte_order_mark_makes_no_line_another_one() -> None:
    """Lines that stand twice but for the mark stand twice."""
    with pytest.raises(PatchRejectedError, match="expected exactly one match, got 2 at lines"):
        replace_lines(f"{BYTE_ORDER_MARK}a\na\n", ["a"], ["b"], "x")
