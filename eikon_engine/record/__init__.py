"""Record missions."""

from eikon_engine.record.open_recorder import open_recorder
from eikon_engine.record.options import RecordOptions
from eikon_engine.record.recorder import MissionRecorder

__all__ = ["MissionRecorder", "RecordOptions", "open_recorder"]
