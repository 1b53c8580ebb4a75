"""The debug loop: run tests, analyze the failure, fix the code, run the tests again."""

from eikon_engine.fix.loop_options import LoopOptions
from eikon_engine.fix.run_loop import debug_loop
from eikon_engine.fix.task_result import LoopNotes, TaskResult

__all__ = ["LoopNotes", "LoopOptions", "TaskResult", "debug_loop"]
