"""Steps that failed on a branch: they are known by now, and a replay of the branch agrees, but they failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.errors import NavigationError
from eikon_engine.trace.execution import ActionTrace, Failed
from eikon_engine.trace.located import positions
from eikon_engine.trace.patch import SetObservation

if TYPE_CHECKING:
    from eikon_engine.debug.branches.branch import Branch
    from eikon_engine.trace.execution import Result
    from eikon_engine.trace.located import Step


BLOCKED: Final = "net::ERR_BLOCKED_BY_CLIENT"
"""What the browser says of a request that a sealed session blocks."""


def failed_steps(branch: Branch) -> frozenset[str]:
    """Return the ids of the steps that failed when they were new, and did not fail so in the recording.

    A branch has them from the branches before it as well. Where a document did not come because it was blocked, as no
    recording knew it, the mission has not failed: what would have come is not known.
    """
    recorded = {step.id: step.result for _, step in positions(branch.origin)}
    learnt = {each.action for each in branch.file.patch.operations if isinstance(each, SetObservation)}
    return frozenset(
        step.id
        for step in branch.steps
        if step.id in learnt
        and isinstance(step.result, Failed)
        and not _is_alike(recorded.get(step.id), step.result)
        and not _is_of_block(step)
    )


def says_blocked(result: Result | None) -> bool:
    """Say whether an action failed as the document that it wanted was blocked."""
    return isinstance(result, Failed) and result.code == NavigationError.code and BLOCKED in result.message


def _is_of_block(step: Step) -> bool:
    seen = step.observation if isinstance(step, ActionTrace) else None
    return seen is not None and bool(seen.unanswered) and says_blocked(step.result)


def _is_alike(recorded: Result | None, failed: Failed) -> bool:
    return isinstance(recorded, Failed) and recorded.code == failed.code
