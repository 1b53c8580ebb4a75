"""Masks of elements also mask the frames inside; hidden elements beside a mask keep their positions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from eikon_engine.divergence.detectors.accessibility import visibility_changes
from eikon_engine.divergence.masks import mask_page
from eikon_engine.dom import FrameExtras, FrameSnapshot, PageSnapshot
from eikon_engine.dom.digest import visibility_digest
from eikon_engine.trace.masks import (
    Mask,
    MaskedPart,
    OrderPart,
    RequestPart,
    SelectorPart,
    StoragePart,
    TextPart,
    TitlePart,
)
from tests.divergence.test_dom_diff import element, page_of

AD = element("aside", "Buy", element("iframe"))
SHOP = page_of(element("p", "one"), AD, element("iframe"), element("b", "two"))
IN_AD, OWN, LAST = 7, 8, 9
"""Numbers of the frame elements and of the last element, in document order, texts included."""


def shop(*flips: int) -> PageSnapshot:
    """Show an advertisement with a frame, beside a frame of the shop, and hide elements."""
    main = replace(SHOP.main, extras=FrameExtras(flips=flips, frames=((IN_AD, 0), (OWN, 1))))
    inner = FrameSnapshot(path="0", url="", name="", doctype="", root=element("html"))
    return PageSnapshot(frames=(main, inner, replace(inner, path="0.0"), replace(inner, path="1")))


def masked(page: PageSnapshot, part: MaskedPart) -> PageSnapshot:
    """Mask a part of a page."""
    return mask_page(page, "http://a/", [Mask(name="m", reason="it is none of ours", part=part)])[0]


def test_frames_go_with_the_elements_they_are_in() -> None:
    """If an advertisement is masked, its frame and the frame nested in that are masked; other frames stay."""
    left = masked(shop(), SelectorPart(selector="aside"))

    assert [frame.path for frame in left.frames] == ["", "1"]
    assert left.main.extras.frames == ((OWN - 3, 1),)
    assert [frame.path for frame in masked(shop(), SelectorPart(selector="p")).frames] == ["", "0", "0.0", "1"]


@pytest.mark.parametrize(
    "part", [SelectorPart(selector="aside"), TextPart(path="** > p"), SelectorPart(selector="iframe")]
)
def test_what_is_hidden_beside_a_mask_is_found(part: MaskedPart) -> None:
    """A newly hidden element that follows a masked element is found."""
    before, after = masked(shop(), part), masked(shop(LAST), part)

    assert visibility_changes(before.main, after.main) == (["b 'two' at html > body > b"], [])
    assert visibility_changes(after.main, after.main) == ([], [])


def test_what_is_hidden_moves_with_its_element() -> None:
    """In a list without order, a hidden item is the same one at another place, and another hidden item is found."""
    items = (element("li", "a"), element("li", "b", element("i", "x")), element("li", "c"))
    first = page_of(element("ul", *items))
    second = page_of(element("ul", items[2], items[0], items[1]))
    numbers = [[n for n, each in enumerate(page.main.root.walk()) if each.tag == "i"] for page in (first, second)]
    other = [n for n, each in enumerate(second.main.root.walk()) if each is items[0]]
    assert numbers[0] != numbers[1]

    def hidden(page: PageSnapshot, *flips: int) -> PageSnapshot:
        shown = PageSnapshot(frames=(replace(page.main, extras=FrameExtras(flips=flips)),))
        return masked(shown, OrderPart(path="** > ul"))

    before, after = hidden(first, *numbers[0]), hidden(second, *numbers[1])
    assert visibility_changes(before.main, after.main) == ([], [])
    assert visibility_digest(before.main) == visibility_digest(after.main)
    assert visibility_changes(before.main, hidden(second, *numbers[1], *other).main) != ([], [])


@given(st.sets(st.integers(0, LAST + 1)), st.sets(st.integers(0, LAST + 1)))
def test_visibility_changes_are_symmetric(before: set[int], after: set[int]) -> None:
    """Swapping both pages turns hidden into shown and vice versa."""
    one, other = shop(*sorted(before)).main, shop(*sorted(after)).main

    assert visibility_changes(one, other) == visibility_changes(other, one)[::-1]


@pytest.mark.parametrize(
    ("part", "where"),
    [
        (RequestPart(key="POST *"), {"url": "http://a/*"}),
        (StoragePart(name="cart"), {"url": "http://a/*"}),
        (RequestPart(key="POST *"), {"frame": "0"}),
        (TitlePart(), {"frame": "0"}),
    ],
)
def test_a_field_that_does_not_apply_to_a_mask_is_rejected(part: MaskedPart, where: dict[str, str]) -> None:
    """A mask that looks narrow but is not would hide too much."""
    with pytest.raises(ValidationError, match="omit"):
        Mask(name="m", reason="it is none of ours", part=part, **where)
