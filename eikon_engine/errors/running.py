"""Errors of what a mission does beside its browser: tools, models, skills, and limits of a run."""

from __future__ import annotations

from eikon_engine.errors.root import EikonError


class ScenarioError(EikonError):
    """Report a step of a scenario that cannot be done with what the steps before it gave."""

    code = "scenario"
    exit_status = 1


class SkillError(EikonError):
    """Report a skill that could not do its work on the document it was given."""

    code = "skill-failed"
    exit_status = 1


class GateFailedError(EikonError):
    """Report a run that went beyond a gate."""

    code = "gate-failed"
    exit_status = 1


class ToolError(EikonError):
    """Carry what a tool failed by, the same when it is recorded and when it is replayed."""

    code = "tool-failed"
    exit_status = 1

    def __init__(self, tool: str, error_type: str, error_message: str, error_code: str | None = None) -> None:
        """Keep the name of the tool, and the type, message and code of the error that it raised."""
        told = f"{error_type}: {error_message}" if error_message else error_type
        super().__init__(f"tool {tool} failed: {told}")
        self.tool = tool
        self.error_type = error_type
        self.error_message = error_message
        self.error_code = error_code


class ResultNotStorableError(EikonError):
    """Report a result of a tool that no fixture can hold."""

    code = "result-not-storable"
    exit_status = 1


class CompletionError(EikonError):
    """Report a model that gave no answer; `code` is what a recorded response keeps."""

    code = "completion-failed"
    exit_status = 1


class CompletionTimeoutError(CompletionError):
    """Report a model that did not answer before the deadline."""

    code = "completion-timeout"


class CompletionUnreachableError(CompletionError):
    """Report a server of a model that could not be reached, or went away."""

    code = "completion-unreachable"
    exit_status = 69


class CompletionRefusedError(CompletionError):
    """Report a request that the server did not accept: its key, its model, its parameters."""

    code = "completion-refused"


class CompletionLimitedError(CompletionError):
    """Report a server that wants fewer requests, or has no credit left."""

    code = "completion-limited"


class CompletionServerError(CompletionError):
    """Report a server that failed."""

    code = "completion-server"


class CompletionMalformedError(CompletionError):
    """Report an answer that is not in the form of a chat completion."""

    code = "completion-malformed"
