"""Record the actions of a person from the events their pages report.

Page time runs naturally. An action starts and acts with its first gesture, grows with the gestures that merge into it,
and is closed when another action starts or some time after its last gesture. Observations are taken immediately;
certifying produces the ones that replays compare.
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
"""`SETTLE_S` for clicks and typing in a text field: typing that continues within this time is one action."""
_NO_TIMER: Final = frozenset({"down"})
_MEANT_FOR_PAGES: Final = frozenset({"travel", "navigate", "reload", "open", "close"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Before:
    """State of the recording before an action started."""

    phase: int
    order: int
    """Number of moments assigned so far."""


class HandRecorder:
    """Turn gestures, dialogs and page events of a person into recorded actions."""

    def __init__(
        self,
        watched: Watched,
        writer: BundleWriter,
        attempts: Attempts,
        now: Callable[[], datetime],
        mission_text: str,
    ) -> None:
        """Start without a pending action; `mission_text` describes steps before the first subgoal."""
        self._session = watched.session
        self._writer = writer
        self._attempts = attempts
        self._now = now
        self._timeline: Timeline[HandDeed] = Timeline(watched, writer, attempts, now, mission_text, self._remark)
        self._current: HandDeed | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._before = _Before(phase=0, order=0)
        self._documents: list[tuple[HandDeed, AskedDocuments]] = []
        """Navigations of the person with the documents they requested."""
        self._dialogs = 0
        """Number of open dialogs."""
        self._is_closed = False
        self.subgoal = mission_text
        """Description of the current subgoal, as entered."""
        self.counts: dict[str, int] = {}
        """Number of actions by subgoal, in order."""
        self.weak: list[WeakTarget] = []
        self.on_change: Callable[[], None] = lambda: None
        """Called when an action or a subgoal is added."""

    @property
    def count(self) -> int:
        """Return the number of actions."""
        return sum(self.counts.values())

    def is_busy(self, page: int | None = None) -> bool:
        """Return whether an action is pending, in one page or in any, that may have caused an event."""
        return self._current is not None and page in {None, self._current.page}

    def hear(self, gesture: Gesture, page: int, frame: HeardFrame | None = None) -> None:
        """Merge a gesture into the current action, or start another action with it."""
        if self._is_closed or page < 0:
            return
        if gesture.kind == "lost":
            self._writer.warn(f"an interaction was not recorded: {gesture.text}")
            return
        if gesture.kind == "files" and self._take_files(gesture):
            return
        current = self._current
        joined = join(current.gesture, gesture) if current is not None and current.page == page else None
        if current is not None and joined is not None:
            if _targets(joined) - _targets(current.gesture):
                self._study(current, joined, frame)
            current.gesture = joined
            self._wait_for_more(current)
            return
        if gesture.kind == "cancel":
            if current is not None and current.gesture.kind in HELD:
                self.finish()
            return
        if gesture.kind != "dblclick":  # follows clicks that are recorded already
            self._begin(gesture, page, frame)

    def travel(self, page: int, url: str, way: Awaitable[Way | None]) -> None:
        """Start a step through the history of a page whose direction is determined later."""
        gesture = travel()
        self.hear(gesture, page)
        current = self._current
        if current is not None and current.gesture is gesture:
            self._timeline.spawn(current, self._find_way(current, url, way))

    def begin_subgoal(self, description: str) -> None:
        """Close the current attempt and start one at the next subgoal."""
        if self._is_closed:
            return
        self.finish()
        self.leave_attempt()
        self._attempts.begin(description)
        self.subgoal = self._session.redactor.text(description)
        self.counts.setdefault(self.subgoal, 0)
        self.on_change()

    def fail_navigation(self, page: int, reason: str) -> None:
        """Mark the current navigation as failed."""
        current = self._current
        if current is not None and current.page == page and current.gesture.kind in _MEANT_FOR_PAGES:
            current.result = Failed(code="navigation-failed", message=self._session.redactor.text(reason))

    def open_dialog(self) -> None:
        """Keep the current action open while a dialog waits for the person."""
        self._dialogs += 1
        self._stop_timer()

    def close_dialog(self, seen: DialogSeen, text: str) -> None:
        """Record how the person answered a dialog, before the action that opened the dialog."""
        if self._is_closed:
            return
        self._dialogs = max(0, self._dialogs - 1)
        current = self._current
        if seen.kind in {"confirm", "prompt"} and seen.answer == "accepted":
            if current is None:
                self._writer.warn(f"a {seen.kind} that no action opened was accepted; replays dismiss it")
            else:
                current.number()
                self._timeline.answer_before(current, AnswerDialog(page=seen.page, accept=True, text=text))
        elif seen.kind == "beforeunload" and seen.answer == "dismissed":
            self._writer.warn("a beforeunload dialog was dismissed to stay on the page; replays leave the page")
        redact = self._session.redactor.text
        self._session.ledger.note_dialog(seen.model_copy(update={"message": redact(seen.message)}))
        if current is not None:
            self._wait_for_more(current)

    def finish(self) -> None:
        """Close the current action; drop it if it had no effect."""
        self._stop_timer()
        current, self._current = self._current, None
        if current is None:
            return
        self._keep_password(current)
        ledger, rest = self._session.ledger, self._session.rest
        events = ledger.take()
        if _is_nothing(current, events) and not current.sequence and rest.order == self._before.order:
            rest.phase = self._before.phase  # nothing happened since, so the phase can be restored
            ledger.put_back(events)
            self._timeline.forget(current)
            return
        current.number()
        current.ended_at = current.ended_at or self._now()
        self.counts[self.subgoal] = self.counts.get(self.subgoal, 0) + 1
        self.on_change()
        if current.gesture.kind in _MEANT_FOR_PAGES and not events.downloads:
            self._documents.append((current, AskedDocuments(events.requests)))
        self._timeline.end(current, events)

    async def settle(self) -> None:
        """Wait until the pages are idle after the last action, within a bound."""
        if self._current is not None:
            self._current.ended_at = self._now()
        self._stop_timer()
        await self._timeline.settle(SETTLE_S)

    async def flush(self) -> None:
        """Close the current action and write everything pending."""
        self.finish()
        await self._timeline.flush(LAST_S)
        for current, documents in self._documents:
            for url in documents.given_up():
                why = "the next action started before the document arrived, so replays cannot open it"
                self._timeline.warn(f"{current.id}: {why}: {url}")

    def close(self) -> None:
        """Stop recording; drop the pending action."""
        self._is_closed = True
        self._stop_timer()
        self._current = None

    def leave_attempt(self) -> None:
        """Close the attempt; its last action may still be pending."""
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
        current = self._current = HandDeed(
            gesture=gesture, page=page, attempt=self._timeline.attempt(), started_at=self._now()
        )
        self._timeline.begin(current)
        if gesture.kind == "upload":
            current.waits += 1  # for the file contents
        self._study(current, gesture, frame)
        self._wait_for_more(current)

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
        """Treat text typed into a password field as a secret from now on."""
        if deed.gesture.kind == "input" and deed.gesture.is_secret:
            self._session.keep_secret(deed.gesture.text)

    def _take_files(self, gesture: Gesture) -> bool:
        """Add file contents to the upload action that is waiting for them."""
        for current in self._timeline.open:
            if current.gesture.kind == "upload" and _targets(current.gesture) == _targets(gesture):
                current.gesture = gesture
                current.files = tuple(
                    FileInput(
                        name=file.name,
                        mime_type=file.mime_type or "application/octet-stream",
                        content=self._writer.store_file(base64.b64decode(file.content)),
                    )
                    for file in gesture.files
                )
                current.waits -= 1
                self._timeline.write(current)
                return True
        return False

    def _study(self, deed: HandDeed, gesture: Gesture, frame: HeardFrame | None) -> None:
        """Verify selectors before the effect of the action changes the page further."""
        if frame is not None:
            seen = tuple(each for each in (gesture.target, gesture.second) if each is not None)
            self._timeline.spawn(deed, self._ask(deed, seen, frame))

    async def _ask(self, deed: HandDeed, seen: tuple[Seen, ...], frame: HeardFrame) -> None:
        for each in seen:
            doubtful = tuple(name.selector for name in each.names if not name.sure)
            deed.proven |= await frame.proven(each.key, doubtful)
        deed.frames = await frame.path()

    async def _find_way(self, deed: HandDeed, url: str, way: Awaitable[Way | None]) -> None:
        if (navigation := await way) is not None:
            deed.gesture = go(navigation, url)

    def _remark(self, deed: HandDeed, trace: ActionTrace) -> tuple[str, ...]:
        weak = deed.weak_targets()
        self.weak.extend(weak)
        remarks = tuple(f"{each.action}: the target {each.selector} is weak: {each.why}" for each in weak)
        if is_lost(deed.gesture):
            remarks += (f"{trace.id}: the direction of the history step is unknown; recorded as go_back",)
        return remarks


def _targets(gesture: Gesture) -> set[str]:
    return {each.key for each in (gesture.target, gesture.second) if each is not None}


def _is_nothing(deed: HandDeed, happened: Happenings) -> bool:
    """Return whether a press or scroll had no effect."""
    kind = deed.gesture.kind
    if kind in HELD:
        return True
    return kind == "scroll" and not deed.gesture.is_changed and not happened.requests
