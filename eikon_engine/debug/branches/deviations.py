"""Where a branch deviates from its recording: skipped and failed steps, skills without a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import NavigationError
from eikon_engine.trace.execution import ActionTrace, Failed, SkillUsage
from eikon_engine.trace.labels import step_label
from eikon_engine.trace.patch import SetObservation
from eikon_engine.trace.steps import iter_steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.debug.branches.branch import BranchBundle
    from eikon_engine.trace.execution import ExecutionTrace, Result
    from eikon_engine.trace.steps import Step


@dataclass(frozen=True, slots=True)
class SkippedStep:
    """A step of the recording that a branch skips."""

    iteration: int
    """Number of the branch's steps before it."""
    id: str
    label: str


def find_skipped_steps(origin: ExecutionTrace, trace: ExecutionTrace) -> tuple[SkippedStep, ...]:
    """Return the steps of a recording that a branch skips, in order."""
    numbers = {step.id: number for number, step in enumerate(_iter_steps(trace), start=1)}
    skipped: list[SkippedStep] = []
    done = 0
    for step in _iter_steps(origin):
        if step.id in numbers:
            done = numbers[step.id]
        else:
            skipped.append(SkippedStep(done, step.id, step_label(step)))
    return tuple(skipped)


def skills_without_document(origin: ExecutionTrace, trace: ExecutionTrace) -> frozenset[str]:
    """Return the ids of the skills of a branch that run on another state than in the recording.

    Their document is unknown: it was dropped with the change that leads there.
    """
    recorded = {step.id for step in _iter_steps(origin) if isinstance(step, SkillUsage) and step.source is not None}
    return frozenset(
        step.id
        for step in _iter_steps(trace)
        if isinstance(step, SkillUsage) and step.source is None and step.id in recorded
    )


def _iter_steps(trace: ExecutionTrace) -> Iterator[Step]:
    return (step for _, step in iter_steps(trace))


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
    observation = step.observation if isinstance(step, ActionTrace) else None
    return observation is not None and bool(observation.unanswered) and is_blocked_navigation(step.result)


def _is_same_failure(recorded: Result | None, failed: Failed) -> bool:
    return isinstance(recorded, Failed) and recorded.code == failed.code
