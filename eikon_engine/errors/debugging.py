"""Errors of debug sessions."""

from __future__ import annotations

from eikon_engine.errors.acting import ReplayError
from eikon_engine.errors.lacking import RequirementError
from eikon_engine.errors.root import EikonError, UsageError


class SessionError(EikonError):
    """The files of a debug session cannot be read."""

    code = "session"
    exit_status = 65


class CheckpointError(SessionError):
    """The checkpoint belongs to another trace, or its file was edited."""

    code = "checkpoint"


class SessionMissingError(RequirementError):
    """The debug session does not exist."""

    code = "session-missing"


class CheckpointMissingError(RequirementError):
    """The debug session has no such checkpoint."""

    code = "checkpoint-missing"


class SessionEndedError(EikonError):
    """The process of a debug session has ended or does not respond."""

    code = "session-ended"
    exit_status = 69


class SessionAmbiguousError(UsageError):
    """Several debug sessions are running and none was named."""

    code = "session-ambiguous"


class SessionBusyError(UsageError):
    """The command must wait until the session is paused."""

    code = "session-busy"


class PlaintextSecretError(UsageError):
    """The command contains a secret in clear text, which would be written to a file."""

    code = "secret-given"


class BreakpointError(UsageError):
    """The breakpoint is invalid or does not exist."""

    code = "breakpoint"


class BranchError(UsageError):
    """The branch cannot be created, changed or left, or does not exist."""

    code = "branch"


class PlanChangedError(UsageError):
    """The run cannot be resumed because its mission has changed."""

    code = "plan-changed"


class RewindDivergedError(ReplayError):
    """Re-running the history of a session led to a different state."""

    code = "rewind-not-faithful"
