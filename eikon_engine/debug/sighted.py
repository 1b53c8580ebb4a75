"""What a context observed: the pages as they were last, and a digest per iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.debug.state_digest import digest_of, result_digest
from eikon_engine.errors import InternalError
from eikon_engine.outcome.events import SkillUsed

if TYPE_CHECKING:
    from eikon_engine.browser.observe import Sight
    from eikon_engine.browser.worker import Agrees, Performed, Worker
    from eikon_engine.debug.state_digest import StateDigest
    from eikon_engine.outcome.events import ActionTaken
    from eikon_engine.trace.execution import Result
    from eikon_engine.trace.mask import Mask


class Sighted:
    """Record what each step of a worker showed."""

    def __init__(self, worker: Worker, masks: tuple[Mask, ...]) -> None:
        """Start with nothing observed."""
        self.masks = masks
        """What digests exclude."""
        self.moments: dict[int, StateDigest] = {}
        """By iteration."""
        self._worker = worker
        self._misses_seen = 0
        self._result: Result | None = None
        self._sight: Sight | None = None
        self._state: StateDigest | None = None

    @property
    def sight(self) -> Sight:
        """Return the last observation."""
        if self._sight is None:
            raise InternalError(_UNSEEN)
        return self._sight

    @property
    def state(self) -> StateDigest:
        """Return its digest."""
        if self._state is None:
            raise InternalError(_UNSEEN)
        return self._state

    def digest(self, sight: Sight, result: Result | None) -> StateDigest:
        """Digest an observation after a step with this result."""
        return digest_of(
            sight,
            result=result,
            misses=self._worker.network().misses[self._misses_seen :],
            masks=self.masks,
            page_ms=self._worker.session.rest.now_ms,
        )

    def digest_now(self, sight: Sight) -> StateDigest:
        """Digest pages that were observed again since the last step."""
        return self.digest(sight, self._result)

    def shows(self, expected: StateDigest) -> Agrees:
        """Return a predicate that tells whether an action led to the expected state."""

        def shows(performed: Performed) -> bool:
            return performed.sight is None or self.digest(performed.sight, performed.result) == expected

        return shows

    def look(self, sight: Sight) -> StateDigest:
        """Record an observation between two steps."""
        self._sight, self._state = sight, self.digest_now(sight)
        return self._state

    def step(self, iteration: int, event: ActionTaken | SkillUsed, performed: Performed | None) -> None:
        """Record what a step showed; `performed` is the last performed action."""
        self._result = event.outcome.result
        if isinstance(event, SkillUsed) or self._result is None:
            output = event.output.model_dump(mode="json") if isinstance(event, SkillUsed) else None
            self._state = self.state.model_copy(update={"result": result_digest(self._result, output)})
        else:
            self._sight = performed.sight if performed is not None and performed.sight is not None else self.sight
            self._state = self.digest(self._sight, self._result)
        self._misses_seen = len(self._worker.network().misses)
        self.moments[iteration] = self._state


_UNSEEN = "a context is used before its pages were observed"
