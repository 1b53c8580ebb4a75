"""A proposed selector matches exactly the right element."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from eikon_engine.divergence.snapshot_elements import locate_elements
from eikon_engine.repair.selectors import find_matches, unique_selectors
from tests.divergence.test_dom_diff import bodies, element, page_of

if TYPE_CHECKING:
    from eikon_engine.dom import DomNode

BUY = element("button", "Buy", id="buy", **{"data-testid": "buy-it"})
FORM = element("form", BUY, element("button", "Save"), element("button", "Save"), element("input", name="q"), id="f")


def selectors(name: str, recorded: str = "") -> tuple[str, ...]:
    """Return the selectors proposed for the element of FORM whose path ends as given."""
    document = tuple(locate_elements(page_of(FORM).main))
    found = next(each for each in document if each.path.endswith(name))
    return unique_selectors(found, document, recorded)


@pytest.mark.parametrize(
    ("recorded", "first"),
    [
        ("#purchase", "#buy"),
        ("button#purchase", "#buy"),
        ("role=button[name='Purchase']", 'role=button[name="Buy"]'),
        ("[data-testid='purchase']", '[data-testid="buy-it"]'),
        ("form > button", '[data-testid="buy-it"]'),
    ],
)
def test_the_recorded_kind_of_selector_is_preferred(recorded: str, first: str) -> None:
    """A recorded id is replaced by an id, and a recorded role by a role."""
    assert selectors("button#buy", recorded)[0] == first


def test_a_property_shared_by_several_elements_is_not_a_selector() -> None:
    """Two buttons with one name are distinguished by position; a field without a name, by its attribute."""
    assert selectors("button:nth(2)") == ("html > body > form#f > button:nth-of-type(2)",)
    assert selectors("input") == ('input[name="q"]',)


@given(bodies)
def test_each_selector_matches_its_element_alone(body: list[DomNode]) -> None:
    """Each proposed selector matches only its element, on any page."""
    frame = page_of(*body).main
    document = tuple(locate_elements(frame))
    for each in document:
        for selector in unique_selectors(each, document, ""):
            found = find_matches(frame, selector)
            assert found is not None
            assert [other.node for other in found] == [each.node]
            assert [other.path for other in found] == [each.path]
