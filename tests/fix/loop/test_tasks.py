"""The registry of tasks, and loops with custom steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from eikon_engine.errors import FixError, FixTaskFailedError, RequirementError, UsageError
from eikon_engine.fix import LoopOptions, debug_loop
from eikon_engine.fix import session as cycle_log
from eikon_engine.fix.appliers.blocks import BlocksApplier
from eikon_engine.fix.models import Context, ContextQuery
from eikon_engine.fix.tasks import (
    DEBUG_LOOP,
    GET_CONTEXT,
    LOOP_TASK,
    RUN_SCRIPT,
    STEPS,
    AtomicTask,
    LoopTask,
    TaskRegistry,
    default_tasks,
)
from eikon_engine.llm import EchoClient
from tests.error_codes import has_code
from tests.fix.loop.projects import PRICE_PROJECT, make_project


@pytest.fixture
def tasks() -> TaskRegistry:
    """Return the default tasks, with a model that only echoes."""
    return default_tasks(EchoClient(), BlocksApplier())


def failing(query: object) -> Context:
    """Fail, as a lookup may."""
    message = f"{type(query).__name__}: wanted an index, found none; make one"
    raise FixError(message)


FAILS = AtomicTask(name=GET_CONTEXT.name, summary="Fail.", input_type=ContextQuery, run=failing)


def test_the_loop_is_a_director_of_five_steps(tasks: TaskRegistry) -> None:
    """debug:loop is registered with its steps, each of which is a task."""
    loop = tasks.find(DEBUG_LOOP)

    assert isinstance(loop, LoopTask)
    assert loop.steps == STEPS
    assert {task.name for task in tasks.tasks} == {DEBUG_LOOP, *STEPS}


def test_an_incomplete_registry_is_refused(tasks: TaskRegistry) -> None:
    """Duplicate names, a loop without its steps, and unknown names are refused."""
    with pytest.raises(UsageError, match="expected unique task names, got two"):
        TaskRegistry((*tasks.tasks, FAILS))
    with pytest.raises(UsageError, match=r"debug:loop: the atomic task system:run_script is missing"):
        TaskRegistry((LOOP_TASK,))
    with pytest.raises(RequirementError, match="unknown task 'debug:lop'", check=has_code("unknown-task")):
        tasks.find("debug:lop")


def test_a_step_refuses_a_value_of_another_type(tasks: TaskRegistry) -> None:
    """A value of another type is refused before the step sees it."""
    with pytest.raises(UsageError, match="expected an atomic task that takes a str"):
        tasks.run(RUN_SCRIPT, "pytest")  # type: ignore[misc]


def test_a_failure_names_its_step(tasks: TaskRegistry, tmp_path: Path) -> None:
    """A critical error in a lookup ends the loop at that step; other registries are not affected."""
    other = TaskRegistry(FAILS if each.name == FAILS.name else each for each in tasks.tasks)
    project = make_project(tmp_path / "shop", PRICE_PROJECT)

    options = LoopOptions(
        test_cmd="cat $(ls); exit 1", allow=("*.py",), cwd=project, sessions_dir=tmp_path / "sessions"
    )
    result = debug_loop(options, client=EchoClient(), tasks=other)

    assert result.notes.failed_step == "system:get_context"
    assert result.notes.failure is not None
    assert result.notes.failure.message == "ContextQuery: wanted an index, found none; make one"
    assert tasks.find(GET_CONTEXT.name) != FAILS
    with pytest.raises(FixTaskFailedError, match=r"^system:get_context: ContextQuery: wanted"):
        other.run(
            GET_CONTEXT,
            ContextQuery(
                analysis=result.notes.history[0].analysis,  # type: ignore[arg-type]
                targets=(),
                tree=project,
                history=None,
                token_budget=1,
            ),
        )


def test_a_long_step_reports_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """During a long step, its name and elapsed time are reported repeatedly."""
    monkeypatch.setattr(cycle_log, "PROGRESS_INTERVAL_SECONDS", 0.05)
    lines: list[str] = []

    (tmp_path / "shop").mkdir()
    options = LoopOptions(
        test_cmd="sleep 0.3", cwd=tmp_path / "shop", sessions_dir=tmp_path / "sessions", on_progress=lines.append
    )
    debug_loop(options, client=EchoClient())

    assert sum("system:run_script still running after" in line for line in lines) > 1
