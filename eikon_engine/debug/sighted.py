"""What a context observed: the pages as they were last, and a digest per iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.debug.state_digest import digest_result, digest_state
from eikon_engine.errors import InternalError
from eikon_engine.outcome.events import SkillRun

if TYPE_CHECKING:
    from eikon_engine.browser.observe import CapturedObservation
    from eikon_engine.browser.worker import MatchesRecording, PerformedAction, Worker
    from eikon_engine.debug.state_digest import StateDigest
    from eikon_engine.outcome.events import ActionPerformed
    from eikon_engine.trace.execution import Result
    from eikon_engine.trace.mask import Mask


class ObservedStates:
    """Record what each step of a worker showed."""

    def __init__(self, worker: Worker, masks: tuple[Mask, ...]) -> None:
        """Start with nothing observed."""
        self.masks = masks
        """What digests exclude."""
        self.digests: dict[int, StateDigest] = {}
        """By iteration."""
        self._worker = worker
        self._counted_misses = 0
        self._result: Result | None = None
        self._last_observed: CapturedObservation | None = None
        self._last_digest: StateDigest | None = None

    @property
    def last_observed(self) -> CapturedObservation:
        """Return the last observation."""
        if self._last_observed is None:
            raise InternalError(_NOT_OBSERVED)
        return self._last_observed

    @property
    def last_digest(self) -> StateDigest:
        """Return its digest."""
        if self._last_digest is None:
            raise InternalError(_NOT_OBSERVED)
        return self._last_digest

    def digest(self, sight: CapturedObservation, result: Result | None) -> StateDigest:
        """Digest an observation after a step with this result."""
        return digest_state(
            sight,
            result=result,
            misses=self._worker.network_outcome().misses[self._counted_misses :],
            masks=self.masks,
            page_ms=self._worker.session.stabilizer.now_ms,
        )

    def digest_again(self, sight: CapturedObservation) -> StateDigest:
        """Digest pages that were observed again since the last step."""
        return self.digest(sight, self._result)

    def matches(self, expected: StateDigest) -> MatchesRecording:
        """Return a predicate that tells whether an action led to the expected state."""

        def shows(performed: PerformedAction) -> bool:
            return performed.captured is None or self.digest(performed.captured, performed.result) == expected

        return shows

    def record_observation(self, sight: CapturedObservation) -> StateDigest:
        """Record an observation between two steps."""
        self._last_observed, self._last_digest = sight, self.digest_again(sight)
        return self._last_digest

    def record_step(self, iteration: int, event: ActionPerformed | SkillRun, performed: PerformedAction | None) -> None:
        """Record what a step showed; `performed` is the last performed action."""
        self._result = event.outcome.result
        if isinstance(event, SkillRun) or self._result is None:
            output = event.output.model_dump(mode="json") if isinstance(event, SkillRun) else None
            self._last_digest = self.last_digest.model_copy(update={"result": digest_result(self._result, output)})
        else:
            self._last_observed = (
                performed.captured if performed is not None and performed.captured is not None else self.last_observed
            )
            self._last_digest = self.digest(self._last_observed, self._result)
        self._counted_misses = len(self._worker.network_outcome().misses)
        self.digests[iteration] = self._last_digest


_NOT_OBSERVED = "a context is used before its pages were observed"
