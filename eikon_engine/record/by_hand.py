"""Record what a person does, as their pages tell it.

Time runs by itself. An action begins, and acts, when a page tells of its first gesture; it grows with those that belong
to it; its time is over when another one begins, or some time after its last one. What its pages show is not waited for:
certifying gives what replays compare.
"""

from __future__ import annotations

import asyncio
import base64
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.browser.ledger import Happenings, describe_download
from eikon_engine.browser.observe import glimpse
from eikon_engine.record.gesture import HELD, Gesture, join
from eikon_engine.record.hand_deed import HandDeed, WeakTarget
from eikon_engine.record.hidden import hide_secrets
from eikon_engine.trace.actions import AnswerDialog, FileInput, SwitchPage
from eikon_engine.trace.execution import ActionTrace, Failed, Succeeded

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from datetime import datetime

    from eikon_engine.browser.attached.session import Watched
    from eikon_engine.browser.by_hand.look import HeardFrame
    from eikon_engine.record.attempt import Attempt
    from eikon_engine.record.attempts import Attempts
    from eikon_engine.record.gesture import Seen
    from eikon_engine.record.write import BundleWriter
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.observation import DialogSeen

SETTLE_S: Final = 0.5
"""Wall time after which an action is over though the person does nothing else."""
FIELD_S: Final = 3.0
"""As above, for what a field is clicked or typed into: typing that goes on so soon is one action."""
LAST_S: Final = 3.0
"""Wall time that the requests of the last action, and what is asked of pages, have to end in."""
LOOK_S: Final = 0.02
_NO_TIMER: Final = frozenset({"down"})
_MEANT_FOR_PAGES: Final = frozenset({"travel", "navigate", "reload", "open", "close"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Before:
    """Where the recording was before an action began."""

    phase: int
    order: int
    """How many moments had been given."""


class HandRecorder:
    """Hear of gestures, dialogs and pages, and write down what they come to."""

    def __init__(
        self,
        watched: Watched,
        writer: BundleWriter,
        attempts: Attempts,
        now: Callable[[], datetime],
        mission_text: str,
    ) -> None:
        """Begin with nothing under way; `mission_text` describes what is done before the first subgoal."""
        self._watched = watched
        self._session = watched.session
        self._writer = writer
        self._attempts = attempts
        self._now = now
        self._mission_text = mission_text
        self._current: HandDeed | None = None
        self._open: set[HandDeed] = set()
        """Not written yet."""
        self._timer: asyncio.TimerHandle | None = None
        self._endings: list[tuple[Attempt, Callable[[], None]]] = []
        """Attempts that were left, and what writes their ends."""
        self._known_pages: set[int] = {0}
        self._before = _Before(phase=0, order=0)
        self._dialogs = 0
        """How many are open."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_closed = False
        self.subgoal = mission_text
        """What is being done, in the words of the person."""
        self.counts: dict[str, int] = {}
        """Actions by subgoal, in their order."""
        self.weak: list[WeakTarget] = []
        self.on_change: Callable[[], None] = lambda: None
        """Called when there is one more action, or another subgoal."""

    @property
    def count(self) -> int:
        """Return how many actions there are."""
        return sum(self.counts.values())

    def is_busy(self, page: int | None = None) -> bool:
        """Say whether something is under way, in one page or in any, so that what happens may come from it."""
        return self._current is not None and page in {None, self._current.page}

    def hear(self, gesture: Gesture, page: int, frame: HeardFrame | None = None) -> None:
        """Take a gesture: a part of the action under way, or the beginning of another one."""
        if self._is_closed or page < 0:
            return
        if gesture.kind == "lost":
            self._writer.warn(f"something was done that is not recorded: {gesture.text}")
            return
        if gesture.kind == "files" and self._take_files(gesture):
            return
        deed = self._current
        joined = join(deed.gesture, gesture) if deed is not None and deed.page == page else None
        if deed is not None and joined is not None:
            if _targets(joined) - _targets(deed.gesture):
                self._study(deed, joined, frame)
            deed.gesture = joined
            self._wait_for_more(deed)
            return
        if gesture.kind == "cancel":
            if deed is not None and deed.gesture.kind in HELD:
                self.finish()
            return
        if gesture.kind != "dblclick":  # the end of clicks that were told
            self._begin(gesture, page, frame)

    def begin_subgoal(self, description: str) -> None:
        """End the attempt under way, and begin one at the next step of the mission."""
        if self._is_closed:
            return
        self.finish()
        self.leave_attempt()
        self._attempts.begin(description)
        self.subgoal = self._session.redactor.text(description)
        self.counts.setdefault(self.subgoal, 0)
        self.on_change()

    def fail_navigation(self, page: int, reason: str) -> None:
        """Note that the document that is being navigated to does not come."""
        deed = self._current
        if deed is not None and deed.page == page and deed.gesture.kind in _MEANT_FOR_PAGES:
            deed.result = Failed(code="navigation-failed", message=self._session.redactor.text(reason))

    def open_dialog(self) -> None:
        """Note that a dialog waits for the person: the action that opened it goes on."""
        self._dialogs += 1
        self._stop_timer()

    def close_dialog(self, seen: DialogSeen, text: str) -> None:
        """Record how the person answered a dialog: before the action that opened it, which begins again now."""
        self._dialogs = max(0, self._dialogs - 1)
        deed, rest = self._current, self._session.rest
        if seen.kind in {"confirm", "prompt"} and seen.answer == "accepted":
            if deed is None:
                self._writer.warn(f"a {seen.kind} that no action opened was accepted; a replay dismisses it")
            else:
                deed.number()
                rest.end()
                self._add(deed.attempt, deed.sequence, AnswerDialog(page=seen.page, accept=True, text=text))
                deed.sequence = deed.attempt.next_sequence()
                rest.mark()
                rest.act()
        elif seen.kind == "beforeunload" and seen.answer == "dismissed":
            self._writer.warn("the person stayed on a page that asked whether to leave it; a replay leaves it")
        clean = self._session.redactor.text
        self._session.ledger.note_dialog(seen.model_copy(update={"message": clean(seen.message)}))
        if deed is not None:
            self._wait_for_more(deed)

    def finish(self) -> None:
        """Let the time of the action under way be over."""
        self._stop_timer()
        deed, self._current = self._current, None
        if deed is None:
            return
        self._keep_password(deed)
        ledger, rest = self._session.ledger, self._session.rest
        happened = ledger.take()
        if _is_nothing(deed, happened) and not deed.sequence and rest.order == self._before.order:
            rest.phase = self._before.phase  # nothing has come since, so nobody can tell
            ledger.put_back(happened)
            self._open.discard(deed)
            return
        rest.end()
        deed.number()
        deed.ended_at = deed.ended_at or self._now()
        deed.observation = glimpse(self._session, happened)
        self.counts[self.subgoal] = self.counts.get(self.subgoal, 0) + 1
        self.on_change()
        for page, download in happened.downloads:
            self._spawn(deed, self._take_download(deed, page, download))
        self._write(deed)

    async def settle(self) -> None:
        """Let the last action have its time, as long as its pages ask for something, and not for ever."""
        ledger, begun = self._session.ledger, time.monotonic()
        if self._current is not None:
            self._current.ended_at = self._now()
        while time.monotonic() < begun + SETTLE_S or (ledger.in_flight and time.monotonic() < begun + LAST_S):
            await asyncio.sleep(LOOK_S)
            if ledger.crashed:
                return

    async def flush(self) -> None:
        """End what is under way, and write it."""
        self.finish()
        if self._tasks:
            await asyncio.wait(tuple(self._tasks), timeout=LAST_S)
        for deed in sorted(self._open, key=lambda each: each.sequence):  # its page is gone, and answers nothing
            deed.waits = 0
            if deed.gesture.kind == "upload":
                self._writer.warn(f"{deed.id}: the files that were given to the page could not be read in time")
            self._write(deed)

    def close(self) -> None:
        """Hear no more."""
        self._is_closed = True
        self._stop_timer()

    def leave_attempt(self, error: BaseException | None = None) -> None:
        """Leave the attempt: its last action may still be unwritten."""
        attempt = self._attempts.current
        end = self._attempts.leave(error)
        if attempt is not None and end is not None:
            self._endings.append((attempt, end))
            self._end_attempts()

    def _end_attempts(self) -> None:
        unwritten = {deed.attempt for deed in self._open}
        for ending in [each for each in self._endings if each[0] not in unwritten]:
            self._endings.remove(ending)
            ending[1]()

    def _attempt(self) -> Attempt:
        current = self._attempts.current
        return current if current is not None else self._attempts.begin(self._mission_text)

    def _begin(self, gesture: Gesture, page: int, frame: HeardFrame | None) -> None:
        self.finish()
        if gesture.kind != "open":
            self._switch_to(page, gesture)
        self._known_pages.add(page)
        rest = self._session.rest
        self._before = _Before(phase=rest.phase, order=rest.order)
        rest.mark()
        rest.act()
        deed = self._current = HandDeed(gesture=gesture, page=page, attempt=self._attempt(), started_at=self._now())
        self._open.add(deed)
        if gesture.kind == "upload":
            deed.waits += 1  # for their content
        self._study(deed, gesture, frame)
        self._wait_for_more(deed)

    def _switch_to(self, page: int, gesture: Gesture) -> None:
        """Record that a page is waited for, before the first thing that is done to it."""
        if page in self._known_pages or gesture.kind == "close":
            return
        rest = self._session.rest
        rest.mark()
        rest.end()
        attempt = self._attempt()
        self._add(attempt, attempt.next_sequence(), SwitchPage(page=page))

    def _wait_for_more(self, deed: HandDeed) -> None:
        self._stop_timer()
        kind = deed.gesture.kind
        if deed is not self._current or kind in _NO_TIMER or self._dialogs:
            return
        wait = FIELD_S if kind == "input" or (kind in {"click", "dblclick"} and deed.gesture.is_plain) else SETTLE_S
        self._timer = asyncio.get_running_loop().call_later(wait, self.finish)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _keep_password(self, deed: HandDeed) -> None:
        """Keep what was typed into a password field out of everything from now on."""
        if deed.gesture.kind == "input" and deed.gesture.is_secret:
            self._session.keep_secret(deed.gesture.text)

    def _take_files(self, gesture: Gesture) -> bool:
        """Give the content of files to the action that was begun with them."""
        for deed in self._open:
            if deed.gesture.kind == "upload" and _targets(deed.gesture) == _targets(gesture):
                deed.gesture = gesture
                deed.files = tuple(
                    FileInput(
                        name=file.name,
                        mime_type=file.mime_type or "application/octet-stream",
                        content=self._writer.store_file(base64.b64decode(file.content)),
                    )
                    for file in gesture.files
                )
                deed.waits -= 1
                self._write(deed)
                return True
        return False

    def _study(self, deed: HandDeed, gesture: Gesture, frame: HeardFrame | None) -> None:
        """Ask which selectors hold, before what the person does changes the page more than it has."""
        if frame is not None:
            seen = tuple(each for each in (gesture.target, gesture.second) if each is not None)
            self._spawn(deed, self._ask(deed, seen, frame))

    async def _ask(self, deed: HandDeed, seen: tuple[Seen, ...], frame: HeardFrame) -> None:
        for each in seen:
            doubtful = tuple(name.selector for name in each.names if not name.sure)
            deed.proven |= await frame.proven(each.key, doubtful)
        deed.frames = await frame.path()

    def _spawn(self, deed: HandDeed, work: Coroutine[Any, Any, None]) -> None:
        deed.waits += 1
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._arrive(deed, done))

    def _arrive(self, deed: HandDeed, done: asyncio.Task[None]) -> None:
        self._tasks.discard(done)
        with suppress(asyncio.CancelledError):
            if (error := done.exception()) is not None:
                self._writer.warn(f"{deed.id}: the recorder failed: {type(error).__name__}: {error}")
        deed.waits -= 1
        self._write(deed)

    async def _take_download(self, deed: HandDeed, page: int, download: Any) -> None:  # noqa: ANN401 - a view of a download
        seen, content = await describe_download(page, download)
        if content is not None:
            self._watched.capture.take_download(self._session.redactor.text(download.url), seen.name, content)
        if deed.observation is not None:
            deed.observation = deed.observation.model_copy(update={"downloads": (*deed.observation.downloads, seen)})

    def _write(self, deed: HandDeed) -> None:
        if deed not in self._open or deed.observation is None or deed.waits > 0:
            return
        self._open.discard(deed)
        trace = deed.trace()
        self._writer.add_action(
            deed.attempt, trace.model_copy(update={"action": hide_secrets(self._session, trace.action)})
        )
        for weak in deed.weak_targets():
            self.weak.append(weak)
            self._writer.warn(
                self._session.redactor.text(f"{weak.action}: the target {weak.selector} is weak: {weak.why}")
            )
        self._end_attempts()

    def _add(self, attempt: Attempt, sequence: int, action: Action) -> None:
        """Write an action that took no time."""
        now = self._now()
        trace = ActionTrace(
            id=f"{attempt.id}_action_{sequence:03d}",
            sequence=sequence,
            started_at=now,
            ended_at=now,
            action=hide_secrets(self._session, action),
            result=Succeeded(),
            observation=glimpse(self._session, Happenings()),
        )
        self._writer.add_action(attempt, trace)


def _targets(gesture: Gesture) -> set[str]:
    return {each.key for each in (gesture.target, gesture.second) if each is not None}


def _is_nothing(deed: HandDeed, happened: Happenings) -> bool:
    """Say whether a press, or a scroll, came to nothing."""
    kind = deed.gesture.kind
    if kind in HELD:
        return True
    return kind == "scroll" and not deed.gesture.is_changed and not happened.requests
