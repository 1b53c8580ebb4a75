"""Replay recorded missions.

Public names are imported lazily, so `python -m eikon_engine.replay --help` starts fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eikon_engine.errors import ReplayDivergenceError, ReplayError
    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.outcome.outcomes import ActionOutcome, ReplayOutcome, SkillOutcome, SubgoalOutcome
    from eikon_engine.replay.engine import ReplayEngine
    from eikon_engine.replay.options import Controller, Halt, Proceed, ReplayOptions
    from eikon_engine.replay.replay_engine import ReplayConfig as ReplayConfig
    from eikon_engine.replay.replay_engine import ReplaySummary as ReplaySummary

__all__ = [
    "ActionOutcome",
    "Controller",
    "Divergence",
    "Halt",
    "Proceed",
    "ReplayDivergenceError",
    "ReplayEngine",
    "ReplayError",
    "ReplayOptions",
    "ReplayOutcome",
    "SkillOutcome",
    "SubgoalOutcome",
]

# ReplayConfig and ReplaySummary are older names: docs/old-names.md.
_MODULES = {
    "ActionOutcome": "eikon_engine.outcome.outcomes",
    "Controller": "eikon_engine.replay.options",
    "Divergence": "eikon_engine.outcome.divergence",
    "Halt": "eikon_engine.replay.options",
    "Proceed": "eikon_engine.replay.options",
    "ReplayConfig": "eikon_engine.replay.replay_engine",
    "ReplayDivergenceError": "eikon_engine.errors",
    "ReplayEngine": "eikon_engine.replay.engine",
    "ReplayError": "eikon_engine.errors",
    "ReplayOptions": "eikon_engine.replay.options",
    "ReplayOutcome": "eikon_engine.outcome.outcomes",
    "ReplaySummary": "eikon_engine.replay.replay_engine",
    "SkillOutcome": "eikon_engine.outcome.outcomes",
    "SubgoalOutcome": "eikon_engine.outcome.outcomes",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
