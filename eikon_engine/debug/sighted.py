"""What a line has seen: the pages as they were last, and a digest of each moment before."""

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
    """Take down what each step of one worker showed."""

    def __init__(self, worker: Worker, masks: tuple[Mask, ...]) -> None:
        """Begin with nothing seen."""
        self.masks = masks
        """What is left out of digests."""
        self.moments: dict[int, StateDigest] = {}
        """By the number of steps that were done."""
        self._worker = worker
        self._misses_seen = 0
        self._result: Result | None = None
        self._sight: Sight | None = None
        self._state: StateDigest | None = None

    @property
    def sight(self) -> Sight:
        """Return what was seen last."""
        if self._sight is None:
            raise InternalError(_UNSEEN)
        return self._sight

    @property
    def state(self) -> StateDigest:
        """Return its digests."""
        if self._state is None:
            raise InternalError(_UNSEEN)
        return self._state

    def digest(self, sight: Sight, result: Result | None) -> StateDigest:
        """Digest what was seen after a step that ended so."""
        return digest_of(
            sight,
            result=result,
            misses=self._worker.network().misses[self._misses_seen :],
            masks=self.masks,
            page_ms=self._worker.session.rest.now_ms,
        )

    def digest_now(self, sight: Sight) -> StateDigest:
        """Digest pages that were looked at again since the last step."""
        return self.digest(sight, self._result)

    def shows(self, expected: StateDigest) -> Agrees:
        """Return what says whether an action showed what was expected."""

        def shows(performed: Performed) -> bool:
            return performed.sight is None or self.digest(performed.sight, performed.result) == expected

        return shows

    def look(self, sight: Sight) -> StateDigest:
        """Take down what was seen between two steps."""
        self._sight, self._state = sight, self.digest_now(sight)
        return self._state

    def step(self, iteration: int, event: ActionTaken | SkillUsed, performed: Performed | None) -> None:
        """Take down what a step showed; `performed` is the last action that was."""
        self._result = event.outcome.result
        if isinstance(event, SkillUsed) or self._result is None:
            output = event.output.model_dump(mode="json") if isinstance(event, SkillUsed) else None
            self._state = self.state.model_copy(update={"result": result_digest(self._result, output)})
        else:
            self._sight = performed.sight if performed is not None and performed.sight is not None else self.sight
            self._state = self.digest(self._sight, self._result)
        self._misses_seen = len(self._worker.network().misses)
        self.moments[iteration] = self._state


_UNSEEN = "a line is used before its pages were looked at"
