"""Eikon Engine: record browser missions, replay them deterministically, explain where they diverge.

Public names are imported on first access, so importing the package is cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eikon_engine.browser.launch_for_agents import launch_browser
    from eikon_engine.errors import EikonError, UsageError
    from eikon_engine.record import AttachOptions, MissionRecorder, RecordOptions, open_recorder, record_mission
    from eikon_engine.replay import (
        ActionOutcome,
        Controller,
        Divergence,
        Halt,
        Proceed,
        ReplayDivergenceError,
        ReplayEngine,
        ReplayError,
        ReplayOptions,
        ReplayOutcome,
        SkillOutcome,
        SubgoalOutcome,
    )
    from eikon_engine.scenario import AgentRun, RunOptions, Tool, ToolBox, open_run
    from eikon_engine.trace.trace_file import ExecutionTraceSerializer

__all__ = [
    "ActionOutcome",
    "AgentRun",
    "AttachOptions",
    "Controller",
    "Divergence",
    "EikonError",
    "ExecutionTraceSerializer",
    "Halt",
    "MissionRecorder",
    "Proceed",
    "RecordOptions",
    "ReplayDivergenceError",
    "ReplayEngine",
    "ReplayError",
    "ReplayOptions",
    "ReplayOutcome",
    "RunOptions",
    "SkillOutcome",
    "SubgoalOutcome",
    "Tool",
    "ToolBox",
    "UsageError",
    "launch_browser",
    "open_recorder",
    "open_run",
    "record_mission",
]

_MODULES = {
    "ActionOutcome": "replay",
    "AgentRun": "scenario",
    "AttachOptions": "record",
    "Controller": "replay",
    "Divergence": "replay",
    "EikonError": "errors",
    "ExecutionTraceSerializer": "trace.trace_file",
    "Halt": "replay",
    "MissionRecorder": "record",
    "Proceed": "replay",
    "RecordOptions": "record",
    "ReplayDivergenceError": "replay",
    "ReplayEngine": "replay",
    "ReplayError": "replay",
    "ReplayOptions": "replay",
    "ReplayOutcome": "replay",
    "RunOptions": "scenario",
    "SkillOutcome": "replay",
    "SubgoalOutcome": "replay",
    "Tool": "scenario",
    "ToolBox": "scenario",
    "UsageError": "errors",
    "launch_browser": "browser.launch_for_agents",
    "open_recorder": "record",
    "open_run": "scenario",
    "record_mission": "record",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(f"eikon_engine.{_MODULES[name]}"), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
