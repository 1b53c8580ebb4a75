"""The tasks that there are."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.analysis.analyse import analyse
from eikon_engine.fix.generate import generate_fix
from eikon_engine.fix.memory.memory_system import MemorySystem
from eikon_engine.fix.run_script import run_script
from eikon_engine.fix.step_values import ContextQuery, FixOrder, FixQuestion, ScriptRun, TestOutput
from eikon_engine.fix.tasks import (
    ANALYZE,
    APPLY_FIX,
    DEBUG_LOOP,
    GENERATE_FIX,
    GET_CONTEXT,
    RUN_SCRIPT,
    STEPS,
    AtomicTask,
    LoopTask,
    Parameter,
    TaskRegistry,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eikon_engine.completions import CompletionClient
    from eikon_engine.fix.application import Application, Applier

LOOP_TASK: Final = LoopTask(
    name=DEBUG_LOOP,
    summary="Run tests, and mend what fails, until they pass or the cycles are used up.",
    parameters=(
        Parameter(name="test_cmd", summary="command that runs the tests", required=True),
        Parameter(name="target_files", summary="JSON list of the files that may be changed"),
        Parameter(name="max_cycles", summary="how many fixes are tried at most (3)"),
        Parameter(name="timeout", summary="seconds that one run of the tests may take (600)"),
        Parameter(name="applier", summary="what applies fixes: blocks or aider (blocks)"),
        Parameter(name="keep", summary="true: keep what helped, also where tests still fail (false)"),
        Parameter(name="allow_dirty", summary="true: begin with changes that are not committed (false)"),
    ),
    steps=STEPS,
)


SUMMARIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        RUN_SCRIPT.name: "Run a test command.",
        ANALYZE.name: "Read what a test run says.",
        GET_CONTEXT.name: "Find the code that belongs to a failure.",
        GENERATE_FIX.name: "Ask a model for a fix.",
        APPLY_FIX.name: "Change files as a fix says.",
    }
)
"""What each step does, by its name."""


def default_tasks(client: CompletionClient, applier: Applier) -> TaskRegistry:
    """Return the debug loop and its steps, which ask `client` for fixes and have `applier` apply them."""

    def apply(order: FixOrder) -> Application:
        return applier.apply(order.fix, order.tree, order.targets)

    steps: tuple[tuple[str, type, Callable[..., object]], ...] = (
        (RUN_SCRIPT.name, ScriptRun, run_script),
        (ANALYZE.name, TestOutput, analyse),
        (GET_CONTEXT.name, ContextQuery, MemorySystem().look_up),
        (GENERATE_FIX.name, FixQuestion, partial(generate_fix, client)),
        (APPLY_FIX.name, FixOrder, apply),
    )
    atomic = (
        AtomicTask(name=name, summary=SUMMARIES[name], takes=takes, perform=perform) for name, takes, perform in steps
    )
    return TaskRegistry((LOOP_TASK, *atomic))
