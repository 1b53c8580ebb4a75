"""The engine of replays under its older names; see `eikon_engine.replay.engine`."""

from __future__ import annotations

from eikon_engine.errors import ReplayDivergenceError, ReplayError
from eikon_engine.outcome.outcomes import ReplayOutcome as ReplaySummary
from eikon_engine.replay.engine import ReplayEngine
from eikon_engine.replay.options import ReplayOptions as ReplayConfig

__all__ = ["ReplayConfig", "ReplayDivergenceError", "ReplayEngine", "ReplayError", "ReplaySummary"]
