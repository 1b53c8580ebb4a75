"""Interfaces of tool calls: executed directly, executed and recorded, or served from a recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from eikon_engine.errors import ToolError
    from eikon_engine.scenario.fixture import ToolFailureRecord
    from eikon_engine.scenario.stored_result import ToolResultValue


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallStart:
    """A tool call before its execution; secrets are redacted."""

    call_id: str
    """Unique in the run."""
    tool: str
    args: dict[str, JsonValue]
    args_hash: str
    occurrence: int
    """Number among the calls with equal arguments, from 1."""
    order: int
    """Number among all calls of the run, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallEnd:
    """A finished tool call, executed or served from a fixture; secrets are redacted."""

    start: ToolCallStart
    source: Literal["executed", "fixture"]
    result: JsonValue
    """In the format of fixtures."""
    error: ToolFailureRecord | None
    latency_ms: float


class ToolCallObserver(Protocol):
    """Observe tool calls; an exception aborts the call."""

    def on_call_started(self, made: ToolCallStart) -> None:
        """Handle a call before its execution."""

    def on_call_finished(self, answered: ToolCallEnd) -> None:
        """Handle a finished call."""


class NullObserver:
    """Ignore all calls."""

    def on_call_started(self, made: ToolCallStart) -> None:
        """Do nothing."""

    def on_call_finished(self, answered: ToolCallEnd) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class RecordedResult:
    """A recorded result."""

    result: ToolResultValue = None
    error: ToolError | None = None

    def get(self) -> ToolResultValue:
        """Return the result, or raise what the tool raised."""
        if self.error is not None:
            raise self.error
        return self.result


class OpenCall(Protocol):
    """One call in execution."""

    def succeed(self, result: ToolResultValue) -> ToolResultValue:
        """Store the result of the tool, and return the one for the agent.

        Raises:
            ResultNotStorableError: it cannot be stored.
        """

    def fail(self, error: Exception | SystemExit) -> ToolError:
        """Store the exception of the tool, and return the one to raise instead."""


class CallHandler(Protocol):
    """Handle the tool calls of one run; thread-safe."""

    def start_call(self, tool: str, args: Mapping[str, JsonValue]) -> RecordedResult | OpenCall:
        """Start a call of an allowed tool.

        Raises:
            ToolArgumentsError: the arguments cannot be stored.
            FixtureMissingError: a replay has no fixture for this call.
        """

    @property
    def is_replay(self) -> bool:
        """Return whether results come from a recording, so that no tool is needed."""
