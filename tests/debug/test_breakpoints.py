"""Breakpoints of a real session: the seed's test cases, and what goes beyond them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.debug.conftest import Session


def test_a_tool_breakpoint_is_added(at_start: Session) -> None:
    """A breakpoint on a type of action is in the list, with its condition."""
    at_start.good("breakpoint", "add", "tool", "fill", "--condition", "quan.*3")

    (added,) = at_start.json("breakpoint", "list")["breakpoints"]

    assert (added["type"], added["condition"]) == ("tool", "fill --condition quan.*3")
    assert added["is_enabled"]


def test_an_iteration_breakpoint_is_added(at_start: Session) -> None:
    """A breakpoint on a number of a step is in the list."""
    at_start.good("breakpoint", "add", "iteration", "5")

    (added,) = at_start.json("breakpoint", "list")["breakpoints"]

    assert (added["type"], added["condition"], added["hit_count"]) == ("iteration", 5, 0)


def test_a_pattern_breakpoint_is_added(at_start: Session) -> None:
    """A breakpoint on a regular expression is in the list."""
    at_start.good("breakpoint", "add", "pattern", "DELETE.*cart")

    (added,) = at_start.json("breakpoint", "list")["breakpoints"]

    assert (added["type"], added["condition"]) == ("pattern", "DELETE.*cart")


def test_the_session_pauses_before_a_tool(at_start: Session) -> None:
    """The action stands still before it is done, and the event says what was hit by what."""
    at_start.good("breakpoint", "add", "tool", "type")

    stand = at_start.json("resume")

    assert (stand["iteration"], stand["reason"]) == (5, "breakpoint")
    assert stand["next"].startswith("type #search")
    hit = at_start.events("breakpoint_hit")[-1]
    assert (hit.breakpoint.type, hit.breakpoint.condition) == ("tool", "type")
    assert (hit.context.tool_name, hit.context.iteration) == ("type", 6)
    assert hit.context.tool_input["text"] == "banana"
    assert len(at_start.events("action_start")) == len(at_start.events("action"))


def test_the_session_pauses_before_an_iteration(at_start: Session) -> None:
    """A breakpoint at step 3 leaves two steps done."""
    at_start.good("breakpoint", "add", "iteration", "3")

    stand = at_start.json("resume")

    assert (stand["iteration"], stand["reason"]) == (2, "breakpoint")


def test_the_session_pauses_where_a_pattern_matches(at_start: Session) -> None:
    """A regular expression is looked for in the input of the step that comes."""
    at_start.good("breakpoint", "add", "pattern", "BANANA")

    stand = at_start.json("resume")

    assert (stand["iteration"], stand["reason"]) == (5, "breakpoint")


def test_breakpoints_are_listed(at_start: Session) -> None:
    """The list has all breakpoints in their order, as text too."""
    at_start.good("breakpoint", "add", "error")
    at_start.good("breakpoint", "add", "request", "*/api/cart")

    text = at_start.good("breakpoint", "list")

    assert [line.split("  ")[1] for line in text.splitlines()] == ["error", "request */api/cart"]


def test_a_breakpoint_is_removed(at_start: Session) -> None:
    """What was removed is not in the list, and stops nothing."""
    at_start.good("breakpoint", "add", "iteration", "2")
    at_start.good("breakpoint", "add", "iteration", "4")
    first, second = (each["id"] for each in at_start.json("breakpoint", "list")["breakpoints"])

    at_start.good("breakpoint", "remove", first)

    assert [each["id"] for each in at_start.json("breakpoint", "list")["breakpoints"]] == [second]
    assert at_start.json("resume")["iteration"] == 3


def test_all_breakpoints_are_cleared(at_start: Session) -> None:
    """After clearing, the list is empty."""
    at_start.good("breakpoint", "add", "iteration", "2")
    at_start.good("breakpoint", "add", "error")

    text = at_start.good("breakpoint", "clear")

    assert text == "no breakpoints\n"
    assert at_start.json("breakpoint", "list") == {"breakpoints": []}


def test_hits_are_counted(at_start: Session) -> None:
    """Each time a breakpoint stops the session counts, and going on does the step before which it stood."""
    at_start.good("breakpoint", "add", "tool", "press")

    stands = [at_start.json("resume")["iteration"] for _ in range(2)]

    (listed,) = at_start.json("breakpoint", "list")["breakpoints"]
    assert stands == [4, 6]
    assert listed["hit_count"] == 2


def test_a_disabled_breakpoint_stops_nothing_until_it_is_enabled(at_start: Session) -> None:
    """Disabling keeps a breakpoint, with its hits."""
    at_start.good("breakpoint", "add", "iteration", "3")
    (added,) = at_start.json("breakpoint", "list")["breakpoints"]
    at_start.good("breakpoint", "disable", added["id"])

    passed = at_start.json("run-to", "4")["iteration"]
    at_start.good("rewind", "--iteration", "0", "--force")
    at_start.good("breakpoint", "enable", added["id"])

    assert passed == 4
    assert at_start.json("resume")["iteration"] == 2


def test_the_session_pauses_before_a_subgoal(at_start: Session) -> None:
    """A breakpoint on a subgoal stops before its first step, and so does next-subgoal."""
    at_start.good("breakpoint", "add", "subgoal", "find_banana")

    assert at_start.json("resume")["reason"] == "breakpoint"
    at_start.good("rewind", "--iteration", "0", "--force")
    at_start.good("breakpoint", "clear")
    stand = at_start.json("next-subgoal")

    assert (stand["iteration"], stand["reason"]) == (3, "next_subgoal")


def test_the_session_pauses_where_a_selector_appears(at_start: Session) -> None:
    """A breakpoint on a selector stops after the step that made something match."""
    at_start.good("breakpoint", "add", "selector", "#buy-form")

    stand = at_start.json("resume")

    assert stand["iteration"] == 9
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
def test_a_breakpoint_that_cannot_be_is_refused(shop: Session, words: tuple[str, ...], wanted: str) -> None:
    """One line says what was wanted; exit status 2."""
    said = shop("breakpoint", "add", *words)

    assert (said.status, said.out) == (2, "")
    assert wanted in said.err
    assert said.err.endswith("(code breakpoint)\n")
    assert said.err.count("\n") == 1
