"""Which of the selectors of an element is taken."""

from __future__ import annotations

from eikon_engine.record.gesture import Name, Seen
from eikon_engine.record.selector_choice import BY_PLACE, UNNAMED, choose
from eikon_engine.trace.target import Identity

ROLE = Name(kind="role", selector='role=button[name="Save"s]', sure=False)
ID = Name(kind="id", selector="#save", sure=True)
PLACE = Name(kind="place", selector="main > button:nth-of-type(2)", sure=True)
IDENTITY = Identity(tag="button", role="button", name="Save")


def test_a_doubtful_selector_needs_proof() -> None:
    """The better one is taken where Playwright has found the element by it, else it is not even an alternative."""
    seen = Seen(key="1", names=(ROLE, ID, PLACE), identity=IDENTITY)

    proven, doubtful = choose(seen, {ROLE.selector}, ("#frame",)), choose(seen, ())

    assert (proven.target.selector, proven.target.frames) == (ROLE.selector, ("#frame",))
    assert proven.target.alternatives == (ID.selector, PLACE.selector)
    assert (doubtful.target.selector, doubtful.target.alternatives) == (ID.selector, (PLACE.selector,))
    assert (proven.weak, doubtful.weak) == (None, None)


def test_a_place_is_weak_and_no_selector_is_weaker() -> None:
    """Both are told, with the reason; the element that was hit is known in either case."""
    by_place = choose(Seen(key="1", names=(ROLE, PLACE), identity=IDENTITY), ())
    by_nothing = choose(Seen(key="1", names=(ROLE,), identity=IDENTITY), ())

    assert (by_place.target.selector, by_place.weak) == (PLACE.selector, BY_PLACE)
    assert (by_nothing.target.selector, by_nothing.weak) == ("button", UNNAMED)
    assert by_nothing.target.identity == IDENTITY
