"""Scenarios: missions with tools, models and skills, recorded once and replayed without executing anything.

Public names are imported lazily.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eikon_engine.scenario.agent_run import AgentRun, RunOptions, open_run
    from eikon_engine.scenario.tool_box import Tool, ToolBox

__all__ = [
    "AgentRun",
    "RunOptions",
    "Tool",
    "ToolBox",
    "open_run",
]

_MODULES = {
    "AgentRun": "agent_run",
    "RunOptions": "agent_run",
    "Tool": "tool_box",
    "ToolBox": "tool_box",
    "open_run": "agent_run",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(f"eikon_engine.scenario.{_MODULES[name]}"), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
