"""Tool calls that are executed without recording, and the errors of tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.errors import EikonError, ToolError
from eikon_engine.scenario.fixture import ToolFailureRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from eikon_engine.scenario.stored_result import ToolResultValue


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
