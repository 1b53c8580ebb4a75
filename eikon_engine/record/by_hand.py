"""Record what a person does, as their pages tell it.

Time runs by itself. An action begins, and acts, when a page tells of its first gesture; it grows with those that belong
to it; its time is over when another one begins, or some time after its last one. What its pages show is not waited for:
certifying gives what replays compare.
"""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.documents import AskedDocuments
from eikon_engine.record.gesture import HELD, Gesture, go, is_lost, join, travel
from eikon_engine.record.hand_deed import HandDeed, WeakTarget
from eikon_engine.record.timeline import LAST_S, SETTLE_S, Timeline
from eikon_engine.trace.actions import AnswerDialog, FileInput
from eikon_engine.trace.execution import Failed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime

    from eikon_engine.browser.attached.session import Watched
    from eikon_engine.browser.by_hand.look import HeardFrame
    from eikon_engine.browser.by_hand.pages import Way
    from eikon_engine.browser.ledger import Happenings
    from eikon_engine.record.attempts import Attempts
    from eikon_engine.record.gesture import Seen
    from eikon_engine.record.write import BundleWriter
    from eikon_engine.trace.execution import ActionTrace
    from eikon_engine.trace.observation import DialogSeen

FIELD_S: Final = 3.0
"""As `SETTLE_S`, for what a field is clicked or typed into: typing that goes on so soon is one action."""
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
        self._session = watched.session
        self._writer = writer
        self._attempts = attempts
        self._now = now
        self._timeline: Timeline[HandDeed] = Timeline(watched, writer, attempts, now, mission_text, self._remark)
        self._current: HandDeed | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._before = _Before(phase=0, order=0)
        self._documents: list[tuple[HandDeed, AskedDocuments]] = []
        """Of the pages that the person went to."""
        self._dialogs = 0
        """How many are open."""
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

    def travel(self, page: int, url: str, way: Awaitable[Way | None]) -> None:
        """Take that the person goes through the history of a page; which way is found out."""
        gesture = travel()
        self.hear(gesture, page)
        deed = self._current
        if deed is not None and deed.gesture is gesture:
            self._timeline.spawn(deed, self._find_way(deed, url, way))

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
        if self._is_closed:
            return
        self._dialogs = max(0, self._dialogs - 1)
        deed = self._current
        if seen.kind in {"confirm", "prompt"} and seen.answer == "accepted":
            if deed is None:
                self._writer.warn(f"a {seen.kind} that no action opened was accepted; a replay dismisses it")
            else:
                deed.number()
                self._timeline.answer_before(deed, AnswerDialog(page=seen.page, accept=True, text=text))
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
            self._timeline.forget(deed)
            return
        deed.number()
        deed.ended_at = deed.ended_at or self._now()
        self.counts[self.subgoal] = self.counts.get(self.subgoal, 0) + 1
        self.on_change()
        if deed.gesture.kind in _MEANT_FOR_PAGES and not happened.downloads:
            self._documents.append((deed, AskedDocuments(happened.requests)))
        self._timeline.end(deed, happened)

    async def settle(self) -> None:
        """Let the last action have its time, as long as its pages ask for something, and not for ever."""
        if self._current is not None:
            self._current.ended_at = self._now()
        self._stop_timer()
        await self._timeline.settle(SETTLE_S)

    async def flush(self) -> None:
        """End what is under way, and write it."""
        self.finish()
        await self._timeline.flush(LAST_S)
        for deed, documents in self._documents:
            for url in documents.given_up():
                why = "the person went on before its document had come, so replays cannot go there"
                self._timeline.warn(f"{deed.id}: {why}: {url}")

    def close(self) -> None:
        """Hear no more, and write no more: what is under way is given up."""
        self._is_closed = True
        self._stop_timer()
        self._current = None

    def leave_attempt(self) -> None:
        """Leave the attempt: its last action may still be unwritten."""
        self._timeline.leave_attempt()

    def _begin(self, gesture: Gesture, page: int, frame: HeardFrame | None) -> None:
        self.finish()
        if gesture.kind not in {"open", "close"}:
            self._timeline.switch_to(page)
        self._timeline.know_page(page)
        rest = self._session.rest
        self._before = _Before(phase=rest.phase, order=rest.order)
        rest.mark()
        rest.act()
        deed = self._current = HandDeed(
            gesture=gesture, page=page, attempt=self._timeline.attempt(), started_at=self._now()
        )
        self._timeline.begin(deed)
        if gesture.kind == "upload":
            deed.waits += 1  # for their content
        self._study(deed, gesture, frame)
        self._wait_for_more(deed)

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
        for deed in self._timeline.open:
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
                self._timeline.write(deed)
                return True
        return False

    def _study(self, deed: HandDeed, gesture: Gesture, frame: HeardFrame | None) -> None:
        """Ask which selectors hold, before what the person does changes the page more than it has."""
        if frame is not None:
            seen = tuple(each for each in (gesture.target, gesture.second) if each is not None)
            self._timeline.spawn(deed, self._ask(deed, seen, frame))

    async def _ask(self, deed: HandDeed, seen: tuple[Seen, ...], frame: HeardFrame) -> None:
        for each in seen:
            doubtful = tuple(name.selector for name in each.names if not name.sure)
            deed.proven |= await frame.proven(each.key, doubtful)
        deed.frames = await frame.path()

    async def _find_way(self, deed: HandDeed, url: str, way: Awaitable[Way | None]) -> None:
        if (found := await way) is not None:
            deed.gesture = go(found, url)

    def _remark(self, deed: HandDeed, trace: ActionTrace) -> tuple[str, ...]:
        weak = deed.weak_targets()
        self.weak.extend(weak)
        remarks = tuple(f"{each.action}: the target {each.selector} is weak: {each.why}" for each in weak)
        if is_lost(deed.gesture):
            remarks += (f"{trace.id}: which way through the history it went is not known: one step back is recorded",)
        return remarks


def _targets(gesture: Gesture) -> set[str]:
    return {each.key for each in (gesture.target, gesture.second) if each is not None}


def _is_nothing(deed: HandDeed, happened: Happenings) -> bool:
    """Say whether a press, or a scroll, came to nothing."""
    kind = deed.gesture.kind
    if kind in HELD:
        return True
    return kind == "scroll" and not deed.gesture.is_changed and not happened.requests
