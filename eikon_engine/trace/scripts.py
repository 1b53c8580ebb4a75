"""The scripts that a trace holds: they run in the pages of a replay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.files.origins import url_scheme
from eikon_engine.trace.actions import Evaluate, FunctionCondition, Navigate, WaitFor
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.steps import iter_steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.execution import ExecutionTrace


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """One script."""

    step: str
    """Id of the step that runs it."""
    kind: str
    """Type of the action."""
    text: str

    @property
    def first_line(self) -> str:
        """Return the first line that has a text."""
        return next((line.strip() for line in self.text.splitlines() if line.strip()), "")


def action_script(action: Action) -> str | None:
    """Return the script that an action runs; None if it runs none."""
    match action:
        case Evaluate(expression=text) | WaitFor(condition=FunctionCondition(expression=text)):
            return text
        case Navigate(url=url) if url_scheme(url) == "javascript":
            return url
        case _:
            return None


def trace_scripts(trace: ExecutionTrace) -> Iterator[Script]:
    """Yield the scripts of a trace, in order."""
    for _, step in iter_steps(trace):
        text = action_script(step.action) if isinstance(step, ActionTrace) else None
        if text is not None and isinstance(step, ActionTrace):
            yield Script(step=step.id, kind=step.action.type, text=text)
