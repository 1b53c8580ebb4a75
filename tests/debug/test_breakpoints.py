"""Breakpoints in a real session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.debug.conftest import Session

pytestmark = pytest.mark.browser


def test_a_tool_breakpoint_is_added(at_start: Session) -> None:
    """It is listed with its condition."""
    at_start.run("breakpoint", "add", "tool", "fill", "--condition", "quan.*3")

    (added,) = at_start.json("breakpoint", "list")["breakpoints"]

    assert (added["type"], added["condition"]) == ("tool", "fill --condition quan.*3")
    assert added["is_enabled"]


def test_an_iteration_breakpoint_is_added(at_start: Session) -> None:
    """It is listed with its step number."""
    at_start.run("breakpoint", "add", "iteration", "5")

    (added,) = at_start.json("breakpoint", "list")["breakpoints"]

    assert (added["type"], added["condition"], added["hit_count"]) == ("iteration", 5, 0)


def test_a_pattern_breakpoint_is_added(at_start: Session) -> None:
    """It is listed with its regular expression."""
    at_start.run("breakpoint", "add", "pattern", "DELETE.*cart")

    (added,) = at_start.json("breakpoint", "list")["breakpoints"]

    assert (added["type"], added["condition"]) == ("pattern", "DELETE.*cart")


def test_the_session_pauses_before_a_tool(at_start: Session) -> None:
    """The action has not run yet, and the event names the breakpoint and the step."""
    at_start.run("breakpoint", "add", "tool", "type")

    position = at_start.json("resume")

    assert (position["iteration"], position["reason"]) == (5, "breakpoint")
    assert position["next"].startswith("type #search")
    hit = at_start.events("breakpoint_hit")[-1]
    assert (hit.breakpoint.type, hit.breakpoint.condition) == ("tool", "type")
    assert (hit.context.tool_name, hit.context.iteration) == ("type", 6)
    assert hit.context.tool_input["text"] == "banana"
    assert len(at_start.events("action_start")) == len(at_start.events("action"))


def test_the_session_pauses_before_an_iteration(at_start: Session) -> None:
    """A breakpoint at step 3 leaves two steps done."""
    at_start.run("breakpoint", "add", "iteration", "3")

    position = at_start.json("resume")

    assert (position["iteration"], position["reason"]) == (2, "breakpoint")


def test_the_session_pauses_where_a_pattern_matches(at_start: Session) -> None:
    """The regular expression is searched in the input of the next step."""
    at_start.run("breakpoint", "add", "pattern", "BANANA")

    position = at_start.json("resume")

    assert (position["iteration"], position["reason"]) == (5, "breakpoint")


def test_breakpoints_are_listed(at_start: Session) -> None:
    """The list is in order of creation, as JSON and as text."""
    at_start.run("breakpoint", "add", "error")
    at_start.run("breakpoint", "add", "request", "*/api/cart")

    text = at_start.run("breakpoint", "list")

    assert [line.split("  ")[1] for line in text.splitlines()] == ["error", "request */api/cart"]


def test_a_breakpoint_is_removed(at_start: Session) -> None:
    """It is no longer listed, and stops nothing."""
    at_start.run("breakpoint", "add", "iteration", "2")
    at_start.run("breakpoint", "add", "iteration", "4")
    first, second = (each["id"] for each in at_start.json("breakpoint", "list")["breakpoints"])

    at_start.run("breakpoint", "remove", first)

    assert [each["id"] for each in at_start.json("breakpoint", "list")["breakpoints"]] == [second]
    assert at_start.json("resume")["iteration"] == 3


def test_all_breakpoints_are_cleared(at_start: Session) -> None:
    """The list is empty afterwards."""
    at_start.run("breakpoint", "add", "iteration", "2")
    at_start.run("breakpoint", "add", "error")

    text = at_start.run("breakpoint", "clear")

    assert text == "no breakpoints\n"
    assert at_start.json("breakpoint", "list") == {"breakpoints": []}


def test_hits_are_counted(at_start: Session) -> None:
    """Each stop counts, and resuming runs the step before which the session paused."""
    at_start.run("breakpoint", "add", "tool", "press")

    iterations = [at_start.json("resume")["iteration"] for _ in range(2)]

    (listed,) = at_start.json("breakpoint", "list")["breakpoints"]
    assert iterations == [4, 6]
    assert listed["hit_count"] == 2


def test_a_disabled_breakpoint_stops_nothing_until_it_is_enabled(at_start: Session) -> None:
    """It keeps its hits."""
    at_start.run("breakpoint", "add", "iteration", "3")
    (added,) = at_start.json("breakpoint", "list")["breakpoints"]
    at_start.run("breakpoint", "disable", added["id"])

    passed = at_start.json("run-to", "4")["iteration"]
    at_start.run("rewind", "--iteration", "0", "--force")
    at_start.run("breakpoint", "enable", added["id"])

    assert passed == 4
    assert at_start.json("resume")["iteration"] == 2


def test_the_session_pauses_before_a_subgoal(at_start: Session) -> None:
    """It stops before the first step of the subgoal, as next-subgoal does."""
    at_start.run("breakpoint", "add", "subgoal", "find_banana")

    assert at_start.json("resume")["reason"] == "breakpoint"
    at_start.run("rewind", "--iteration", "0", "--force")
    at_start.run("breakpoint", "clear")
    position = at_start.json("next-subgoal")

    assert (position["iteration"], position["reason"]) == (3, "next_subgoal")


def test_the_session_pauses_after_a_selector_appears(at_start: Session) -> None:
    """It stops after the step that made an element match."""
    at_start.run("breakpoint", "add", "selector", "#buy-form")

    position = at_start.json("resume")

    assert position["iteration"] == 9
    assert at_start.events("breakpoint_hit")[-1].context.error.startswith("appeared")


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("pattern", "("), "regular expression"),
        (("weather", "rain"), "expected one of tool, iteration"),
        (("iteration", "99"), "from 1 to 29"),
        (("tool", "clik"), "did you mean 'click'?"),
        (("selector", "###"), "selector"),
        (("error", "x"), "takes no value"),
    ],
)
def test_invalid_breakpoint_commands_are_rejected(shop: Session, words: tuple[str, ...], wanted: str) -> None:
    """The message says what was expected; the exit status is 2."""
    output = shop("breakpoint", "add", *words)

    assert (output.status, output.out) == (2, "")
    assert wanted in output.err
    assert output.err.endswith("(code breakpoint)\n")
    assert output.err.count("\n") == 1
