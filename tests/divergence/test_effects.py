"""A change is relevant to a recorded effect only if it affects the same element."""

from __future__ import annotations

import pytest

from eikon_engine.divergence.effects import find_overlapping_effect
from tests.divergence.test_dom_diff import element, page_of, rows

EMPTY, ADDED = page_of(rows("a"), element("p", "0")), page_of(rows("a", "b"), element("p", "1"))
"""An action adds a row and counts it."""
AD = element("aside", "Buy shoes")
OBSERVED = {
    "another text in the row": (page_of(rows("a", "c"), element("p", "1")), True),
    "no row": (page_of(rows("a"), element("p", "1")), True),
    "another count": (page_of(rows("a", "b"), element("p", "2")), True),
    "two rows": (page_of(rows("a", "b", "b"), element("p", "1")), True),
    "another row as well": (page_of(rows("x", "b"), element("p", "1")), True),
    "an advertisement": (page_of(rows("a", "b"), element("p", "1"), AD), False),
    "an advertisement in the row": (
        page_of(element("ul", element("li", "a"), element("li", "b", AD), id="list"), element("p", "1")),
        True,
    ),
}


@pytest.mark.parametrize("case", OBSERVED)
def test_changes_at_the_target_of_an_effect_are_found(case: str) -> None:
    """The page after the action is compared with the page before it."""
    observed, touched = OBSERVED[case]

    assert (find_overlapping_effect(EMPTY, ADDED, observed) is not None) == touched


def test_what_an_action_removed_is_its_effect() -> None:
    """Keeping the removed element is relevant; adding an element elsewhere is not."""
    before, after = page_of(rows("a", "b"), element("div")), page_of(rows("a"), element("div"))

    assert find_overlapping_effect(before, after, before) is not None
    assert find_overlapping_effect(before, after, page_of(rows("a"), element("div", AD))) is None


@pytest.mark.parametrize("left", [("a", "b"), ("a",), ("b", "c"), ()])
def test_another_row_that_was_removed_is_at_the_effect(left: tuple[str, ...]) -> None:
    """If the second of three rows was removed, removing the third or first one instead, or in addition, is relevant."""
    before, after = page_of(rows("a", "b", "c")), page_of(rows("a", "c"))

    assert find_overlapping_effect(before, after, page_of(rows(*left))) is not None


def test_what_differed_before_the_action_is_none_of_its_effects() -> None:
    """A row that was different already is not attributed to an action that adds one; a row that becomes so is."""
    before, after = page_of(rows("a", "b"), element("p")), page_of(rows("a", "b", "c"), element("p"))
    observed = page_of(rows("x", "b", "c"), element("p"))

    assert find_overlapping_effect(before, after, observed) is not None
    assert find_overlapping_effect(before, after, observed, before) is not None
    assert find_overlapping_effect(before, after, observed, page_of(rows("x", "b"), element("p"))) is None
