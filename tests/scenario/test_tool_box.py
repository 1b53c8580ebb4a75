"""Tools are called by name, validate arguments by their signatures, and fail with one public error."""

from __future__ import annotations

import asyncio
import sys

import pytest

from eikon_engine.errors import RequirementError, ToolArgumentsError, ToolError, UsageError
from eikon_engine.scenario.tool_box import Tool, ToolBox
from tests.error_codes import has_code


def add(left: int, right: int = 1) -> int:
    """Add two numbers."""
    return left + right


async def double(number: int) -> int:
    """Double a number."""
    await asyncio.sleep(0)
    return number * 2


def fail() -> None:
    """Fail."""
    raise KeyError("nothing here")


def anything(**facts: str) -> dict[str, str]:
    """Accept any named arguments."""
    return facts


BOX = ToolBox.of(add, double, fail, anything)


def test_a_tool_is_called_by_name_with_defaults() -> None:
    """A tool is called by name, with its default arguments."""
    assert BOX.call("add", {"left": 2}) == 3


def test_both_colours_work_in_a_loop() -> None:
    """Synchronous and asynchronous tools work in an event loop."""

    async def both() -> list[int]:
        return [await BOX.acall("add", {"left": 2, "right": 5}), await BOX.acall("double", {"number": 4})]

    assert asyncio.run(both()) == [7, 8]


def test_an_asynchronous_tool_is_not_called_without_await() -> None:
    """An asynchronous tool cannot be called synchronously."""
    with pytest.raises(UsageError, match="tool double is asynchronous"):
        BOX.call("double", {"number": 1})


def leave() -> None:
    """End the process."""
    sys.exit(0)


async def leave_later() -> None:
    """End the process from within an event loop."""
    await asyncio.sleep(0)
    sys.exit("enough")


def test_a_tool_that_ends_the_process_has_failed() -> None:
    """A tool that ends the process has failed, whatever exit status it requests."""
    box = ToolBox.of(leave, leave_later)

    with pytest.raises(ToolError, match="tool leave failed: SystemExit: 0"):
        box.call("leave")
    with pytest.raises(ToolError, match="tool leave failed: SystemExit: 0"):
        asyncio.run(box.acall("leave"))
    with pytest.raises(ToolError, match="tool leave_later failed: SystemExit: enough"):
        asyncio.run(box.acall("leave_later"))


def test_an_unknown_tool_is_named_with_the_nearest() -> None:
    """An unknown tool is an error that suggests the nearest name."""
    with pytest.raises(RequirementError, match=r"unknown tool 'ad'.*Did you mean add", check=has_code("unknown-tool")):
        BOX.call("ad")


def test_a_tool_that_is_not_allowed_is_not_called() -> None:
    """A tool that is not allowed is not called."""
    with pytest.raises(
        RequirementError, match="tool 'fail' is not allowed: expected one of add", check=has_code("tool-not-allowed")
    ):
        BOX.allowing(["add"]).call("fail")


def test_only_known_tools_are_allowed() -> None:
    """Allowing an unknown tool is an error."""
    with pytest.raises(RequirementError, match="unknown tool 'sub'", check=has_code("unknown-tool")):
        BOX.allowing(["sub"])


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"left": "2"}, "tool add: left: expected a whole number, got"),
        ({}, "tool add: left"),
        ({"left": 1, "up": 2}, "tool add: up"),
        ({"left": float("nan")}, "expected JSON arguments"),
        ({"left": {1}}, "expected JSON arguments"),
        ({"left": "\ud800"}, "expected JSON arguments"),
    ],
)
def test_wrong_arguments_are_reported_in_one_line(args: dict[str, object], message: str) -> None:
    """Wrong arguments are reported in one line."""
    with pytest.raises(ToolArgumentsError, match=message) as caught:
        BOX.call("add", args)  # type: ignore[arg-type] # what an agent may get wrong
    assert "\n" not in caught.value.message


def test_open_parameters_take_all_names() -> None:
    """A tool with open keyword parameters accepts any names."""
    assert BOX.call("anything", {"colour": "red", "schema": "plain"}) == {"colour": "red", "schema": "plain"}


def test_a_failure_is_one_public_error() -> None:
    """Every failure of a tool raises the same public error."""
    with pytest.raises(ToolError, match=r"tool fail failed: KeyError: 'nothing here'") as caught:
        BOX.call("fail")
    assert (caught.value.tool, caught.value.error_type) == ("fail", "KeyError")
    assert isinstance(caught.value.__cause__, KeyError)


def test_names_are_taken_once_and_boxes_never_change() -> None:
    """A name cannot be registered twice, and tool boxes are immutable."""
    small = ToolBox.of(add)

    with pytest.raises(UsageError, match="tool 'add' is registered twice"):
        small.extended(add)
    assert small.extended(double).names == ("add", "double")
    assert small.names == ("add",)


@pytest.mark.parametrize("name", ["", "..", "a/b", "recording.json", "a b"])
def test_a_tool_has_a_name_that_can_be_a_folder(name: str) -> None:
    """A tool's name must be valid as a folder name."""
    with pytest.raises(UsageError, match="expected a tool name"):
        Tool(lambda: None, name=name or " ")


def test_a_tool_has_named_parameters() -> None:
    """A tool's parameters must be named."""

    def shout(word: str, /) -> str:
        return word

    with pytest.raises(UsageError, match="expected keyword parameters"):
        Tool(shout)


def test_a_tool_describes_its_arguments() -> None:
    """A tool provides the schema of its arguments."""
    tool = BOX.get("add")

    assert tool.description == "Add two numbers."
    assert tool.schema["properties"]["left"] == {"title": "Left", "type": "integer"}
    assert tool.schema["required"] == ["left"]
