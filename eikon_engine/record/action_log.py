"""Write actions in real time: what the recorders of agents and of people have in common.

An action is open from its start until every reply about it has arrived; then it is written, once. Closing an action
takes the observation immediately instead of waiting for the pages; certifying produces the ones that replays compare.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from eikon_engine.browser.observation import observe_without_waiting
from eikon_engine.browser.page_tracker import PageEvents, read_download
from eikon_engine.browser.traffic.capture import is_attachment
from eikon_engine.trace.actions import SwitchPage
from eikon_engine.trace.execution import ActionTrace, Succeeded

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from eikon_engine.record.bundle_writer import Attempt
    from eikon_engine.record.recording import Recording
    from eikon_engine.trace.actions import Action, AnswerDialog
    from eikon_engine.trace.observation import Observation

SETTLE_S: Final = 0.5
"""Wall time after which an action is closed even if no other action starts."""
FINAL_TIMEOUT_S: Final = 3.0
"""Wall time that requests of the last action have to finish."""
DOWNLOAD_TIMEOUT_S: Final = 10.0
"""Wall time that downloads have to finish after the mission."""
IDLE_S: Final = 0.1
"""Wall time without network events after which pages count as idle at the end of a recording."""
POLL_INTERVAL_S: Final = 0.02


class OpenAction(Protocol):
    """An action that is not written yet."""

    attempt: Attempt
    sequence: int
    observation: Observation | None
    """None until the action is closed."""
    pending_replies: int
    """Number of pending replies."""

    @property
    def id(self) -> str:
        """Return the action id."""

    @property
    def is_complete(self) -> bool:
        """Return whether the action can be written."""

    def build_trace(self) -> ActionTrace:
        """Return the `ActionTrace` to write."""

    def abandon(self) -> Sequence[str]:
        """Stop waiting for replies; return what is lost with that."""


OpenActionT = TypeVar("OpenActionT", bound=OpenAction)


class ActionLog(ABC, Generic[OpenActionT]):
    """Hold open actions and write each one when it is complete."""

    reply_timeout_s: float
    """Wall time that replies about the last actions have to arrive, after the previous one."""

    def __init__(self, recording: Recording) -> None:
        """Start without open actions, in a recording that has started."""
        self._recording = recording
        self._session = recording.session
        self._attempts = recording.attempts
        self._now = recording.now
        self.is_closed = False
        """Whether nothing is recorded any more."""
        self._current: OpenActionT | None = None
        """The action that is performed now, until it is closed."""
        self._timer: asyncio.TimerHandle | None = None
        """Closes the current action."""
        self._open_actions: set[OpenActionT] = set()
        """Actions that are not written yet."""
        self._written = asyncio.Event()
        self._implicit_attempt: Attempt | None = None
        self._deferred_ends: list[tuple[Attempt, Callable[[], None]]] = []
        """Closed attempts with the functions that write their ends."""
        self._known_pages: set[int] = {0}
        self._tasks: set[asyncio.Task[None]] = set()
        self._downloads: dict[asyncio.Task[None], tuple[OpenActionT, str]] = {}
        """Running downloads with their action and URL."""

    @property
    def open_actions(self) -> tuple[OpenActionT, ...]:
        """Return the open actions in order."""
        return tuple(sorted(self._open_actions, key=lambda entry: entry.sequence))

    @abstractmethod
    def close_current(self) -> None:
        """Close the current action, if there is one."""

    @abstractmethod
    async def settle(self) -> None:
        """Wait until the pages are idle after the last action, within a bound."""

    @abstractmethod
    def warnings_for(self, action: OpenActionT, trace: ActionTrace) -> Sequence[str]:
        """Return the warnings about a written action."""

    async def flush(self) -> None:
        """Close the current action and write everything pending."""
        self.close_current()
        await self._write_open_actions()

    def close(self) -> None:
        """Stop recording."""
        self.is_closed = True
        self._stop_timer()

    def current_attempt(self) -> Attempt:
        """Return the current attempt; steps outside any subgoal get an attempt of their own."""
        current = self._attempts.current
        if current is None:
            current = self._implicit_attempt = self._attempts.start(self._recording.mission_text)
        return current

    def close_implicit_attempt(self) -> None:
        """Close the attempt for steps outside any subgoal, because a subgoal starts."""
        if self._implicit_attempt is not None and self._attempts.current is self._implicit_attempt:
            self.close_attempt()

    def close_attempt(self, error: BaseException | None = None) -> None:
        """Close the attempt; its last action may still be pending."""
        attempt = self._attempts.current
        end = self._attempts.close_current(error)
        if attempt is not None and end is not None:
            self._deferred_ends.append((attempt, end))
            self._write_attempt_ends()

    def mark_page_known(self, page: int) -> None:
        """Mark a page as known, so that it needs no `switch_page`."""
        self._known_pages.add(page)

    def needs_page_switch(self, page: int) -> bool:
        """Return whether the first action on a page is still to come."""
        return page not in self._known_pages

    def record_page_switch(self, page: int) -> None:
        """Record a `switch_page` before the first action on a new page."""
        if not self.needs_page_switch(page):
            return
        self.mark_page_known(page)
        self._session.timeline.mark_begin()
        self._session.timeline.end_action()
        attempt = self.current_attempt()
        self._write_instant_action(attempt, attempt.next_sequence(), SwitchPage(page=page))

    def insert_page_switch(self, action: OpenActionT, page: int) -> None:
        """Record a `switch_page` before an action in progress; that action starts over."""
        self.mark_page_known(page)
        self._insert_instant_action(action, SwitchPage(page=page))

    def insert_dialog_answer(self, action: OpenActionT, answer: AnswerDialog) -> None:
        """Record the answer to a dialog before the action that opened it; that action starts over."""
        self._insert_instant_action(action, answer)

    def _insert_instant_action(self, action: OpenActionT, inserted: Action) -> None:
        self._session.timeline.end_action()
        self._write_instant_action(action.attempt, action.sequence, inserted)
        action.sequence = action.attempt.next_sequence()
        self._session.timeline.mark_begin()
        self._session.timeline.mark_acting()

    def close_action(self, action: OpenActionT, events: PageEvents) -> None:
        """Close an action."""
        self._session.timeline.end_action()
        action.observation = observe_without_waiting(self._session, events)
        loop = asyncio._get_running_loop()  # noqa: SLF001 - None instead of an error once the agent's loop has ended
        if loop is None and events.downloads:
            self._recording.lose(f"the downloads of {action.id}", "the agent's browser was closed")
        for page, download in events.downloads if loop is not None else ():
            task = self.spawn(action, self._store_download(action, page, download))
            self._downloads[task] = (action, download.url)
        if loop is None:
            self.write_if_complete(action)
        else:  # the agent's next call, which closes it, is sent first
            loop.call_soon(self.write_or_keep_error, action)

    def spawn(self, action: OpenActionT, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start work that must finish before the action is written."""
        action.pending_replies += 1
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._on_task_done(action, done))
        return task

    def write_if_complete(self, action: OpenActionT, *, whole: bool = True) -> None:
        """Write an action once it is complete; `whole=False` writes it as it is."""
        if (whole and not action.is_complete) or action not in self._open_actions:
            return
        self._open_actions.discard(action)
        try:
            trace = action.build_trace()
            self._recording.write_action(action.attempt, trace)
            for warning in self.warnings_for(action, trace):
                self._recording.warn(warning)
            self._write_attempt_ends()
        finally:
            self._written.set()

    def write_or_keep_error(self, action: OpenActionT) -> None:
        """Write an action once it is complete; an error is kept, as those of other listeners are."""
        try:
            self.write_if_complete(action)
        except Exception as error:  # noqa: BLE001 - the agent continues; the error is recorded
            self._recording.errors.append(error)

    async def wait_until_idle(self, at_least_s: float = 0.0) -> None:
        """Wait until the pages are idle, within a bound."""
        page_tracker, begun = self._session.tracker, time.monotonic()
        request_count, idle_since, timeout_s = page_tracker.event_count, begun, FINAL_TIMEOUT_S
        while (now := time.monotonic()) < begun + timeout_s and not page_tracker.is_dead:
            timeout_s = max(timeout_s, self._settle_timeout_s())
            if page_tracker.requests.in_flight or page_tracker.event_count != request_count:
                request_count, idle_since = page_tracker.event_count, now
            elif now > max(idle_since + IDLE_S, begun + at_least_s):
                return
            await asyncio.sleep(POLL_INTERVAL_S)

    def _settle_timeout_s(self) -> float:
        """Return how long requests may take; files loaded for download links get longer."""
        answers = (request.existing_response for request in self._session.tracker.requests.in_flight)
        is_loading = any(is_attachment(answer) for answer in answers if answer is not None)
        return DOWNLOAD_TIMEOUT_S if is_loading else FINAL_TIMEOUT_S

    async def _write_open_actions(self) -> None:
        """Write open actions: downloads get `DOWNLOAD_TIMEOUT_S`, other replies `reply_timeout_s`."""
        if self._downloads:
            await asyncio.wait(tuple(self._downloads), timeout=DOWNLOAD_TIMEOUT_S)
        while self._open_actions:
            self._written.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(self.reply_timeout_s):
                    await self._written.wait()
                continue
            self.abandon()

    def abandon(self) -> None:
        """Write open actions as they are: their page is gone and will not reply."""
        self.close_current()
        for task, (entry, url) in self._downloads.items():
            why = f"it was still running {DOWNLOAD_TIMEOUT_S:g} s after the mission"
            self._recording.lose(f"the download {url} of {entry.id}", why)
            _cancel(task)
        self._downloads.clear()
        for task in tuple(self._tasks):
            _cancel(task)
        for entry in self.open_actions:
            for what in entry.abandon():
                self._recording.lose(f"{what} of {entry.id}", "no reply arrived before the recording ended")
            self.write_if_complete(entry, whole=False)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_task_done(self, action: OpenActionT, done: asyncio.Task[None]) -> None:
        self._tasks.discard(done)
        self._downloads.pop(done, None)
        action.pending_replies -= 1
        if done.cancelled():
            return
        if (error := done.exception()) is not None:
            why = f"the recorder failed: {type(error).__name__}: {error}"
            self._recording.lose(f"a part of {action.id}", why)
        self.write_if_complete(action)

    async def _store_download(self, action: OpenActionT, page: int, download: Any) -> None:  # noqa: ANN401 - a view of a download
        seen, content = await read_download(page, download)
        if content is not None:
            capture = self._recording.context.capture
            capture.take_download(self._recording.redact(download.url), seen.name, content)
        if action.observation is not None:
            action.observation = action.observation.model_copy(
                update={"downloads": (*action.observation.downloads, seen)}
            )

    def _write_attempt_ends(self) -> None:
        """Write the end of closed attempts whose actions are all written."""
        in_progress = {entry.attempt for entry in self._open_actions} | self._unfinished_attempts()
        for ending in [each for each in self._deferred_ends if each[0] not in in_progress]:
            self._deferred_ends.remove(ending)
            ending[1]()

    def _unfinished_attempts(self) -> set[Attempt]:
        """Return the attempts that may get another step though their block has ended."""
        return set()

    def _write_instant_action(self, attempt: Attempt, sequence: int, action: Action) -> None:
        """Write an action without duration."""
        now = self._now()
        trace = ActionTrace(
            id=f"{attempt.id}_action_{sequence:03d}",
            sequence=sequence,
            started_at=now,
            ended_at=now,
            action=action,
            result=Succeeded(),
            observation=observe_without_waiting(self._session, PageEvents()),
        )
        self._recording.write_action(attempt, trace)


def _cancel(task: asyncio.Task[None]) -> None:
    """Cancel a task unless its loop is closed."""
    if not task.get_loop().is_closed():
        task.cancel()
