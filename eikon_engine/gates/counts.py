"""Gates on counts: tool calls, actions, completions, tokens, divergences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from eikon_engine.gates.meter import Found, Run, was_performed
from eikon_engine.outcome.events import (
    ActionStart,
    ActionTaken,
    CompletionGiven,
    DivergenceFound,
    JournalLine,
    ToolCall,
)
from eikon_engine.trace.record import Record
from eikon_engine.trace.wording import counted

if TYPE_CHECKING:
    from eikon_engine.gates.meter import ValueOf


class MaxToolCalls(Record):
    """Limit the calls of all tools or of one tool; a call beyond the limit is not made."""

    gate: Literal["max_tool_calls"] = "max_tool_calls"
    limit: int = Field(ge=0)
    tool: str | None = Field(default=None, min_length=1)
    """None for all tools together."""
    shorthand: ClassVar[str] = "limit"

    def meter(self, _value_of: ValueOf) -> _Calls:
        """Start counting."""
        return _Calls(self)


class MaxActions(Record):
    """Limit the number of actions; an action beyond the limit is not performed."""

    gate: Literal["max_actions"] = "max_actions"
    limit: int = Field(ge=0)
    shorthand: ClassVar[str] = "limit"

    def meter(self, _value_of: ValueOf) -> _Actions:
        """Start counting."""
        return _Actions(self)


class MaxCompletions(Record):
    """Limit the completions of models, live or replayed; each counts once its response arrived."""

    gate: Literal["max_completions"] = "max_completions"
    limit: int = Field(ge=0)
    shorthand: ClassVar[str] = "limit"

    def meter(self, _value_of: ValueOf) -> _Completions:
        """Start counting."""
        return _Completions(self)


class MaxTokens(Record):
    """Limit the total tokens of prompts and responses, as reported by the models."""

    gate: Literal["max_tokens"] = "max_tokens"
    limit: int = Field(ge=0)
    shorthand: ClassVar[str] = "limit"

    def meter(self, _value_of: ValueOf) -> _Tokens:
        """Start counting."""
        return _Tokens(self)


class MaxDivergences(Record):
    """Limit the divergences from the recording."""

    gate: Literal["max_divergences"] = "max_divergences"
    limit: int = Field(ge=0)
    shorthand: ClassVar[str] = "limit"

    def meter(self, _value_of: ValueOf) -> _Divergences:
        """Start counting."""
        return _Divergences(self)


@dataclass(slots=True)
class _Calls:
    gate: MaxToolCalls
    run: Run = field(default_factory=Run)
    calls: int = 0
    """Calls of all tools."""
    count: int = 0

    def note(self, line: JournalLine) -> None:
        self.run.note(line.event)
        if isinstance(line.event, ToolCall):
            self.calls += 1
            self.count += self.gate.tool in (None, line.event.tool)

    def found(self) -> Found:
        what = "tool call" if self.gate.tool is None else f"call of {self.gate.tool}"
        plural = None if self.gate.tool is None else f"calls of {self.gate.tool}"
        if self.run.calls_nothing:
            return _unknown("the replay of a bundle calls no tools; evaluate the gate on the bundle")
        if self.run.kind == "mission" and not self.calls:
            return _unknown("no tool calls were reported to the recorder, which does not prove that there were none")
        return _at_most(self.gate.limit, self.count, what, plural)


@dataclass(slots=True)
class _Actions:
    """Count started actions, and finished ones without a start event, as in recordings."""

    gate: MaxActions
    begun: set[tuple[str, int]] = field(default_factory=set)

    def note(self, line: JournalLine) -> None:
        match line.event:
            case ActionStart(subgoal=subgoal, sequence=sequence):
                self.begun.add((subgoal, sequence))
            case ActionTaken(subgoal=subgoal, outcome=outcome) if was_performed(outcome):
                self.begun.add((subgoal, outcome.sequence))
            case _:
                pass

    def found(self) -> Found:
        return _at_most(self.gate.limit, len(self.begun), "action")


@dataclass(slots=True)
class _Completions:
    gate: MaxCompletions
    run: Run = field(default_factory=Run)
    count: int = 0

    def note(self, line: JournalLine) -> None:
        self.run.note(line.event)
        self.count += isinstance(line.event, CompletionGiven)

    def found(self) -> Found:
        unknown = _unasked(self.run, self.count)
        return unknown or _at_most(self.gate.limit, self.count, "completion")


@dataclass(slots=True)
class _Tokens:
    gate: MaxTokens
    run: Run = field(default_factory=Run)
    completions: int = 0
    count: int = 0
    untold: int = 0
    """Completions with missing token counts."""

    def note(self, line: JournalLine) -> None:
        self.run.note(line.event)
        if isinstance(line.event, CompletionGiven):
            self.completions += 1
            usage = line.event.usage
            counts = (usage.prompt_tokens, usage.completion_tokens)
            self.count += sum(count for count in counts if count is not None)
            self.untold += None in counts

    def found(self) -> Found:
        unknown = _unasked(self.run, self.completions)
        found = unknown or _at_most(self.gate.limit, self.count, "token")
        if found.passed and self.untold:
            message = f"{found.message}; {counted(self.untold, 'completion')} did not report token counts"
            return Found(passed=None, observed=self.count, message=message)
        return found


@dataclass(slots=True)
class _Divergences:
    gate: MaxDivergences
    run: Run = field(default_factory=Run)
    count: int = 0

    def note(self, line: JournalLine) -> None:
        self.run.note(line.event)
        self.count += isinstance(line.event, DivergenceFound)

    def found(self) -> Found:
        if self.run.kind in {"mission", "scenario_record"}:
            return _unknown("a recording compares nothing")
        found = _at_most(self.gate.limit, self.count, "divergence")
        if found.passed and self.run.end is not None and self.run.end.how != "complete":
            message = f"{found.message}; the run ended early, so later divergences are unknown"
            return Found(passed=None, observed=self.count, message=message)
        return found


def _unasked(run: Run, completions: int) -> Found | None:
    """Return why completions cannot be counted; None if they can."""
    if run.calls_nothing:
        return _unknown("the replay of a bundle calls no models; evaluate the gate on the bundle")
    if run.kind == "mission" and not completions:
        return _unknown("no completions were reported to the recorder, which does not prove that there were none")
    return None


def _at_most(limit: int, count: int, what: str, plural: str | None = None) -> Found:
    name = f"{count} {plural}" if plural is not None and count != 1 else counted(count, what)
    return Found(passed=count <= limit, observed=count, message=f"{name}, at most {limit}")


def _unknown(why: str) -> Found:
    return Found(passed=None, observed=None, message=why)
