"""List the steps of a mission, one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.errors import UsageError
from eikon_engine.files.text import pluralize, shorten
from eikon_engine.outcome.terminal import safe_lines
from eikon_engine.trace.actions import Evaluate, Expect, Read
from eikon_engine.trace.execution import ActionTrace, Blocked, Failed
from eikon_engine.trace.labels import step_label
from eikon_engine.trace.scripts import trace_scripts
from eikon_engine.trace.steps import locate_step
from eikon_engine.trace.target import identity_weakness

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.trace.execution import ExecutionTrace, Result, SubgoalTrace
    from eikon_engine.trace.steps import Step


_MAX_SCRIPT: Final = 80
"""Characters of a script that are shown."""


def render_listing(trace: ExecutionTrace) -> str:
    """Return the attempts and steps of a trace, with the ids that edits refer to."""
    return safe_lines(_listing_lines(trace))


def render_step(trace: ExecutionTrace, name: str) -> str:
    """Return one step or attempt as JSON.

    Raises:
        TraceFieldError: there is none with this id.
    """
    located = locate_step(trace, name)
    return (located.step or located.attempt).model_dump_json(indent=1) + "\n"


def require_one_format(*, step: str | None, as_json: bool) -> None:
    """Check that --json and a step are not combined.

    Raises:
        UsageError: both are given.
    """
    if step is not None and as_json:
        message = f"--json prints the whole trace, and a step is printed as JSON anyway; remove --json or {step}"
        raise UsageError(message)


def _listing_lines(trace: ExecutionTrace) -> Iterator[str]:
    steps = sum(len(attempt.steps) for attempt in trace.subgoal_traces)
    size = f"{pluralize(len(trace.subgoal_traces), 'attempt')}, {pluralize(steps, 'step')}"
    yield f"mission {trace.mission_id}: {trace.mission_text} [{trace.status}, {size}]"
    for name, value in trace.variables.items():
        yield f"variable {name}: {'must be provided' if value is None else repr(value)}"
    for number, attempt in enumerate(trace.subgoal_traces, start=1):
        yield from _attempt_lines(number, attempt)
    yield from _script_lines(trace)
    for warning in trace.warnings:
        yield f"warning: {warning}"


def _script_lines(trace: ExecutionTrace) -> Iterator[str]:
    """Yield the scripts that the trace runs in pages, with their first lines."""
    scripts = tuple(trace_scripts(trace))
    if not scripts:
        return
    yield f"scripts that run in pages: {len(scripts)}"
    width = max(len(script.step) for script in scripts)
    for script in scripts:
        size = pluralize(len(script.text), "character")
        yield f"  {script.step:<{width}}  {script.kind}, {size}: {shorten(script.first_line, _MAX_SCRIPT)}"


def _attempt_lines(number: int, attempt: SubgoalTrace) -> Iterator[str]:
    yield f"subgoal {number}: {attempt.description} [{attempt.id}, {attempt.status}]"
    width = max((len(step.id) for step in attempt.steps), default=0)
    for step in attempt.steps:
        notes = _step_notes(step)
        yield f"  {step.sequence:03d} {step.id:<{width}}  {step_label(step)}" + (
            f"  [{'; '.join(notes)}]" if notes else ""
        )


def _step_notes(step: Step) -> tuple[str, ...]:
    """Return notes about a step: its failure, and what a replay cannot verify."""
    result = _result_notes(step.result)
    if not isinstance(step, ActionTrace):
        return (*result, *(() if step.output_recorded else ("no recorded output",)))
    unobserved = step.observation is None and not isinstance(step.result, Blocked)
    return (*result, *_target_notes(step), *(("nothing recorded to compare with",) if unobserved else ()))


def _result_notes(result: Result) -> tuple[str, ...]:
    match result:
        case Failed(code=code):
            return (f"failed: {code}",)
        case Blocked():
            return ("not performed",)
        case _:
            return ()


def _target_notes(step: ActionTrace) -> tuple[str, ...]:
    notes = []
    if isinstance(step.action, Read | Evaluate | Expect):
        return ()
    for target in (getattr(step.action, name, None) for name in ("target", "to")):
        if target is None or not hasattr(target, "identity"):
            continue
        if target.identity is None:
            notes.append("element unknown")
        elif identity_weakness(target.identity) is not None:
            notes.append("weak: identified only by its position")
    return tuple(notes)
