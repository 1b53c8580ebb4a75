"""Errors of the debug loop."""

from __future__ import annotations

from eikon_engine.errors.lacking import RequirementError
from eikon_engine.errors.root import EikonError, UsageError


class FixError(EikonError):
    """Base of everything that stops the debug loop from producing a fix."""

    code = "fix"
    exit_status = 1


class FixTaskFailedError(FixError):
    """A task of the debug loop failed; `cause` is the error it raised."""

    code = "step-failed"

    def __init__(self, step: str, cause: EikonError) -> None:
        """Store the name of the task and the error it raised."""
        super().__init__(f"{step}: {cause.message}")
        self.step = step
        self.cause = cause


class NoFixError(FixError):
    """The model reports that it knows no fix."""

    code = "no-fix"


class ProposalMalformedError(FixError):
    """The model's answer contains no readable fix."""

    code = "proposal-malformed"


class PatchRejectedError(FixError):
    """The fix does not apply to the files, or touches files it must not change."""

    code = "patch-rejected"


class ApplierFailedError(FixError):
    """The program that applies fixes failed."""

    code = "applier-failed"


class FixRefusedError(FixError):
    """The failure must not be fixed by changing the recording."""

    code = "fix-refused"


class WorkingTreeChangedError(FixError):
    """Files of the working tree changed while the loop worked on a copy of them."""

    code = "tree-changed"


class DirtyTreeError(UsageError):
    """The working tree has uncommitted changes."""

    code = "dirty-tree"


class CommandUnusableError(UsageError):
    """The test command cannot be run, or does not terminate."""

    code = "command-unusable"


class AiderMissingError(RequirementError):
    """aider is not installed."""

    code = "aider-missing"


class GitMissingError(RequirementError):
    """git is not installed."""

    code = "git-missing"


class UnknownTaskError(RequirementError):
    """The task is not registered."""

    code = "unknown-task"
