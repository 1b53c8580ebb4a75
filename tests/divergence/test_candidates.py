"""Candidates for a missing element are ranked by their matching properties."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.divergence.candidates import MAX_CANDIDATES, find_candidates
from eikon_engine.divergence.snapshot_elements import locate_elements
from tests.divergence.test_dom_diff import bodies, element, page_of

if TYPE_CHECKING:
    from eikon_engine.dom import DomNode, PageSnapshot
    from eikon_engine.trace.target import Identity


def identity_in(page: PageSnapshot, path: str) -> Identity:
    """Return the identity of the element at a path."""
    return next(each.identity for each in locate_elements(page.main) if each.path.endswith(path))


def shop(button: DomNode) -> PageSnapshot:
    """Make a page with one button of interest among others."""
    others = (element("button", "Add to list", id="list"), element("a", "Help", href="/help"))
    return page_of(element("form", button, *others, id="order"), element("p", "Price 3.50"))


BUY = element("button", "Buy now", id="buy", type="submit")
BECAME = {
    "another id": element("button", "Buy now", id="purchase", type="submit"),
    "another text": element("button", "Buy it now", id="buy", type="submit"),
    "another element": element("a", "Buy now", id="buy", href="#"),
}


@pytest.mark.parametrize("change", BECAME)
def test_the_changed_element_is_the_first_candidate(change: str) -> None:
    """It is listed with matching and different properties."""
    found = find_candidates(identity_in(shop(BUY), "button#buy"), shop(BECAME[change]))

    assert found[0].path.startswith(f"html > body > form#order > {BECAME[change].tag}#")
    assert "Buy" in found[0].description
    assert found[0].score == max(each.score for each in found) < 1


def test_nothing_is_plausible_where_nothing_is_like_it() -> None:
    """A page about something else has no candidates, although it has buttons."""
    page = page_of(element("nav", element("button", "Log in", id="login")), element("p", "Welcome"))

    assert find_candidates(identity_in(shop(BUY), "button#buy"), page) == ()


def test_an_element_without_a_name_is_found_by_its_position() -> None:
    """Without a name, ancestors and ordinal decide."""
    page = page_of(element("div", element("i"), element("i"), id="stars"))
    third = page_of(element("div", element("i"), element("i"), element("i"), id="stars"))

    found = find_candidates(identity_in(page, "i:nth(2)"), third)

    assert found[0].path == "html > body > div#stars > i:nth(2)"
    assert found[0].score == 1


def test_names_are_computed_from_labels_values_and_content() -> None:
    """Names are computed as for live elements."""
    page = page_of(
        element("label", "Your name ", element("input", name="n")),
        element("label", "Mail", **{"for": "m"}),
        element("input", id="m", type="email"),
        element("input", type="submit", value=" Send  it "),
        element("button", element("img", alt="Close")),
        element("div", "Total", id="t"),
        element("section", **{"aria-labelledby": "t m"}),
    )
    named = {(each.identity.tag, each.identity.role): each.identity.name for each in locate_elements(page.main)}

    assert named["input", "textbox"] == "Mail"
    assert named["input", "button"] == "Send it"
    assert named["button", "button"] == "Close"
    assert named["section", ""] == "Total"
    assert (
        next(each.identity.name for each in locate_elements(page.main) if each.identity.tag == "input") == "Your name"
    )


@given(bodies, bodies, st.data())
def test_a_page_always_offers_what_is_still_there(
    here: list[DomNode], more: list[DomNode], data: st.DataObject
) -> None:
    """An unchanged element is its own best candidate, and there are never more than three."""
    page, wider = page_of(*here), page_of(*here, element("hr"), *more)
    wanted = data.draw(st.sampled_from(list(locate_elements(page.main))))

    found = find_candidates(wanted.identity, wider)

    assert len(found) <= MAX_CANDIDATES
    if wanted.identity in [each.identity for each in locate_elements(wider.main)]:
        assert found[0].score == 1
