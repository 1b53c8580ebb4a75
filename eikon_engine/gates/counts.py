"""Gates on counts: tool calls, actions, completions, tokens, divergences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from eikon_engine.files.models import FileModel
from eikon_engine.files.text import pluralize
from eikon_engine.gates.meter import GateReading, RunState, was_performed
from eikon_engine.outcome.events import (
    ActionPerformed,
    ActionStart,
    CompletionReceived,
    DivergenceFound,
    EventLine,
    ToolCall,
)

if TYPE_CHECKING:
    from eikon_engine.gates.meter import ResolveValue


class MaxToolCalls(FileModel):
    """Limit the calls of all tools or of one tool; a call beyond the limit is not made."""

    gate: Literal["max_tool_calls"] = "max_tool_calls"
    limit: int = Field(ge=0)
    tool: str | None = Field(default=None, min_length=1)
    """None for all tools together."""
    shorthand: ClassVar[str] = "limit"

    def meter(self, _value_of: ResolveValue) -> _ToolCallMeter:
        """Start counting."""
        return _ToolCallMeter(self)


class MaxActions(FileModel):
    """Limit the number of actions; an action beyond the limit is not performed."""

    gate: Literal["max_actions"] = "max_actions"
    limit: int = Field(ge=0)
    shorthand: ClassVar[str] = "limit"

    def meter(self, _value_of: ResolveValue) -> _ActionMeter:
        """Start counting."""
        return _ActionMeter(self)


class MaxCompletions(FileModel):
    """Limit the completions of models, live or replayed; each counts once its response arrived."""

    gate: Literal["max_completions"] = "max_completions"
    limit: int = Field(ge=0)
    shorthand: ClassVar[str] = "limit"

    def meter(self, _value_of: ResolveValue) -> _CompletionMeter:
        """Start counting."""
        return _CompletionMeter(self)


class MaxTokens(FileModel):
    """Limit the total tokens of prompts and responses, as reported by the models."""

    gate: Literal["max_tokens"] = "max_tokens"
    limit: int = Field(ge=0)
    shorthand: ClassVar[str] = "limit"

    def meter(self, _value_of: ResolveValue) -> _TokenMeter:
        """Start counting."""
        return _TokenMeter(self)


class MaxDivergences(FileModel):
    """Limit the divergences from the recording."""

    gate: Literal["max_divergences"] = "max_divergences"
    limit: int = Field(ge=0)
    shorthand: ClassVar[str] = "limit"

    def meter(self, _value_of: ResolveValue) -> _DivergenceMeter:
        """Start counting."""
        return _DivergenceMeter(self)


@dataclass(slots=True)
class _ToolCallMeter:
    gate: MaxToolCalls
    run: RunState = field(default_factory=RunState)
    calls: int = 0
    """Calls of all tools."""
    count: int = 0

    def process(self, line: EventLine) -> None:
        self.run.process(line.event)
        if isinstance(line.event, ToolCall):
            self.calls += 1
            self.count += self.gate.tool in (None, line.event.tool)

    def reading(self) -> GateReading:
        what = "tool call" if self.gate.tool is None else f"call of {self.gate.tool}"
        plural = None if self.gate.tool is None else f"calls of {self.gate.tool}"
        if self.run.is_bundle_replay:
            return _unknown_reading("the replay of a bundle calls no tools; evaluate the gate on the bundle")
        if self.run.kind == "mission" and not self.calls:
            return _unknown_reading(
                "no tool calls were reported to the recorder, which does not prove that there were none"
            )
        return _limit_reading(self.gate.limit, self.count, what, plural)


@dataclass(slots=True)
class _ActionMeter:
    """Count started actions, and finished ones without a start event, as in recordings."""

    gate: MaxActions
    started: set[tuple[str, int]] = field(default_factory=set)

    def process(self, line: EventLine) -> None:
        match line.event:
            case ActionStart(subgoal=subgoal, sequence=sequence):
                self.started.add((subgoal, sequence))
            case ActionPerformed(subgoal=subgoal, outcome=outcome) if was_performed(outcome):
                self.started.add((subgoal, outcome.sequence))
            case _:
                pass

    def reading(self) -> GateReading:
        return _limit_reading(self.gate.limit, len(self.started), "action")


@dataclass(slots=True)
class _CompletionMeter:
    gate: MaxCompletions
    run: RunState = field(default_factory=RunState)
    count: int = 0

    def process(self, line: EventLine) -> None:
        self.run.process(line.event)
        self.count += isinstance(line.event, CompletionReceived)

    def reading(self) -> GateReading:
        unknown = _unknown_completions(self.run, self.count)
        return unknown or _limit_reading(self.gate.limit, self.count, "completion")


@dataclass(slots=True)
class _TokenMeter:
    gate: MaxTokens
    run: RunState = field(default_factory=RunState)
    completions: int = 0
    count: int = 0
    unreported: int = 0
    """Completions with missing token counts."""

    def process(self, line: EventLine) -> None:
        self.run.process(line.event)
        if isinstance(line.event, CompletionReceived):
            self.completions += 1
            usage = line.event.usage
            counts = (usage.prompt_tokens, usage.completion_tokens)
            self.count += sum(count for count in counts if count is not None)
            self.unreported += None in counts

    def reading(self) -> GateReading:
        unknown = _unknown_completions(self.run, self.completions)
        found = unknown or _limit_reading(self.gate.limit, self.count, "token")
        if found.passed and self.unreported:
            message = f"{found.message}; {pluralize(self.unreported, 'completion')} did not report token counts"
            return GateReading(passed=None, observed=self.count, message=message)
        return found


@dataclass(slots=True)
class _DivergenceMeter:
    gate: MaxDivergences
    run: RunState = field(default_factory=RunState)
    count: int = 0

    def process(self, line: EventLine) -> None:
        self.run.process(line.event)
        self.count += isinstance(line.event, DivergenceFound)

    def reading(self) -> GateReading:
        if self.run.kind in {"mission", "scenario_record"}:
            return _unknown_reading("a recording compares nothing")
        found = _limit_reading(self.gate.limit, self.count, "divergence")
        if found.passed and self.run.end is not None and self.run.end.how != "complete":
            message = f"{found.message}; the run ended early, so later divergences are unknown"
            return GateReading(passed=None, observed=self.count, message=message)
        return found


def _unknown_completions(run: RunState, completions: int) -> GateReading | None:
    """Return why completions cannot be counted; None if they can."""
    if run.is_bundle_replay:
        return _unknown_reading("the replay of a bundle calls no models; evaluate the gate on the bundle")
    if run.kind == "mission" and not completions:
        return _unknown_reading(
            "no completions were reported to the recorder, which does not prove that there were none"
        )
    return None


def _limit_reading(limit: int, count: int, what: str, plural: str | None = None) -> GateReading:
    name = f"{count} {plural}" if plural is not None and count != 1 else pluralize(count, what)
    return GateReading(passed=count <= limit, observed=count, message=f"{name}, at most {limit}")


def _unknown_reading(why: str) -> GateReading:
    return GateReading(passed=None, observed=None, message=why)
