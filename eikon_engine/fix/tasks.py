"""Tasks of the debug loop by name: steps that map a value to a value, and loops composed of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar, cast

from eikon_engine.errors import EikonError, StepFailedError, UnknownTaskError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from eikon_engine.fix.application import Application
    from eikon_engine.fix.context import Context
    from eikon_engine.fix.failure import Analysis
    from eikon_engine.fix.proposal import Proposal
    from eikon_engine.fix.step_values import ContextQuery, FixOrder, FixQuestion, ScriptRun, TestOutput
    from eikon_engine.fix.test_run import TestRun

Taken = TypeVar("Taken")
Returned = TypeVar("Returned")


@dataclass(frozen=True, slots=True)
class Step(Generic[Taken, Returned]):
    """The name of an atomic task, with its input and output types."""

    name: str


RUN_SCRIPT: Final[Step[ScriptRun, TestRun]] = Step("system:run_script")
ANALYZE: Final[Step[TestOutput, Analysis]] = Step("debug:analyze_test_results")
GET_CONTEXT: Final[Step[ContextQuery, Context]] = Step("system:get_context")
GENERATE_FIX: Final[Step[FixQuestion, Proposal]] = Step("debug:generate_fix")
APPLY_FIX: Final[Step[FixOrder, Application]] = Step("fix:apply")
STEPS: Final = (RUN_SCRIPT.name, ANALYZE.name, GET_CONTEXT.name, GENERATE_FIX.name, APPLY_FIX.name)
"""The steps of a cycle, in order."""
DEBUG_LOOP: Final = "debug:loop"


@dataclass(frozen=True, slots=True, kw_only=True)
class AtomicTask:
    """A step: one value in, one value out."""

    name: str
    summary: str
    takes: type[Any]
    perform: Callable[[Any], Any]


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
            UnknownTaskError: no task has that name.
        """
        if name not in self._tasks:
            message = f"unknown task {name!r}: expected one of {', '.join(sorted(self._tasks))}."
            raise UnknownTaskError(message)
        return self._tasks[name]

    def replacing(self, task: Task) -> TaskRegistry:
        """Return a registry in which `task` replaces the task of the same name.

        Raises:
            UnknownTaskError: no task has that name.
        """
        self.find(task.name)
        return TaskRegistry(task if each.name == task.name else each for each in self._tasks.values())

    def perform(self, step: Step[Taken, Returned], value: Taken) -> Returned:
        """Run an atomic task.

        Raises:
            StepFailedError: it failed; its error is the cause.
            UnknownTaskError: no task has that name.
        """
        task = self.find(step.name)
        if not isinstance(task, AtomicTask) or not isinstance(value, task.takes):
            message = f"{step.name}: expected an atomic task that takes a {type(value).__name__}, got another."
            raise UsageError(message)
        try:
            return cast("Returned", task.perform(value))
        except EikonError as error:
            raise StepFailedError(step.name, error) from error
