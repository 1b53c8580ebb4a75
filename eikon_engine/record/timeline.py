"""Write actions in real time, for the agent recorder and the interactive recorder.

An action is open from its start until every reply about it has arrived; then it is written, once. Closing an action
takes the observation immediately instead of waiting for the pages.
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
"""Wall time after which an action is closed even if no other action starts."""
LAST_S: Final = 3.0
"""Wall time that requests of the last action have to finish."""
DOWNLOAD_S: Final = 10.0
"""Wall time that downloads have to finish after the mission."""
QUIET_S: Final = 0.1
"""Wall time without network events after which pages count as idle at the end of a recording."""
LOOK_S: Final = 0.02


class Entry(Protocol):
    """An action that is not written yet."""

    attempt: Attempt
    sequence: int
    observation: Observation | None
    """None until the action is closed."""
    waits: int
    """Number of pending replies."""

    @property
    def id(self) -> str:
        """Return the action id."""

    @property
    def is_complete(self) -> bool:
        """Return whether the action can be written."""

    def trace(self) -> ActionTrace:
        """Return the `ActionTrace` to write."""

    def give_up(self) -> Sequence[str]:
        """Stop waiting for replies; return a warning for each loss."""


EntryT = TypeVar("EntryT", bound=Entry)


class Timeline(Generic[EntryT]):
    """Hold open actions and write each one when it is complete."""

    def __init__(
        self,
        watched: Watched,
        writer: BundleWriter,
        attempts: Attempts,
        now: Callable[[], datetime],
        mission_text: str,
        remarks: Callable[[EntryT, ActionTrace], Sequence[str]],
    ) -> None:
        """Start without open actions.

        `mission_text` describes steps outside any subgoal; `remarks` returns the warnings of a written action.
        """
        self._capture = watched.capture
        self._session = watched.session
        self._writer = writer
        self._attempts = attempts
        self._now = now
        self._mission_text = mission_text
        self._remarks = remarks
        self._open: set[EntryT] = set()
        """Actions that are not written yet."""
        self._written = asyncio.Event()
        self._outside: Attempt | None = None
        self._endings: list[tuple[Attempt, Callable[[], None]]] = []
        """Closed attempts with the functions that write their ends."""
        self._known_pages: set[int] = {0}
        self._tasks: set[asyncio.Task[None]] = set()
        self._downloads: dict[asyncio.Task[None], tuple[EntryT, str]] = {}
        """Running downloads with their action and URL."""

    @property
    def open(self) -> tuple[EntryT, ...]:
        """Return the open actions in order."""
        return tuple(sorted(self._open, key=lambda entry: entry.sequence))

    def warn(self, text: str) -> None:
        """Write a redacted warning."""
        self._writer.warn(self._session.redactor.text(text))

    def attempt(self) -> Attempt:
        """Return the current attempt; steps outside any subgoal get an attempt of their own."""
        current = self._attempts.current
        if current is None:
            current = self._outside = self._attempts.begin(self._mission_text)
        return current

    def leave_outside(self) -> None:
        """Close the attempt for steps outside any subgoal, because a subgoal starts."""
        if self._outside is not None and self._attempts.current is self._outside:
            self.leave_attempt()

    def leave_attempt(self, error: BaseException | None = None) -> None:
        """Close the attempt; its last action may still be pending."""
        attempt = self._attempts.current
        end = self._attempts.leave(error)
        if attempt is not None and end is not None:
            self._endings.append((attempt, end))
            self._end_attempts()

    def begin(self, entry: EntryT) -> None:
        """Add an open action."""
        self._open.add(entry)

    def forget(self, entry: EntryT) -> None:
        """Drop an action without any effect."""
        self._open.discard(entry)

    def know_page(self, page: int) -> None:
        """Mark a page as known, so that it needs no `switch_page`."""
        self._known_pages.add(page)

    def switch_to(self, page: int) -> None:
        """Record a `switch_page` before the first action on a new page."""
        if page in self._known_pages:
            return
        self.know_page(page)
        rest = self._session.rest
        rest.mark()
        rest.end()
        attempt = self.attempt()
        self._add(attempt, attempt.next_sequence(), SwitchPage(page=page))

    def answer_before(self, entry: EntryT, answer: AnswerDialog) -> None:
        """Record the answer to a dialog before the action that opened it; that action starts over."""
        rest = self._session.rest
        rest.end()
        self._add(entry.attempt, entry.sequence, answer)
        entry.sequence = entry.attempt.next_sequence()
        rest.mark()
        rest.act()

    def end(self, entry: EntryT, happened: Happenings) -> None:
        """Close an action."""
        self._session.rest.end()
        entry.observation = glimpse(self._session, happened)
        loop = asyncio._get_running_loop()  # noqa: SLF001 - None instead of an error once the agent's loop has ended
        if loop is None and happened.downloads:
            self.warn(f"{entry.id}: its downloads are unknown: the agent's browser was closed")
        for page, download in happened.downloads if loop is not None else ():
            task = self.spawn(entry, self._take_download(entry, page, download))
            self._downloads[task] = (entry, download.url)
        self.write(entry)

    def spawn(self, entry: EntryT, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start work that must finish before the action is written."""
        entry.waits += 1
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._arrive(entry, done))
        return task

    def write(self, entry: EntryT, *, whole: bool = True) -> None:
        """Write an action once it is complete; `whole=False` writes it as it is."""
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
        """Wait until the pages are idle after the last action, within a bound."""
        ledger, begun = self._session.ledger, time.monotonic()
        request_count, idle_since, patience_s = ledger.heard, begun, LAST_S
        while (now := time.monotonic()) < begun + patience_s and not ledger.crashed:
            patience_s = max(patience_s, self._patience_s())
            if ledger.in_flight or ledger.heard != request_count:
                request_count, idle_since = ledger.heard, now
            elif now > max(idle_since + QUIET_S, begun + at_least_s):
                return
            await asyncio.sleep(LOOK_S)

    def _patience_s(self) -> float:
        """Return how long requests may take; files loaded for download links get longer."""
        answers = (request.existing_response for request in self._session.ledger.in_flight)
        is_loading = any(is_attachment(answer) for answer in answers if answer is not None)
        return DOWNLOAD_S if is_loading else LAST_S

    async def flush(self, patience_s: float) -> None:
        """Write open actions: downloads get `DOWNLOAD_S`, other replies `patience_s` after the previous one."""
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
        """Write open actions as they are: their page is gone and will not reply."""
        for task, (entry, url) in self._downloads.items():
            bound = f"{DOWNLOAD_S:g} s after the mission"
            self.warn(f"{entry.id}: the download was still running {bound}; replays do not have it: {url}")
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
        """Write the end of closed attempts whose actions are all written."""
        under_way = {entry.attempt for entry in self._open}
        for ending in [each for each in self._endings if each[0] not in under_way]:
            self._endings.remove(ending)
            ending[1]()

    def _add(self, attempt: Attempt, sequence: int, action: Action) -> None:
        """Write an action without duration."""
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
        """Write a redacted action and the secrets found so far, so that a killed process leaves both."""
        clean = trace.model_copy(update={"action": hide_secrets(self._session, trace.action)})
        self._writer.add_action(attempt, clean)
        if self._session.found is not None:
            self._writer.note_secrets(Redaction(found=self._session.found.table))


def _cancel(task: asyncio.Task[None]) -> None:
    """Cancel a task unless its loop is closed."""
    if not task.get_loop().is_closed():
        task.cancel()
