"""Errors of tools, models, skills and gates."""

from __future__ import annotations

from eikon_engine.errors.root import EikonError


class ScenarioError(EikonError):
    """A scenario step cannot run with the results of the steps before it."""

    code = "scenario"
    exit_status = 1


class SkillError(EikonError):
    """The skill could not process the document."""

    code = "skill-failed"
    exit_status = 1


class GateExceededError(EikonError):
    """The run exceeded a gate."""

    code = "gate-failed"
    exit_status = 1


class ToolError(EikonError):
    """The failure of a tool; recording and replay raise the same one."""

    code = "tool-failed"
    exit_status = 1

    def __init__(self, tool: str, error_type: str, error_message: str, error_code: str | None = None) -> None:
        """Store the name of the tool, and the type, message and code of the error it raised."""
        detail = f"{error_type}: {error_message}" if error_message else error_type
        super().__init__(f"tool {tool} failed: {detail}")
        self.tool = tool
        self.error_type = error_type
        self.error_message = error_message
        self.error_code = error_code


class ResultNotStorableError(EikonError):
    """The result of a tool cannot be stored in a fixture."""

    code = "result-not-storable"
    exit_status = 1


class CompletionError(EikonError):
    """The model returned no answer; `code` is stored in the recorded response."""

    code = "completion-failed"
    exit_status = 1


class CompletionTimeoutError(CompletionError):
    """The model did not answer before the deadline."""

    code = "completion-timeout"


class CompletionUnreachableError(CompletionError):
    """The model server could not be reached, or closed the connection."""

    code = "completion-unreachable"
    exit_status = 69


class CompletionRefusedError(CompletionError):
    """The server rejected the request: key, model or parameters."""

    code = "completion-refused"


class CompletionLimitedError(CompletionError):
    """The server limits the request rate, or the account has no credit left."""

    code = "completion-limited"


class CompletionServerError(CompletionError):
    """The model server failed."""

    code = "completion-server"


class CompletionMalformedError(CompletionError):
    """The answer is not a chat completion."""

    code = "completion-malformed"
