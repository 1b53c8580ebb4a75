"""The attempts at subgoals of a mission that is being recorded, and how it ends."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from eikon_engine.errors import UsageError
from eikon_engine.record.attempt import Attempt

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from eikon_engine.record.write import BundleWriter
    from eikon_engine.trace.execution import MissionStatus


class Attempts:
    """Begin and end attempts, one at a time, and write that down."""

    def __init__(self, writer: BundleWriter, clean: Callable[[str], str], now: Callable[[], datetime]) -> None:
        """Begin with none; `clean` takes secrets out of a text."""
        self._writer = writer
        self._clean = clean
        self._now = now
        self.current: Attempt | None = None
        self._counts: dict[str, int] = {}
        self._ended: dict[str, MissionStatus] = {}
        self._said: MissionStatus | None = None

    @property
    def count(self) -> int:
        """Return how many attempts began."""
        return sum(self._counts.values())

    def begin(self, description: str, subgoal_id: str | None = None) -> Attempt:
        """Begin an attempt.

        Raises:
            UsageError: another one has not ended.
        """
        if self.current is not None:
            message = f"subgoal {description!r} begins inside subgoal {self.current.subgoal_id}; end that one first"
            raise UsageError(message)
        name = self._clean(subgoal_id or f"subgoal_{len(self._counts) + 1}")
        self._counts[name] = self._counts.get(name, 0) + 1
        attempt = self.current = Attempt(subgoal_id=name, number=self._counts[name])
        self._writer.begin_subgoal(attempt, self._clean(description), self._now())
        return attempt

    def end(self, error: BaseException | None = None) -> None:
        """End the attempt, if one is under way; `error` is what it failed by."""
        end = self.leave(error)
        if end is not None:
            end()

    def leave(self, error: BaseException | None = None) -> Callable[[], None] | None:
        """Leave the attempt, if one is under way; what is returned writes its end, after all that belongs to it."""
        attempt, self.current = self.current, None
        if attempt is None:
            return None
        status = status_after(error)
        said = None if status == "complete" else self._clean(f"{type(error).__name__}: {error}")
        self._ended[attempt.subgoal_id] = status
        return partial(self._writer.end_subgoal, attempt, self._now(), status, said)

    def say(self, status: MissionStatus) -> None:
        """Say how the mission ended, where its subgoals do not tell."""
        self._said = status

    @property
    def status(self) -> MissionStatus:
        """How the mission ended, as far as is known: complete unless the last attempt at some subgoal is not."""
        if self._said is not None:
            return self._said
        return next((status for status in self._ended.values() if status != "complete"), "complete")


def status_after(error: BaseException | None) -> MissionStatus:
    """Say how something ended that `error` ended; a program that exits with status 0 has done its work."""
    if error is None or (isinstance(error, SystemExit) and not error.code):
        return "complete"
    return "failed" if isinstance(error, Exception | SystemExit) else "aborted"
