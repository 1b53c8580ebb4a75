"""What the steps of a branch showed so far: their verdicts, and why the position may not be faithful."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from eikon_engine.debug.branches.deviations import find_failed_steps, find_skipped_steps
from eikon_engine.debug.timeline import SkippedStepEntry, StepEntry, describe_doubts
from eikon_engine.outcome.events import verdict_of
from eikon_engine.outcome.verdict import combine_verdicts
from eikon_engine.trace.labels import step_label
from eikon_engine.trace.patch import SetObservation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.debug.branches.branch_runner import BranchRunner
    from eikon_engine.debug.replay_context import ReplayContext
    from eikon_engine.outcome.outcomes import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchProgress:
    """The steps of a branch that a context has done."""

    context: ReplayContext
    runner: BranchRunner | None
    """None on the recording itself."""

    @property
    def doubts(self) -> tuple[str, ...]:
        """Return why the current position is not faithful, whatever its steps showed."""
        changed, done = self._changed_steps(), self.context.steps[: self.context.iteration]
        replaced = {index for index, planned in enumerate(done) if planned.step.id in changed}
        skipped = [
            each for each in self.skipped_steps if each.iteration <= len(done) and each.iteration not in replaced
        ]
        return describe_doubts([each.timeline_entry for each in self.context.evaluations], skipped)

    @property
    def verdict(self) -> Verdict | None:
        """Return the verdict of the branch so far; None before the first step."""
        doubted: tuple[Verdict, ...] = ("unverifiable",) if self.doubts else ()
        verdicts = (*self._verdicts(), *doubted)
        return combine_verdicts(verdicts) if verdicts else None

    @property
    def skipped_steps(self) -> tuple[SkippedStepEntry, ...]:
        """Return the steps of the original that the branch omits."""
        branch = None if self.runner is None else self.runner.branch
        skipped = () if branch is None else find_skipped_steps(branch.origin, branch.trace)
        return tuple(SkippedStepEntry(iteration=each.iteration, id=each.id, label=each.label) for each in skipped)

    def step_entries(self, fork: int) -> Iterator[StepEntry]:
        """Yield the steps done after the fork; the context ran them all, also after a rewind."""
        changed = self._changed_steps()
        done = zip(self.context.steps, self._verdicts(), strict=False)
        for planned, verdict in islice(done, fork, None):
            yield StepEntry(
                iteration=planned.position,
                id=planned.step.id,
                label=step_label(planned.step),
                verdict=verdict,
                is_new=planned.step.id in changed,
            )

    def _changed_steps(self) -> frozenset[str]:
        """Return the ids of the steps that differ from the recording."""
        if self.runner is None:
            return frozenset()
        operations = self.runner.branch.file.patch.operations
        return self.runner.skills_without_document | {
            each.action for each in operations if isinstance(each, SetObservation)
        }

    def _verdicts(self) -> tuple[Verdict, ...]:
        """Return the verdicts of the done steps; a step that failed when it was new stays failed."""
        failed = frozenset[str]() if self.runner is None else find_failed_steps(self.runner.branch)
        done = zip(self.context.steps, self.context.outcomes, strict=False)
        return tuple("diverged" if planned.step.id in failed else verdict_of(event) for planned, event in done)
