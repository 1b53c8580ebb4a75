"""What became of each replay, and what that says of a mission. The database itself, an extra, is in `database`."""

from eikon_engine.history.pending import HistoryPlace, add_pending, find_history
from eikon_engine.history.runs import HistoryRun, Quarantine, find_build, summarize_run
from eikon_engine.history.stability import MissionHistory, summarize_mission

__all__ = [
    "HistoryPlace",
    "HistoryRun",
    "MissionHistory",
    "Quarantine",
    "add_pending",
    "find_build",
    "find_history",
    "summarize_mission",
    "summarize_run",
]
