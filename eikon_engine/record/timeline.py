"""What is done while time runs by itself, written down action by action: the same for agents and for people.

An action is open from its beginning until everything that is asked about it is known; then it is written, once. Its
time ends when `end` is called, and what its pages show is not waited for.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from eikon_engine.browser.capture import is_attachment
from eikon_engine.browser.ledger import Happenings, describe_download
from eikon_engine.browser.observe import glimpse
from eikon_engine.record.hidden import hide_secrets
from eikon_engine.trace.actions import SwitchPage
from eikon_engine.trace.execution import ActionTrace, Succeeded
from eikon_engine.trace.found_secret import Redaction

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from datetime import datetime

    from eikon_engine.browser.attached.session import Watched
    from eikon_engine.record.attempt import Attempt
    from eikon_engine.record.attempts import Attempts
    from eikon_engine.record.write import BundleWriter
    from eikon_engine.trace.actions import Action, AnswerDialog
    from eikon_engine.trace.observation import Observation

SETTLE_S: Final = 0.5
"""Wall time after which an action is over though nothing else is done."""
LAST_S: Final = 3.0
"""Wall time that the requests of the last action have to end in."""
DOWNLOAD_S: Final = 10.0
"""Wall time that downloads have to end in, once the recording is over."""
QUIET_S: Final = 0.1
"""Wall time without news from the network after which the pages of a recording that is over count as done."""
LOOK_S: Final = 0.02


class Entry(Protocol):
    """One action as it is known by now."""

    attempt: Attempt
    sequence: int
    observation: Observation | None
    """None until the time of the action is over."""
    waits: int
    """Answers that are still to come."""

    @property
    def id(self) -> str:
        """Return the id of the action."""

    @property
    def is_complete(self) -> bool:
        """Say whether everything is known."""

    def trace(self) -> ActionTrace:
        """Return what is written of it."""

    def give_up(self) -> Sequence[str]:
        """Wait for no more answers; return what is lost by that."""


EntryT = TypeVar("EntryT", bound=Entry)


class Timeline(Generic[EntryT]):
    """Keep the actions that are open, and write each one when it is known."""

    def __init__(
        self,
        watched: Watched,
        writer: BundleWriter,
        attempts: Attempts,
        now: Callable[[], datetime],
        mission_text: str,
        remarks: Callable[[EntryT, ActionTrace], Sequence[str]],
    ) -> None:
        """Begin with nothing under way.

        `mission_text` describes what is done outside of any subgoal; `remarks` gives the warnings about an action that
        has been written.
        """
        self._capture = watched.capture
        self._session = watched.session
        self._writer = writer
        self._attempts = attempts
        self._now = now
        self._mission_text = mission_text
        self._remarks = remarks
        self._open: set[EntryT] = set()
        """Not written yet."""
        self._written = asyncio.Event()
        self._outside: Attempt | None = None
        self._endings: list[tuple[Attempt, Callable[[], None]]] = []
        """Attempts that were left, and what writes their ends."""
        self._known_pages: set[int] = {0}
        self._tasks: set[asyncio.Task[None]] = set()
        self._downloads: dict[asyncio.Task[None], tuple[EntryT, str]] = {}
        """Those under way, with the addresses they come from."""

    @property
    def open(self) -> tuple[EntryT, ...]:
        """Return the actions that are not written yet, in their order."""
        return tuple(sorted(self._open, key=lambda entry: entry.sequence))

    def warn(self, text: str) -> None:
        """Note what the recording could not keep."""
        self._writer.warn(self._session.redactor.text(text))

    def attempt(self) -> Attempt:
        """Return the attempt under way; what is done outside of any subgoal is one of its own."""
        current = self._attempts.current
        if current is None:
            current = self._outside = self._attempts.begin(self._mission_text)
        return current

    def leave_outside(self) -> None:
        """Leave what was done outside of any subgoal, as one begins."""
        if self._outside is not None and self._attempts.current is self._outside:
            self.leave_attempt()

    def leave_attempt(self, error: BaseException | None = None) -> None:
        """Leave the attempt: its last action may still be unwritten."""
        attempt = self._attempts.current
        end = self._attempts.leave(error)
        if attempt is not None and end is not None:
            self._endings.append((attempt, end))
            self._end_attempts()

    def begin(self, entry: EntryT) -> None:
        """Open an action."""
        self._open.add(entry)

    def forget(self, entry: EntryT) -> None:
        """Take an action back that came to nothing."""
        self._open.discard(entry)

    def know_page(self, page: int) -> None:
        """Let a page need no switch to it."""
        self._known_pages.add(page)

    def switch_to(self, page: int) -> None:
        """Record that a page is waited for, before the first thing that is done to it."""
        if page in self._known_pages:
            return
        self.know_page(page)
        rest = self._session.rest
        rest.mark()
        rest.end()
        attempt = self.attempt()
        self._add(attempt, attempt.next_sequence(), SwitchPage(page=page))

    def answer_before(self, entry: EntryT, answer: AnswerDialog) -> None:
        """Record an answer to a dialog in front of the action that opened it, which begins again now."""
        rest = self._session.rest
        rest.end()
        self._add(entry.attempt, entry.sequence, answer)
        entry.sequence = entry.attempt.next_sequence()
        rest.mark()
        rest.act()

    def end(self, entry: EntryT, happened: Happenings) -> None:
        """Let the time of an action be over."""
        self._session.rest.end()
        entry.observation = glimpse(self._session, happened)
        loop = asyncio._get_running_loop()  # noqa: SLF001 - None, and no error, where the agent's has ended
        if loop is None and happened.downloads:
            self.warn(f"{entry.id}: what it downloaded is not known, as the agent's browser was gone")
        for page, download in happened.downloads if loop is not None else ():
            task = self.spawn(entry, self._take_download(entry, page, download))
            self._downloads[task] = (entry, download.url)
        self.write(entry)

    def spawn(self, entry: EntryT, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do some work that an action waits for before it is written."""
        entry.waits += 1
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._arrive(entry, done))
        return task

    def write(self, entry: EntryT, *, whole: bool = True) -> None:
        """Write what is complete, once; what never will be, as it is."""
        if (whole and not entry.is_complete) or entry not in self._open:
            return
        self._open.discard(entry)
        trace = entry.trace()
        self._put(entry.attempt, trace)
        for remark in self._remarks(entry, trace):
            self.warn(remark)
        self._end_attempts()
        self._written.set()

    async def settle(self, at_least_s: float = 0.0) -> None:
        """Let the last action of a mission have its time, as long as its pages ask for something, and not for ever."""
        ledger, begun = self._session.ledger, time.monotonic()
        heard, quiet_since, patience_s = ledger.heard, begun, LAST_S
        while (now := time.monotonic()) < begun + patience_s and not ledger.crashed:
            patience_s = max(patience_s, self._patience_s())
            if ledger.in_flight or ledger.heard != heard:
                heard, quiet_since = ledger.heard, now
            elif now > max(quiet_since + QUIET_S, begun + at_least_s):
                return
            await asyncio.sleep(LOOK_S)

    def _patience_s(self) -> float:
        """Return how long requests have to end in: files that pages load for links to download have longer."""
        answers = (request.existing_response for request in self._session.ledger.in_flight)
        is_loading = any(is_attachment(answer) for answer in answers if answer is not None)
        return DOWNLOAD_S if is_loading else LAST_S

    async def flush(self, patience_s: float) -> None:
        """Write what is open: downloads have `DOWNLOAD_S` to end, other answers `patience_s` after the last one."""
        if self._downloads:
            await asyncio.wait(tuple(self._downloads), timeout=DOWNLOAD_S)
        while self._open:
            self._written.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(patience_s):
                    await self._written.wait()
                continue
            self.give_up()

    def give_up(self) -> None:
        """Write what has not ended, and will not: its page is gone, and answers nothing."""
        for task, (entry, url) in self._downloads.items():
            bound = f"{DOWNLOAD_S:g} s after the mission"
            self.warn(f"{entry.id}: its download was still running {bound}, and replays do not have it: {url}")
            _cancel(task)
        self._downloads.clear()
        for task in tuple(self._tasks):
            _cancel(task)
        for entry in self.open:
            for loss in entry.give_up():
                self.warn(f"{entry.id}: {loss}")
            self.write(entry, whole=False)

    def _arrive(self, entry: EntryT, done: asyncio.Task[None]) -> None:
        self._tasks.discard(done)
        self._downloads.pop(done, None)
        entry.waits -= 1
        if done.cancelled():
            return
        if (error := done.exception()) is not None:
            self.warn(f"{entry.id}: the recorder failed: {type(error).__name__}: {error}")
        self.write(entry)

    async def _take_download(self, entry: EntryT, page: int, download: Any) -> None:  # noqa: ANN401 - a view of a download
        seen, content = await describe_download(page, download)
        if content is not None:
            self._capture.take_download(self._session.redactor.text(download.url), seen.name, content)
        if entry.observation is not None:
            entry.observation = entry.observation.model_copy(update={"downloads": (*entry.observation.downloads, seen)})

    def _end_attempts(self) -> None:
        """End those that were left and whose actions are all written."""
        under_way = {entry.attempt for entry in self._open}
        for ending in [each for each in self._endings if each[0] not in under_way]:
            self._endings.remove(ending)
            ending[1]()

    def _add(self, attempt: Attempt, sequence: int, action: Action) -> None:
        """Write an action that took no time."""
        now = self._now()
        trace = ActionTrace(
            id=f"{attempt.id}_action_{sequence:03d}",
            sequence=sequence,
            started_at=now,
            ended_at=now,
            action=action,
            result=Succeeded(),
            observation=glimpse(self._session, Happenings()),
        )
        self._put(attempt, trace)

    def _put(self, attempt: Attempt, trace: ActionTrace) -> None:
        """Write an action without secrets, and what a replay has to know of them, also if this process is killed."""
        clean = trace.model_copy(update={"action": hide_secrets(self._session, trace.action)})
        self._writer.add_action(attempt, clean)
        if self._session.found is not None:
            self._writer.note_secrets(Redaction(found=self._session.found.table))


def _cancel(task: asyncio.Task[None]) -> None:
    """Cancel some work, unless the loop it runs in has ended."""
    if not task.get_loop().is_closed():
        task.cancel()
