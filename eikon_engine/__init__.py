"""Eikon Engine: record browser missions, replay them deterministically, explain where they diverge.

Public names are imported on first access, so importing the package is cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eikon_engine.errors import EikonError, ReplayDivergenceError, ReplayError
    from eikon_engine.record import AttachOptions, MissionRecorder, RecordOptions, open_recorder, record_mission
    from eikon_engine.replay import ReplayEngine, ReplayOptions
    from eikon_engine.scenario import AgentRun, RunOptions, Tool, ToolBox, open_run
    from eikon_engine.trace.serializer import ExecutionTraceSerializer

__all__ = [
    "AgentRun",
    "AttachOptions",
    "EikonError",
    "ExecutionTraceSerializer",
    "MissionRecorder",
    "RecordOptions",
    "ReplayDivergenceError",
    "ReplayEngine",
    "ReplayError",
    "ReplayOptions",
    "RunOptions",
    "Tool",
    "ToolBox",
    "open_recorder",
    "open_run",
    "record_mission",
]

_MODULES = {
    "AgentRun": "scenario",
    "AttachOptions": "record",
    "EikonError": "errors",
    "ExecutionTraceSerializer": "trace.serializer",
    "MissionRecorder": "record",
    "RecordOptions": "record",
    "ReplayDivergenceError": "errors",
    "ReplayEngine": "replay",
    "ReplayError": "errors",
    "ReplayOptions": "replay",
    "RunOptions": "scenario",
    "Tool": "scenario",
    "ToolBox": "scenario",
    "open_recorder": "record",
    "open_run": "scenario",
    "record_mission": "record",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(f"eikon_engine.{_MODULES[name]}"), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
