"""Steps that failed on a branch: a replay of the branch agrees with them, but they remain failures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.errors import NavigationError
from eikon_engine.trace.execution import ActionTrace, Failed
from eikon_engine.trace.located import iter_steps
from eikon_engine.trace.patch import SetObservation

if TYPE_CHECKING:
    from eikon_engine.debug.branches.branch import BranchBundle
    from eikon_engine.trace.execution import Result
    from eikon_engine.trace.located import Step


BLOCKED_ERROR: Final = "net::ERR_BLOCKED_BY_CLIENT"
"""The browser's error for a request that a sealed session blocks."""


def find_failed_steps(branch: BranchBundle) -> frozenset[str]:
    """Return the ids of the steps that failed when they were new, and did not fail that way in the recording.

    This includes steps of parent branches. If a document was blocked because it was not recorded, the mission did not
    fail: its result is unknown.
    """
    recorded = {step.id: step.result for _, step in iter_steps(branch.origin)}
    learnt = {each.action for each in branch.file.patch.operations if isinstance(each, SetObservation)}
    return frozenset(
        step.id
        for step in branch.steps
        if step.id in learnt
        and isinstance(step.result, Failed)
        and not _is_same_failure(recorded.get(step.id), step.result)
        and not _is_blocked_step(step)
    )


def is_blocked_navigation(result: Result | None) -> bool:
    """Return whether an action failed because its document was blocked."""
    return isinstance(result, Failed) and result.code == NavigationError.code and BLOCKED_ERROR in result.message


def _is_blocked_step(step: Step) -> bool:
    seen = step.observation if isinstance(step, ActionTrace) else None
    return seen is not None and bool(seen.unanswered) and is_blocked_navigation(step.result)


def _is_same_failure(recorded: Result | None, failed: Failed) -> bool:
    return isinstance(recorded, Failed) and recorded.code == failed.code
