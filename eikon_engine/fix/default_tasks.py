"""The built-in tasks: the debug loop and its steps."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.analysis.analyse import analyze_run
from eikon_engine.fix.generate import generate_fix
from eikon_engine.fix.memory.memory_system import ContextFinder
from eikon_engine.fix.run_script import run_script
from eikon_engine.fix.step_values import AnalysisInput, ApplyFixInput, ContextQuery, FixRequest, RunScriptInput
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
    from eikon_engine.fix.application import AppliedFix, Applier

LOOP_TASK: Final = LoopTask(
    name=DEBUG_LOOP,
    summary="Run tests and fix failures until they pass or the cycle limit is reached.",
    parameters=(
        Parameter(name="test_cmd", summary="command that runs the tests", required=True),
        Parameter(name="target_files", summary="JSON list of the files that a fix may change"),
        Parameter(name="max_cycles", summary="maximum number of fixes to try (3)"),
        Parameter(name="timeout", summary="timeout of one test run in seconds (600)"),
        Parameter(name="applier", summary="how fixes are applied: blocks or aider (blocks)"),
        Parameter(name="keep", summary="true: keep fixes that helped even if tests still fail (false)"),
        Parameter(name="allow_dirty", summary="true: start with uncommitted changes (false)"),
    ),
    steps=STEPS,
)


STEP_SUMMARIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        RUN_SCRIPT.name: "Run a test command.",
        ANALYZE.name: "Extract the failures of a test run.",
        GET_CONTEXT.name: "Find the code relevant to a failure.",
        GENERATE_FIX.name: "Ask a model for a fix.",
        APPLY_FIX.name: "Apply a fix to the files.",
    }
)
"""Summary of each step by name."""


def default_tasks(client: CompletionClient, applier: Applier) -> TaskRegistry:
    """Return the debug loop and its steps; `client` generates fixes and `applier` applies them."""

    def apply(order: ApplyFixInput) -> AppliedFix:
        return applier.apply(order.fix, order.tree, order.targets)

    steps: tuple[tuple[str, type, Callable[..., object]], ...] = (
        (RUN_SCRIPT.name, RunScriptInput, run_script),
        (ANALYZE.name, AnalysisInput, analyze_run),
        (GET_CONTEXT.name, ContextQuery, ContextFinder().find),
        (GENERATE_FIX.name, FixRequest, partial(generate_fix, client)),
        (APPLY_FIX.name, ApplyFixInput, apply),
    )
    atomic = (
        AtomicTask(name=name, summary=STEP_SUMMARIES[name], input_type=takes, run=perform)
        for name, takes, perform in steps
    )
    return TaskRegistry((LOOP_TASK, *atomic))
