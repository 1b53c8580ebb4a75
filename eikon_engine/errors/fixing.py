"""Errors of the debug loop."""

from __future__ import annotations

from eikon_engine.errors.lacking import RequirementError
from eikon_engine.errors.root import EikonError, UsageError


class FixError(EikonError):
    """Stand above what keeps the debug loop from a fix."""

    code = "fix"
    exit_status = 1


class StepFailedError(FixError):
    """Report the step of the loop that failed; what it failed by is the cause."""

    code = "step-failed"

    def __init__(self, step: str, cause: EikonError) -> None:
        """Keep the name of the step and the error that it raised."""
        super().__init__(f"{step}: {cause.message}")
        self.step = step
        self.cause = cause


class NoFixError(FixError):
    """Report that a model knows no fix."""

    code = "no-fix"


class ProposalMalformedError(FixError):
    """Report an answer of a model that holds no fix that can be read."""

    code = "proposal-malformed"


class PatchRejectedError(FixError):
    """Report a fix that does not fit the files, or leads somewhere it may not."""

    code = "patch-rejected"


class ApplierFailedError(FixError):
    """Report a program that could not apply a fix."""

    code = "applier-failed"


class FixRefusedError(FixError):
    """Report a failure that must not be mended by a change of the recording."""

    code = "fix-refused"


class TreeChangedError(FixError):
    """Report files that somebody changed while the loop worked on a copy of them."""

    code = "tree-changed"


class DirtyTreeError(UsageError):
    """Report a working tree with changes that are not committed."""

    code = "dirty-tree"


class CommandUnusableError(UsageError):
    """Report a test command that cannot be run, or does not end."""

    code = "command-unusable"


class AiderMissingError(RequirementError):
    """Report that aider is not installed."""

    code = "aider-missing"


class GitMissingError(RequirementError):
    """Report that git is not installed."""

    code = "git-missing"


class UnknownTaskError(RequirementError):
    """Report a task that no registry knows."""

    code = "unknown-task"
