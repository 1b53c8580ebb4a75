"""Accept the results of a rerun as the new outputs of a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from eikon_engine.errors import TraceFieldError
from eikon_engine.trace.execution import Result, SkillUsage, Succeeded
from eikon_engine.trace.located import locate_step, replace_step
from eikon_engine.trace.record import FileModel, FiniteJson

if TYPE_CHECKING:
    from eikon_engine.trace.execution import ExecutionTrace


class SetSkillOutput(FileModel):
    """Set a new baseline output of a skill."""

    kind: Literal["set_skill_output"] = "set_skill_output"
    skill: str
    """Id of the skill usage."""
    version: int | None
    """Version of the skill that produced it."""
    result: Result
    output: FiniteJson = None
    """What the skill returned; null if it failed."""
    reason: str = Field(min_length=1)


class SetPageIntent(FileModel):
    """Change the classification of a page in an older recording."""

    kind: Literal["set_page_intent"] = "set_page_intent"
    page_intent: str
    """Id of the page intent."""
    intent: str
    confidence: float
    signals: tuple[FiniteJson, ...] = ()
    reason: str = Field(min_length=1)


def set_skill_output(trace: ExecutionTrace, operation: SetSkillOutput) -> ExecutionTrace:
    """Return a trace with a new output of a skill.

    Raises:
        TraceFieldError: there is no such skill usage.
    """
    usage = locate_step(trace, operation.skill).step
    if not isinstance(usage, SkillUsage):
        message = f"patch: expected a skill usage with the id {operation.skill!r}, got another step; use another id"
        raise TraceFieldError(message)
    update = {
        "version": operation.version,
        "result": operation.result,
        "output": operation.output,
        "output_recorded": isinstance(operation.result, Succeeded),
    }
    return replace_step(trace, usage, usage.model_copy(update=update))


def set_page_intent(trace: ExecutionTrace, operation: SetPageIntent) -> ExecutionTrace:
    """Return a trace with a new classification of a page.

    Raises:
        TraceFieldError: the id is missing or not unique.
    """
    found = [each for each in trace.page_intents if each.id == operation.page_intent]
    if len(found) != 1:
        message = (
            f"patch: expected one page intent with the id {operation.page_intent!r} in the trace, got {len(found)}; "
            "use another id"
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
