"""Tasks of the debug loop by name: steps that map a value to a value, and the loop composed of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar, cast

from eikon_engine.errors import EikonError, FixTaskFailedError, RequirementError, UsageError
from eikon_engine.fix.analysis.analyze_run import analyze_run
from eikon_engine.fix.generate_fix import generate_fix
from eikon_engine.fix.models import AnalysisInput, ApplyFixInput, ContextQuery, FixRequest, RunScriptInput
from eikon_engine.fix.retrieval.find_context import ContextFinder
from eikon_engine.fix.run_script import run_script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from eikon_engine.fix.models import Analysis, AppliedFix, Applier, Context, Proposal, TestRun
    from eikon_engine.llm import CompletionClient

Input = TypeVar("Input")
Output = TypeVar("Output")


@dataclass(frozen=True, slots=True)
class Step(Generic[Input, Output]):
    """The name of an atomic task, with its input and output types."""

    name: str


RUN_SCRIPT: Final[Step[RunScriptInput, TestRun]] = Step("system:run_script")
ANALYZE: Final[Step[AnalysisInput, Analysis]] = Step("debug:analyze_test_results")
GET_CONTEXT: Final[Step[ContextQuery, Context]] = Step("system:get_context")
GENERATE_FIX: Final[Step[FixRequest, Proposal]] = Step("debug:generate_fix")
APPLY_FIX: Final[Step[ApplyFixInput, AppliedFix]] = Step("fix:apply")
STEPS: Final = (RUN_SCRIPT.name, ANALYZE.name, GET_CONTEXT.name, GENERATE_FIX.name, APPLY_FIX.name)
"""The steps of a cycle, in order."""
DEBUG_LOOP: Final = "debug:loop"


@dataclass(frozen=True, slots=True, kw_only=True)
class AtomicTask:
    """A step: one value in, one value out."""

    name: str
    summary: str
    input_type: type[Any]
    run: Callable[[Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One `--name=value` of a task that can be called by name."""

    name: str
    summary: str
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopTask:
    """A director that runs steps, and an evaluator that decides from their results whether to continue."""

    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    steps: tuple[str, ...]


Task: TypeAlias = AtomicTask | LoopTask


class TaskRegistry:
    """Immutable set of tasks by name."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        """Register the tasks.

        Raises:
            UsageError: two tasks share a name, or a loop refers to a step that is not registered.
        """
        self._tasks: dict[str, Task] = {}
        for task in tasks:
            if task.name in self._tasks:
                message = f"{task.name}: expected unique task names, got two tasks of this name. Rename one."
                raise UsageError(message)
            self._tasks[task.name] = task
        for task in self._tasks.values():
            for step in task.steps if isinstance(task, LoopTask) else ():
                if not isinstance(self._tasks.get(step), AtomicTask):
                    message = f"{task.name}: the atomic task {step} is missing. Add it."
                    raise UsageError(message)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """Return all tasks, sorted by name."""
        return tuple(self._tasks[name] for name in sorted(self._tasks))

    def find(self, name: str) -> Task:
        """Return a task by name.

        Raises:
            RequirementError: no task has that name.
        """
        if name not in self._tasks:
            message = f"unknown task {name!r}: expected one of {', '.join(sorted(self._tasks))}."
            raise RequirementError(message, code="unknown-task")
        return self._tasks[name]

    def run(self, step: Step[Input, Output], value: Input) -> Output:
        """Run an atomic task.

        Raises:
            FixTaskFailedError: it failed; its error is the cause.
            RequirementError: no task has that name.
        """
        task = self.find(step.name)
        if not isinstance(task, AtomicTask) or not isinstance(value, task.input_type):
            message = f"{step.name}: expected an atomic task that takes a {type(value).__name__}, got another."
            raise UsageError(message)
        try:
            return cast("Output", task.run(value))
        except EikonError as error:
            raise FixTaskFailedError(step.name, error) from error


LOOP_TASK: Final = LoopTask(
    name=DEBUG_LOOP,
    summary="Run tests and fix failures until they pass or the cycle limit is reached.",
    parameters=(
        Parameter(name="test_cmd", summary="command that runs the tests", required=True),
        Parameter(name="target_files", summary="JSON list of the files that a fix may change"),
        Parameter(name="allow", summary="JSON list of patterns of files that a fix may change"),
        Parameter(name="protect", summary="JSON list of patterns of files that no fix may change"),
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
