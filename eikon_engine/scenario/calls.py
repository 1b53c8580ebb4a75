"""Interfaces of tool calls: executed directly, executed and recorded, or served from a recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from eikon_engine.errors import ToolError
    from eikon_engine.scenario.fixture import Failure
    from eikon_engine.scenario.stored_result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class CallMade:
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
class CallAnswered:
    """A finished tool call, executed or served from a fixture; secrets are redacted."""

    made: CallMade
    source: Literal["executed", "fixture"]
    result: JsonValue
    """In the format of fixtures."""
    error: Failure | None
    latency_ms: float


class Reader(Protocol):
    """Observe tool calls; an exception aborts the call."""

    def called(self, made: CallMade) -> None:
        """Handle a call before its execution."""

    def answered(self, answered: CallAnswered) -> None:
        """Handle a finished call."""


class SilentReader:
    """Ignore all calls."""

    def called(self, made: CallMade) -> None:
        """Do nothing."""

    def answered(self, answered: CallAnswered) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded result."""

    result: Result = None
    error: ToolError | None = None

    def give(self) -> Result:
        """Return the result, or raise what the tool raised."""
        if self.error is not None:
            raise self.error
        return self.result


class CallUnderWay(Protocol):
    """One call in execution."""

    def succeed(self, result: Result) -> Result:
        """Store the result of the tool, and return the one for the agent.

        Raises:
            ResultNotStorableError: it cannot be stored.
        """

    def fail(self, error: Exception | SystemExit) -> ToolError:
        """Store the exception of the tool, and return the one to raise instead."""


class Calls(Protocol):
    """Handle the tool calls of one run; thread-safe."""

    def begin(self, tool: str, args: Mapping[str, JsonValue]) -> Recorded | CallUnderWay:
        """Start a call of an allowed tool.

        Raises:
            ToolArgumentsError: the arguments cannot be stored.
            FixtureMissingError: a replay has no fixture for this call.
        """

    @property
    def is_replay(self) -> bool:
        """Return whether results come from a recording, so that no tool is needed."""
