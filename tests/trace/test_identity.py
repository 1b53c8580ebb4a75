"""Which properties identify an element."""

from __future__ import annotations

import pytest

from eikon_engine.trace.target import Ancestor, Box, Identity, identity_differences, identity_weakness

STRONG = (
    Identity(tag="button", name="Buy"),
    Identity(tag="p", text="Price"),
    Identity(tag="div", attributes=(("id", "cart"),)),
    Identity(tag="a", attributes=(("href", "/help"),)),
    Identity(tag="i", attributes=(("data-testid", "star"), ("type", "x"))),
)
WEAK = (
    Identity(tag="button"),
    Identity(tag="i", role="img", attributes=(("role", "img"),), ordinal=3),
    Identity(tag="input", attributes=(("type", "checkbox"),), ancestors=(Ancestor(tag="form", id="order"),)),
)


@pytest.mark.parametrize("identity", STRONG)
def test_a_naming_property_makes_an_identity_strong(identity: Identity) -> None:
    """One identifying property is sufficient."""
    assert identity_weakness(identity) is None


@pytest.mark.parametrize("identity", WEAK)
def test_tag_and_position_alone_are_weak(identity: Identity) -> None:
    """Tag and position change with the elements around."""
    assert "only its position" in (identity_weakness(identity) or "")


def test_every_property_but_the_box_is_compared() -> None:
    """The box is not compared because it depends on fonts."""
    one = Identity(tag="a", name="Help", box=Box(x=0, y=0, width=1, height=1))
    other = one.model_copy(update={"box": Box(x=9, y=9, width=1, height=1)})

    assert identity_differences(one, other) == ()
    assert identity_differences(one, one.model_copy(update={"ordinal": 2})) == ("ordinal: 0 -> 2",)
