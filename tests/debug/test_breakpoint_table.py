from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.debug.breakpoints import (
    BREAKPOINT_TYPES,
    AtIteration,
    BreakpointTable,
    parse_breakpoint,
    parse_condition,
    require_breakpoint_type,
)
from eikon_engine.debug.commands import BreakpointAdd
from eikon_engine.errors import UsageError
from tests.debug.shop_plan import shop_targets, table
from tests.error_codes import has_code

if TYPE_CHECKING:
    from eikon_engine.outcome.debug_events import BreakpointType

EVERY = {
    "tool:click": "tool click",
    "iteration:7": "iteration 7",
    "pattern:DELETE.*WHERE": "pattern DELETE.*WHERE",
    "error": "error",
    "divergence": "divergence",
    "subgoal:add_to_cart": "subgoal add_to_cart",
    "request:POST */api/cart": "request POST */api/cart",
    "selector:#cart > li:first-child": "selector #cart > li:first-child",
}


def test_every_breakpoint_type_is_listed_as_entered() -> None:
    """All eight types are listed with their ids."""
    breakpoints = table(*map(parse_breakpoint, EVERY))

    assert [each.type for each in breakpoints.breakpoints] == list(BREAKPOINT_TYPES)
    assert [str(each.listing) for each in breakpoints.breakpoints] == [
        f"bp-{number}  {text}  (0 hits)" for number, text in enumerate(EVERY.values(), start=1)
    ]


def test_a_condition_is_listed_with_its_tool() -> None:
    """It is printed as on the command line."""
    breakpoints = table(BreakpointAdd(on="tool", value="fill", condition="banana|pear"))

    assert breakpoints.breakpoints[0].event_reference.condition == "fill --condition banana|pear"


def test_a_breakpoint_is_removed_by_its_id() -> None:
    """The others keep their ids, and no id is reused."""
    breakpoints = table(parse_breakpoint("error"), parse_breakpoint("divergence")).remove("bp-1")
    more, added = breakpoints.add(AtIteration(3))

    assert [each.id for each in more.breakpoints] == ["bp-2", "bp-3"]
    assert added.id == "bp-3"


def test_clear_removes_all_breakpoints() -> None:
    """New ids continue after the removed ones."""
    breakpoints, added = table(*map(parse_breakpoint, EVERY)).clear().add(AtIteration(1))

    assert breakpoints.breakpoints == (added,)
    assert added.id == "bp-9"


def test_a_disabled_breakpoint_stays_listed() -> None:
    """It stops nothing until it is enabled."""
    breakpoints = table(parse_breakpoint("selector:#a"), parse_breakpoint("error"))
    disabled = breakpoints.disable("bp-1")

    assert str(disabled.breakpoints[0].listing) == "bp-1  selector #a  (0 hits, disabled)"
    assert (disabled.selectors, breakpoints.selectors) == ((), ("#a",))
    assert disabled.enable("bp-1") == breakpoints


@pytest.mark.parametrize("change", ["remove", "enable", "disable"])
def test_an_unknown_breakpoint_id_is_rejected(change: str) -> None:
    """The message lists the existing ids."""
    with pytest.raises(
        UsageError, match=r"no breakpoint with id 'bp-9'; available: bp-1, bp-2", check=has_code("breakpoint")
    ):
        getattr(table(parse_breakpoint("error"), parse_breakpoint("divergence")), change)("bp-9")


def test_the_same_breakpoint_is_not_added_twice() -> None:
    """For a disabled one, the message suggests enabling it."""
    breakpoints = table(parse_breakpoint("tool:click")).disable("bp-1")

    with pytest.raises(
        UsageError,
        match=r"the same breakpoint already exists: bp-1 .* breakpoint enable bp-1",
        check=has_code("breakpoint"),
    ):
        breakpoints.add(parse_condition(parse_breakpoint("tool:click"), shop_targets()))


@pytest.mark.parametrize(
    ("on", "value", "message"),
    [
        ("tool", "clik", "tool: expected an action type or the name of a skill, got 'clik'; did you mean 'click'?"),
        ("tool", None, "tool: missing value; write eikon debug breakpoint add tool NAME"),
        ("iteration", 0, "from 1 to 29, got '0'"),
        ("iteration", 30, "got '30'; the mission has 29 steps"),
        ("iteration", "three", "got 'three'"),
        ("iteration", "9" * 5000, "expected a step number"),
        (
            "pattern",
            "(",
            r"pattern: expected a regular expression, got '\(' \(missing \), unterminated sub",
        ),
        ("pattern", r"\p{L}", r"bad escape \\p"),
        ("pattern", "(?x) a b", "verbose patterns are not supported"),
        ("pattern", " ", "missing value"),
        ("pattern", "x" * 3000, "expected a pattern of 1 to 2000 characters, got 3000"),
        ("subgoal", "add_to_car", "did you mean 'add_to_cart'?"),
        ("subgoal", "zzz", "available: compare_prices, "),
        ("request", "POST  */cart", "request: expected a URL"),
        ("request", "a b c", "request: expected a URL"),
        ("selector", "", "selector: missing value"),
        ("error", "all", "error: takes no value"),
        ("divergence", "dom", "divergence: takes no value"),
    ],
)
def test_invalid_breakpoints_are_rejected(on: BreakpointType, value: str | int | None, message: str) -> None:
    """The message has what was expected, what was found and what to do."""
    with pytest.raises(UsageError, match=message, check=has_code("breakpoint")) as refused:
        parse_condition(BreakpointAdd(on=on, value=value), shop_targets())

    assert "\n" not in refused.value.message


def test_only_tool_breakpoints_accept_a_condition() -> None:
    """It is rejected for the others, not ignored."""
    with pytest.raises(
        UsageError, match="pattern: only tool breakpoints take --condition, got 'b'", check=has_code("breakpoint")
    ):
        parse_condition(BreakpointAdd(on="pattern", value="a", condition="b"), shop_targets())


@pytest.mark.parametrize("text", ["", "tol:click", "Tool:click", "tool click"])
def test_an_unknown_breakpoint_type_is_rejected(text: str) -> None:
    """The message lists the types."""
    with pytest.raises(
        UsageError,
        match="breakpoint type: expected one of tool, iteration, pattern, error, divergence",
        check=has_code("breakpoint"),
    ):
        parse_breakpoint(text)


@given(st.lists(st.sampled_from(["add", "remove", "disable", "enable"]), max_size=20), st.data())
def test_breakpoint_ids_stay_unique_through_all_operations(operations: list[str], data: st.DataObject) -> None:
    """A model of ids and their state is compared with the table."""
    breakpoints, model, added = BreakpointTable(), dict[str, bool](), 0
    for operation in operations:
        if operation == "add":
            added += 1
            breakpoints, new = breakpoints.add(AtIteration(added))
            model[new.id] = True
        elif model:
            name = data.draw(st.sampled_from(sorted(model)))
            breakpoints = getattr(breakpoints, operation)(name)
            model.pop(name) if operation == "remove" else model.update({name: operation == "enable"})

    assert {each.id: each.is_enabled for each in breakpoints.breakpoints} == model
    assert require_breakpoint_type("tool") == "tool"
