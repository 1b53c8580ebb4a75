"""`browser`: perform one action on the pages of the current mission."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from pydantic import JsonValue, TypeAdapter

from eikon_engine.scenario.tool_box import Tool
from eikon_engine.trace.actions import ACTION_ADAPTER, Action

if TYPE_CHECKING:
    from eikon_engine.scenario.fixtures import ToolResultValue
    from eikon_engine.trace.observation import Observation

BROWSER_TOOL: Final = "browser"


class Driver(Protocol):
    """Perform actions and record them."""

    async def run(self, action: Action) -> Observation:
        """Perform one action and return the observation."""


def make_browser_tool(driver: Driver) -> Tool:
    """Return a tool that passes actions to a driver, such as a `MissionRecorder` inside a subgoal."""

    async def browser(action: dict[str, JsonValue]) -> dict[str, ToolResultValue]:
        """Perform one action on the page (docs/actions.md), and return the URLs and titles of the open pages."""
        return describe_pages(await driver.run(read_action(action)))

    return Tool(browser, name=BROWSER_TOOL)


def read_action(action: dict[str, Any]) -> Action:
    """Parse an action in the format of traces.

    Raises:
        ValueError: it is invalid.
    """
    return ACTION_ADAPTER.validate_json(_text(action))


def _text(action: dict[str, Any]) -> bytes:
    return TypeAdapter(JsonValue).dump_json(action)


def describe_pages(observation: Observation) -> dict[str, Any]:
    """Return the open pages after an action, as the result for the agent."""
    return {"pages": [{"page": page.page, "url": page.url, "title": page.title} for page in observation.pages]}
