"""Missions with tools, models and skills: recorded once, replayed without executing anything."""

from eikon_engine.scenario.open_run import AgentRun, RunOptions, open_run
from eikon_engine.scenario.tool import Tool
from eikon_engine.scenario.tool_box import ToolBox

__all__ = ["AgentRun", "RunOptions", "Tool", "ToolBox", "open_run"]
