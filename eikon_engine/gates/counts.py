"""Gates that count: tool calls, actions, completions, tokens, divergences."""

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
    """At most so many calls of tools, or of one tool; the call beyond them is not made."""

    gate: Literal["max_tool_calls"] = "max_tool_calls"
    limit: int = Field(ge=0)
    tool: str | None = Field(default=None, min_length=1)
    """None for all tools together."""
    shorthand: ClassVar[str] = "limit"

    def meter(self, _value_of: ValueOf) -> _Calls:
        """Begin to count."""
        return _Calls(self)


class MaxActions(Record):
    """At most so many actions; the action beyond them is not performed."""

    gate: Literal["max_actions"] = "max_actions"
    limit: int = Field(ge=0)
    shorthand: ClassVar[str] = "limit"

    def meter(self, _value_of: ValueOf) -> _Actions:
        """Begin to count."""
        return _Actions(self)


class MaxCompletions(Record):
    """At most so many answers of models, asked or replayed; known when the answer is there."""

    gate: Literal["max_completions"] = "max_completions"
    limit: int = Field(ge=0)
    shorthand: ClassVar[str] = "limit"

    def meter(self, _value_of: ValueOf) -> _Completions:
        """Begin to count."""
        return _Completions(self)


class MaxTokens(Record):
    """At most so many tokens in prompts and answers together, as the models count them."""

    gate: Literal["max_tokens"] = "max_tokens"
    limit: int = Field(ge=0)
    shorthand: ClassVar[str] = "limit"

    def meter(self, _value_of: ValueOf) -> _Tokens:
        """Begin to count."""
        return _Tokens(self)


class MaxDivergences(Record):
    """At most so many divergences from the recording."""

    gate: Literal["max_divergences"] = "max_divergences"
    limit: int = Field(ge=0)
    shorthand: ClassVar[str] = "limit"

    def meter(self, _value_of: ValueOf) -> _Divergences:
        """Begin to count."""
        return _Divergences(self)


@dataclass(slots=True)
class _Calls:
    gate: MaxToolCalls
    run: Run = field(default_factory=Run)
    calls: int = 0
    """Of all tools."""
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
            return _unknown("the replay of a bundle calls no tools; run the gate on the bundle")
        if self.run.kind == "mission" and not self.calls:
            return _unknown("the recording was told of no tool calls, which is no proof that there were none")
        return _at_most(self.gate.limit, self.count, what, plural)


@dataclass(slots=True)
class _Actions:
    """Count beginnings, and ends that had none: those of a recording, and of actions that were not performed."""

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
    """Completions of which not all tokens are known."""

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
            message = f"{found.message}; {counted(self.untold, 'completion')} did not say how many"
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
            return _unknown("nothing was compared: it is a recording")
        found = _at_most(self.gate.limit, self.count, "divergence")
        if found.passed and self.run.end is not None and self.run.end.how != "complete":
            message = f"{found.message}; the run ended early, and what would have come is not known"
            return Found(passed=None, observed=self.count, message=message)
        return found


def _unasked(run: Run, completions: int) -> Found | None:
    """Say why nothing is known of completions; None if something is."""
    if run.calls_nothing:
        return _unknown("the replay of a bundle asks no models; run the gate on the bundle")
    if run.kind == "mission" and not completions:
        return _unknown("the recording was told of no completions, which is no proof that there were none")
    return None


def _at_most(limit: int, count: int, what: str, plural: str | None = None) -> Found:
    name = f"{count} {plural}" if plural is not None and count != 1 else counted(count, what)
    return Found(passed=count <= limit, observed=count, message=f"{name}, at most {limit}")


def _unknown(why: str) -> Found:
    return Found(passed=None, observed=None, message=why)
