"""Track the subgoal attempts of a recording and derive the mission status."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from eikon_engine.browser.playwright_errors import without_logs
from eikon_engine.errors import EikonError, UsageError
from eikon_engine.record.bundle_writer import Attempt

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from eikon_engine.record.bundle_writer import BundleWriter
    from eikon_engine.trace.execution import MissionStatus


class Attempts:
    """Start and end subgoal attempts, one at a time, and write them to the journal."""

    def __init__(self, writer: BundleWriter, redact: Callable[[str], str], now: Callable[[], datetime]) -> None:
        """Start without an attempt; `redact` redacts a text."""
        self._writer = writer
        self._redact = redact
        self._now = now
        self.current: Attempt | None = None
        self._counts: dict[str, int] = {}
        self._statuses: dict[str, MissionStatus] = {}
        self._explicit_status: MissionStatus | None = None

    @property
    def count(self) -> int:
        """Return the number of attempts started so far."""
        return sum(self._counts.values())

    def start(self, description: str, subgoal_id: str | None = None) -> Attempt:
        """Start an attempt.

        Raises:
            UsageError: the previous attempt is still open.
        """
        if self.current is not None:
            message = (
                f"subgoal {description!r} started inside subgoal {self.current.subgoal_id}; end that subgoal first"
            )
            raise UsageError(message)
        name = self._redact(subgoal_id or f"subgoal_{len(self._counts) + 1}")
        self._counts[name] = self._counts.get(name, 0) + 1
        attempt = self.current = Attempt(subgoal_id=name, number=self._counts[name])
        self._writer.start_subgoal(attempt, self._redact(description), self._now())
        return attempt

    def end(self, error: BaseException | None = None) -> None:
        """End the current attempt, if any; `error` is the reason it failed."""
        end = self.close_current(error)
        if end is not None:
            end()

    def close_current(self, error: BaseException | None = None) -> Callable[[], None] | None:
        """Close the current attempt, if any, and return a function that writes its end.

        Call that function once every step of the attempt is written.
        """
        attempt, self.current = self.current, None
        if attempt is None:
            return None
        status = status_for_error(error)
        message = None if error is None or status == "complete" else self._redact(describe_error(error))
        self._statuses[attempt.subgoal_id] = status
        return partial(self._writer.end_subgoal, attempt, self._now(), status, message)

    def set_status(self, status: MissionStatus) -> None:
        """Set the mission status explicitly instead of deriving it from the subgoals."""
        self._explicit_status = status

    @property
    def status(self) -> MissionStatus:
        """The mission status so far: complete unless the last attempt of some subgoal failed or was aborted."""
        if self._explicit_status is not None:
            return self._explicit_status
        return next((status for status in self._statuses.values() if status != "complete"), "complete")


def status_for_error(error: BaseException | None) -> MissionStatus:
    """Map the exception that ended a block to a status; `SystemExit(0)` counts as complete.

    After Ctrl-C the driver is gone, too: an error while the block ends replaces the `KeyboardInterrupt`.
    """
    if error is None or (isinstance(error, SystemExit) and not error.code):
        return "complete"
    is_failure = isinstance(error, Exception | SystemExit)
    return "failed" if is_failure and not _replaced_interrupt(error) else "aborted"


def _replaced_interrupt(error: BaseException) -> bool:
    """Whether an error was raised while a `KeyboardInterrupt` was being handled."""
    earlier = error.__context__
    while earlier is not None:
        if isinstance(earlier, KeyboardInterrupt):
            return True
        earlier = earlier.__context__
    return False


def describe_error(error: BaseException) -> str:
    """Return a short description of the error that ended a mission or an attempt."""
    if isinstance(error, EikonError):
        return error.message
    text, name = without_logs(str(error)), type(error).__name__
    return f"{name}: {text}" if text else name
