"""Which consecutive gestures form one action."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.record.gestures import ElementDescription, Gesture, GestureKind, merge

FIELD, OTHER = ElementDescription(key="1"), ElementDescription(key="2")


def gesture(kind: GestureKind, target: ElementDescription | None = FIELD, **fields: object) -> Gesture:
    """Make a gesture."""
    return Gesture.model_validate({"kind": kind, "target": target, **fields})


def joined(*gestures: Gesture) -> Gesture | None:
    """Join gestures in order; None as soon as one begins a new action."""
    whole: Gesture | None = gestures[0]
    for each in gestures[1:]:
        whole = None if whole is None else merge(whole, each)
    return whole


def test_a_click_and_typing_are_one_fill() -> None:
    """The fill has the final value and the element as it was at the beginning."""
    whole = joined(
        gesture("down", is_plain=True),
        gesture("click", is_plain=True),
        gesture("input", text="a"),
        gesture("input", text="ab", is_plain=True),
        gesture("down", is_plain=True),
        gesture("click", is_plain=True),
        gesture("input", text="abc"),
    )

    assert whole is not None
    assert (whole.kind, whole.text, whole.target) == ("input", "abc", FIELD)


def test_two_clicks_that_the_browser_counts_as_two_are_a_double_click() -> None:
    """A second click that the browser counts as a first one is a separate click."""
    once, again = gesture("click"), gesture("down")

    double = joined(once, again, gesture("click", detail=2), gesture("dblclick"))
    single = joined(once, again, gesture("click", detail=1))

    assert double is not None
    assert double.kind == "dblclick"
    assert single is None


def test_a_click_on_a_label_is_recorded_for_its_checkbox() -> None:
    """The press on the label becomes the check of the control."""
    whole = joined(gesture("down"), gesture("check", OTHER, is_checked=True))

    assert whole is not None
    assert (whole.kind, whole.target, whole.is_checked) == ("check", OTHER, True)


@pytest.mark.parametrize("kind", ["press", "select", "scroll", "drag", "check", "down", "subgoal"])
def test_another_gesture_starts_another_action(kind: GestureKind) -> None:
    """Typing ends when the person does something else, or types elsewhere."""
    assert merge(gesture("input", text="a"), gesture(kind, OTHER)) is None


@given(st.lists(st.tuples(st.integers(-500, 500), st.integers(-500, 500), st.booleans()), min_size=1))
def test_scrolling_adds_up(steps: list[tuple[int, int, bool]]) -> None:
    """The distances are summed; the action is recorded if any part of it had an effect."""
    whole = joined(*(gesture("scroll", None, dx=dx, dy=dy, is_changed=changed) for dx, dy, changed in steps))

    assert whole is not None
    assert (whole.dx, whole.dy) == (sum(step[0] for step in steps), sum(step[1] for step in steps))
    assert whole.is_changed == any(step[2] for step in steps)
