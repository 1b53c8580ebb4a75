"""Which selector of an element is chosen."""

from __future__ import annotations

from eikon_engine.record.gestures import (
    NO_UNIQUE_SELECTOR,
    POSITION_ONLY,
    ElementDescription,
    SelectorCandidate,
    choose_target,
)
from eikon_engine.trace.target import Identity

ROLE = SelectorCandidate(kind="role", selector='role=button[name="Save"s]', sure=False)
ID = SelectorCandidate(kind="id", selector="#save", sure=True)
PLACE = SelectorCandidate(kind="place", selector="main > button:nth-of-type(2)", sure=True)
IDENTITY = Identity(tag="button", role="button", name="Save")


def test_a_doubtful_selector_needs_proof() -> None:
    """The better selector is used if Playwright found the element by it; otherwise it is not even an alternative."""
    seen = ElementDescription(key="1", names=(ROLE, ID, PLACE), identity=IDENTITY)

    proven, doubtful = choose_target(seen, {ROLE.selector}, ("#frame",)), choose_target(seen, ())

    assert (proven.target.selector, proven.target.frames) == (ROLE.selector, ("#frame",))
    assert proven.target.alternatives == (ID.selector, PLACE.selector)
    assert (doubtful.target.selector, doubtful.target.alternatives) == (ID.selector, (PLACE.selector,))
    assert (proven.weakness, doubtful.weakness) == (None, None)


def test_a_target_known_only_by_its_position_is_weak() -> None:
    """Both cases are warnings with a reason; the element that was hit is recorded in either case."""
    by_place = choose_target(ElementDescription(key="1", names=(ROLE, PLACE), identity=IDENTITY), ())
    by_nothing = choose_target(ElementDescription(key="1", names=(ROLE,), identity=IDENTITY), ())

    assert (by_place.target.selector, by_place.weakness) == (PLACE.selector, POSITION_ONLY)
    assert (by_nothing.target.selector, by_nothing.weakness) == ("button", NO_UNIQUE_SELECTOR)
    assert by_nothing.target.identity == IDENTITY
