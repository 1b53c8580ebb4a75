"""Errors of debug sessions."""

from __future__ import annotations

from eikon_engine.errors.acting import ReplayError
from eikon_engine.errors.lacking import RequirementError
from eikon_engine.errors.root import EikonError, UsageError


class SessionError(EikonError):
    """Report a debug session whose files cannot be read."""

    code = "session"
    exit_status = 65


class CheckpointError(SessionError):
    """Report a checkpoint that is one of another trace, or that was changed by hand."""

    code = "checkpoint"


class SessionMissingError(RequirementError):
    """Report a debug session that is not there."""

    code = "session-missing"


class CheckpointMissingError(RequirementError):
    """Report a checkpoint that a session does not have."""

    code = "checkpoint-missing"


class SessionEndedError(EikonError):
    """Report a debug session whose process has ended, or does not answer."""

    code = "session-ended"
    exit_status = 69


class SessionAmbiguousError(UsageError):
    """Report that several debug sessions run, and none was named."""

    code = "session-ambiguous"


class SessionBusyError(UsageError):
    """Report a command that has to wait until the session stands still."""

    code = "session-busy"


class SecretGivenError(UsageError):
    """Report a command that has a secret written out, which would stand in a file."""

    code = "secret-given"


class BreakpointError(UsageError):
    """Report a breakpoint that cannot be, or is not there."""

    code = "breakpoint"


class BranchError(UsageError):
    """Report a branch that cannot be made, changed or left, or is not there."""

    code = "branch"


class PlanChangedError(UsageError):
    """Report that a run cannot go on, since its mission is another one by now."""

    code = "plan-changed"


class RewindNotFaithfulError(ReplayError):
    """Report that doing everything again led to another state than before."""

    code = "rewind-not-faithful"
