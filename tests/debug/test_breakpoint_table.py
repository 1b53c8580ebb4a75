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
from eikon_engine.errors import BreakpointError
from tests.debug.shop_plan import shop_places, table

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


def test_every_type_of_breakpoint_is_listed_as_it_was_asked_for() -> None:
    """All eight of them, with the ids by which they are removed."""
    made = table(*map(parse_breakpoint, EVERY))

    assert [each.type for each in made.breakpoints] == list(BREAKPOINT_TYPES)
    assert [str(each.listing) for each in made.breakpoints] == [
        f"bp-{number}  {text}  (0 hits)" for number, text in enumerate(EVERY.values(), start=1)
    ]


def test_a_condition_is_listed_behind_its_tool() -> None:
    """As it is written on the command line."""
    made = table(BreakpointAdd(on="tool", value="fill", condition="banana|pear"))

    assert made.breakpoints[0].event_reference.condition == "fill --condition banana|pear"


def test_a_breakpoint_is_removed_by_its_id_alone() -> None:
    """The others keep their ids, and no id comes twice."""
    made = table(parse_breakpoint("error"), parse_breakpoint("divergence")).remove("bp-1")
    more, added = made.add(AtIteration(3))

    assert [each.id for each in more.breakpoints] == ["bp-2", "bp-3"]
    assert added.id == "bp-3"


def test_clear_removes_all_breakpoints() -> None:
    """And ids go on from where they were."""
    made, added = table(*map(parse_breakpoint, EVERY)).clear().add(AtIteration(1))

    assert made.breakpoints == (added,)
    assert added.id == "bp-9"


def test_a_disabled_breakpoint_stays_in_the_list() -> None:
    """It stops nothing until it is enabled."""
    made = table(parse_breakpoint("selector:#a"), parse_breakpoint("error"))
    disabled = made.disable("bp-1")

    assert str(disabled.breakpoints[0].listing) == "bp-1  selector #a  (0 hits, disabled)"
    assert (disabled.selectors, made.selectors) == ((), ("#a",))
    assert disabled.enable("bp-1") == made


@pytest.mark.parametrize("change", ["remove", "enable", "disable"])
def test_a_breakpoint_that_is_not_there_is_refused(change: str) -> None:
    """The message names those that are."""
    with pytest.raises(BreakpointError, match=r"no breakpoint with id 'bp-9'; available: bp-1, bp-2"):
        getattr(table(parse_breakpoint("error"), parse_breakpoint("divergence")), change)("bp-9")


def test_the_same_breakpoint_is_not_added_twice() -> None:
    """A disabled one is to be enabled instead."""
    made = table(parse_breakpoint("tool:click")).disable("bp-1")

    with pytest.raises(BreakpointError, match=r"the same breakpoint already exists: bp-1 .* breakpoint enable bp-1"):
        made.add(parse_condition(parse_breakpoint("tool:click"), shop_places()))


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
def test_a_breakpoint_that_cannot_be_is_refused(on: BreakpointType, value: str | int | None, message: str) -> None:
    """In one line that says what was wanted, what was found, and what to do."""
    with pytest.raises(BreakpointError, match=message) as refused:
        parse_condition(BreakpointAdd(on=on, value=value), shop_places())

    assert "\n" not in refused.value.message


def test_only_breakpoints_on_tools_have_a_condition() -> None:
    """It is not left out in silence."""
    with pytest.raises(BreakpointError, match="pattern: only tool breakpoints take --condition, got 'b'"):
        parse_condition(BreakpointAdd(on="pattern", value="a", condition="b"), shop_places())


@pytest.mark.parametrize("text", ["", "tol:click", "Tool:click", "tool click"])
def test_a_breakpoint_of_an_unknown_type_is_refused(text: str) -> None:
    """The message names the types that there are."""
    with pytest.raises(
        BreakpointError, match="breakpoint type: expected one of tool, iteration, pattern, error, divergence"
    ):
        parse_breakpoint(text)


@given(st.lists(st.sampled_from(["add", "remove", "disable", "enable"]), max_size=20), st.data())
def test_ids_name_one_breakpoint_each_whatever_is_done(deeds: list[str], data: st.DataObject) -> None:
    """A model of ids and whether they are enabled, beside the table."""
    made, model, added = BreakpointTable(), dict[str, bool](), 0
    for deed in deeds:
        if deed == "add":
            added += 1
            made, new = made.add(AtIteration(added))
            model[new.id] = True
        elif model:
            name = data.draw(st.sampled_from(sorted(model)))
            made = getattr(made, deed)(name)
            model.pop(name) if deed == "remove" else model.update({name: deed == "enable"})

    assert {each.id: each.is_enabled for each in made.breakpoints} == model
    assert require_breakpoint_type("tool") == "tool"
