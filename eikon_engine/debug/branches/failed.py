"""Steps that failed on a branch: they are known by now, and a replay of the branch agrees, but they failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.trace.execution import Failed
from eikon_engine.trace.located import positions
from eikon_engine.trace.patch import SetObservation

if TYPE_CHECKING:
    from eikon_engine.debug.branches.branch import Branch
    from eikon_engine.trace.execution import Result


def failed_steps(branch: Branch) -> frozenset[str]:
    """Return the ids of the steps that failed when they were new, and did not fail so in the recording.

    A branch has them from the branches before it as well.
    """
    recorded = {step.id: step.result for _, step in positions(branch.origin)}
    learnt = {each.action for each in branch.file.patch.operations if isinstance(each, SetObservation)}
    return frozenset(
        step.id
        for step in branch.steps
        if step.id in learnt and isinstance(step.result, Failed) and not _is_alike(recorded.get(step.id), step.result)
    )


def _is_alike(recorded: Result | None, failed: Failed) -> bool:
    return isinstance(recorded, Failed) and recorded.code == failed.code
