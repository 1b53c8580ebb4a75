"""Interfaces of tool calls, their observers, and execution without recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from eikon_engine.errors import EikonError, ToolError
from eikon_engine.scenario.fixtures import ToolFailureRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from eikon_engine.llm import ServedResponse
    from eikon_engine.scenario.fixtures import ToolResultValue


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
            RequirementError: a replay has no fixture for this call.
        """

    @property
    def is_replay(self) -> bool:
        """Return whether results come from a recording, so that no tool is needed."""


class CallObserver(Protocol):
    """Observe the calls of tools and models."""

    def on_call_started(self, made: ToolCallStart) -> None:
        """Handle a tool call before its execution."""

    def on_call_finished(self, answered: ToolCallEnd) -> None:
        """Handle a finished tool call."""

    def on_completion(self, answered: ServedResponse) -> None:
        """Handle the response of a model."""


class CallObservers:
    """Forward calls to several readers, in order."""

    def __init__(self, *readers: CallObserver) -> None:
        """Start with these readers."""
        self._readers = list(readers)

    def add(self, reader: CallObserver) -> None:
        """Add a reader."""
        self._readers.append(reader)

    def on_call_started(self, made: ToolCallStart) -> None:
        """Forward a tool call."""
        for reader in self._readers:
            reader.on_call_started(made)

    def on_call_finished(self, answered: ToolCallEnd) -> None:
        """Forward a finished tool call."""
        for reader in self._readers:
            reader.on_call_finished(answered)

    def on_completion(self, answered: ServedResponse) -> None:
        """Forward the response of a model."""
        for reader in self._readers:
            reader.on_completion(answered)


class DirectCalls:
    """Execute every call without recording."""

    is_replay = False

    def start_call(self, tool: str, args: Mapping[str, JsonValue]) -> DirectCall:  # noqa: ARG002 - same for every call
        """Start a call."""
        return DirectCall(tool)


class DirectCall:
    """A call that is not recorded."""

    def __init__(self, tool: str) -> None:
        """Start the call of a tool."""
        self._tool = tool

    def succeed(self, result: ToolResultValue) -> ToolResultValue:
        """Return the result."""
        return result

    def fail(self, error: Exception | SystemExit) -> ToolError:
        """Return the public error."""
        return tool_error(self._tool, describe_failure(error))


def describe_failure(error: Exception | SystemExit) -> ToolFailureRecord:
    """Describe the exception of a tool; `sys.exit` counts as one."""
    message = error.message if isinstance(error, EikonError) else str(error)
    code = getattr(error, "code", None)
    return ToolFailureRecord(type=type(error).__name__, code=code if isinstance(code, str) else None, message=message)


def tool_error(tool: str, failure: ToolFailureRecord) -> ToolError:
    """Return the error to raise for a failure, executed or recorded."""
    return ToolError(tool, failure.type, failure.message, failure.code)
