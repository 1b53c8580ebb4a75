"""Replay recorded missions.

Public names are imported lazily, so `python -m eikon_engine.replay --help` starts fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eikon_engine.replay.engine import ReplayEngine
    from eikon_engine.replay.options import ReplayOptions

__all__ = ["ReplayEngine", "ReplayOptions"]

_MODULES = {"ReplayEngine": "engine", "ReplayOptions": "options"}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(f"eikon_engine.replay.{_MODULES[name]}"), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
