"""The debug loop: run tests, analyze the failure, fix the code, run the tests again."""

from eikon_engine.fix.debug_loop import debug_loop
from eikon_engine.fix.models import LoopNotes, TaskResult
from eikon_engine.fix.options import LoopOptions

__all__ = ["LoopNotes", "LoopOptions", "TaskResult", "debug_loop"]
