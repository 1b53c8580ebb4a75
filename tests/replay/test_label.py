"""Labels of actions, for logs and reports."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.trace.actions import Click, Fill, Mouse, SecretRef, TouchscreenTap
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.labels import action_label
from eikon_engine.trace.target import Identity, Target
from tests.trace.trace_values import values_of

pytestmark = pytest.mark.browser


@given(recorded=values_of(ActionTrace))
def test_every_action_has_a_label(recorded: ActionTrace) -> None:
    """Every action has a label that begins with what it does."""
    assert action_label(recorded.action).split()[0].removesuffix(":").isalpha()


@given(name=st.from_regex(r"\A[A-Z_]{1,12}\Z"))
def test_a_secret_is_named_and_not_shown(name: str) -> None:
    """The label names the typed secret and its field."""
    action = Fill(target=Target(selector="#p"), text=SecretRef(secret=name))

    assert action_label(action) == f"fill #p with secret {name}"


def test_a_target_is_shown_with_its_name() -> None:
    """The label has the accessible name beside the selector."""
    target = Target(selector="#buy", identity=Identity(tag="button", role="button", name="Buy now"))

    assert action_label(Click(target=target)) == "click #buy ('Buy now')"


def test_a_position_is_shown_with_the_element_there() -> None:
    """The label of a click at coordinates has the name of the element there, if known."""
    under = Identity(tag="button", role="button", name="Buy now")

    assert action_label(Mouse(event="click", x=3.5, y=4.0, under=under)) == "mouse click at 3.5, 4 ('Buy now')"
    assert action_label(TouchscreenTap(x=3.5, y=4.0, under=under)) == "touchscreen tap at 3.5, 4 ('Buy now')"
    assert action_label(Mouse(event="move", x=3.5, y=4.0)) == "mouse move at 3.5, 4"
