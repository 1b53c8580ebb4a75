"""New outputs of skills in a trace, as data: what a rerun gave, accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from eikon_engine.errors import TraceFieldError
from eikon_engine.trace.execution import Result, SkillUsage, Succeeded
from eikon_engine.trace.located import locate, replaced
from eikon_engine.trace.record import FiniteJson, Record

if TYPE_CHECKING:
    from eikon_engine.trace.execution import ExecutionTrace


class SetSkillOutput(Record):
    """Compare a skill with another output from now on: a new baseline."""

    kind: Literal["set_skill_output"] = "set_skill_output"
    skill: str
    """Id of the use of the skill."""
    version: int | None
    """Version of the skill that gave it."""
    result: Result
    output: FiniteJson = None
    """What the skill returned; null where it failed."""
    reason: str = Field(min_length=1)


class SetPageIntent(Record):
    """Take a page for something else than an older recording did."""

    kind: Literal["set_page_intent"] = "set_page_intent"
    page_intent: str
    """Id of the page intent."""
    intent: str
    confidence: float
    signals: tuple[FiniteJson, ...] = ()
    reason: str = Field(min_length=1)


def set_skill_output(trace: ExecutionTrace, operation: SetSkillOutput) -> ExecutionTrace:
    """Return a trace in which a skill gave another output.

    Raises:
        TraceFieldError: there is no such use of a skill.
    """
    usage = locate(trace, operation.skill).step
    if not isinstance(usage, SkillUsage):
        message = f"patch: wanted a use of a skill with the id {operation.skill!r}, found something else; name another"
        raise TraceFieldError(message)
    update = {
        "version": operation.version,
        "result": operation.result,
        "output": operation.output,
        "output_recorded": isinstance(operation.result, Succeeded),
    }
    return replaced(trace, usage, usage.model_copy(update=update))


def set_page_intent(trace: ExecutionTrace, operation: SetPageIntent) -> ExecutionTrace:
    """Return a trace in which a page is taken for something else.

    Raises:
        TraceFieldError: there is not one page intent with the id.
    """
    found = [each for each in trace.page_intents if each.id == operation.page_intent]
    if len(found) != 1:
        message = (
            f"patch: wanted one page intent with the id {operation.page_intent!r} in the trace, found {len(found)}; "
            "name another"
        )
        raise TraceFieldError(message)
    update = {
        "intent": operation.intent,
        "confidence": operation.confidence,
        "signals": operation.signals,
        "strategy": None,
    }
    changed = tuple(each.model_copy(update=update) if each is found[0] else each for each in trace.page_intents)
    return trace.model_copy(update={"page_intents": changed})
