"""Record the actions of a person from the events their pages report.

Page time runs naturally. An action starts and acts with its first gesture, grows with the gestures that merge into it,
and is closed when another action starts or some time after its last gesture.
"""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.frames import DocumentRequests
from eikon_engine.record.action_log import FINAL_TIMEOUT_S, SETTLE_S, ActionLog
from eikon_engine.record.gestures import (
    INCOMPLETE_KINDS,
    Gesture,
    InteractiveAction,
    has_unknown_direction,
    history_gesture,
    merge,
    navigation_gesture,
)
from eikon_engine.secrets.names import is_secret_field
from eikon_engine.trace.actions import AnswerDialog, FileInput
from eikon_engine.trace.execution import Failed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from eikon_engine.browser.interactive.page_monitor import NavigationKind
    from eikon_engine.browser.interactive.window import ReportingFrame
    from eikon_engine.browser.page_tracker import PageEvents
    from eikon_engine.record.gestures import ElementDescription
    from eikon_engine.record.recording import Recording
    from eikon_engine.record.weak_targets import WeakTarget
    from eikon_engine.trace.execution import ActionTrace
    from eikon_engine.trace.observation import ObservedDialog

TYPING_SETTLE_S: Final = 3.0
"""`SETTLE_S` for clicks and typing in a text field: typing that continues within this time is one action."""
_UNTIMED_KINDS: Final = frozenset({"down"})
_NAVIGATION_KINDS: Final = frozenset({"travel", "navigate", "reload", "open", "close"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _RecordingState:
    """State of the recording before an action started."""

    phase: int
    order: int
    """Number of moments assigned so far."""


class InteractiveRecorder(ActionLog[InteractiveAction]):
    """Turn gestures, dialogs and page events of a person into recorded actions."""

    reply_timeout_s = FINAL_TIMEOUT_S

    def __init__(self, recording: Recording) -> None:
        """Start without actions."""
        super().__init__(recording)
        self._state_before = _RecordingState(phase=0, order=0)
        self._documents: list[tuple[InteractiveAction, DocumentRequests]] = []
        """Navigations of the person with the documents they requested."""
        self._open_dialogs = 0
        """Number of open dialogs."""
        self.subgoal = recording.mission_text
        """Description of the current subgoal, as entered."""
        self.counts: dict[str, int] = {}
        """Number of actions by subgoal, in order."""
        self.weak_targets: list[WeakTarget] = []
        self.on_change: Callable[[], None] = lambda: None
        """Called when an action or a subgoal is added."""

    @property
    def count(self) -> int:
        """Return the number of actions."""
        return sum(self.counts.values())

    def is_busy(self, page: int | None = None) -> bool:
        """Return whether an action is pending, in one page or in any, that may have caused an event."""
        return self._current is not None and page in {None, self._current.page}

    def on_gesture(self, gesture: Gesture, page: int, frame: ReportingFrame | None = None) -> None:
        """Merge a gesture into the current action, or start another action with it."""
        if self.is_closed or page < 0:
            return
        if gesture.kind == "lost":
            self._recording.lose("an interaction", gesture.text)
            return
        if gesture.kind == "files" and self._add_files(gesture):
            return
        current = self._current
        joined = merge(current.gesture, gesture) if current is not None and current.page == page else None
        if current is not None and joined is not None:
            if _target_keys(joined) - _target_keys(current.gesture):
                self._verify_selectors(current, joined, frame)
            current.gesture = joined
            self._restart_timer(current)
            return
        if gesture.kind == "cancel":
            if current is not None and current.gesture.kind in INCOMPLETE_KINDS:
                self.close_current()
            return
        if gesture.kind != "dblclick":  # follows clicks that are recorded already
            self._start_action(gesture, page, frame)

    def on_history_navigation(self, page: int, url: str, direction: Awaitable[NavigationKind | None]) -> None:
        """Start a step through the history of a page whose direction is determined later."""
        gesture = history_gesture()
        self.on_gesture(gesture, page)
        current = self._current
        if current is not None and current.gesture is gesture:
            self.spawn(current, self._resolve_navigation(current, url, direction))

    def start_subgoal(self, description: str) -> None:
        """Close the current attempt and start one at the next subgoal."""
        if self.is_closed:
            return
        self.close_current()
        self.close_attempt()
        self._attempts.start(description)
        self.subgoal = self._recording.redact(description)
        self.counts.setdefault(self.subgoal, 0)
        self.on_change()

    def on_navigation_failed(self, page: int, reason: str) -> None:
        """Mark the current navigation as failed."""
        current = self._current
        if current is not None and current.page == page and current.gesture.kind in _NAVIGATION_KINDS:
            current.result = Failed(code="navigation-failed", message=self._recording.redact(reason))

    def on_dialog_opened(self) -> None:
        """Keep the current action open while a dialog waits for the person."""
        self._open_dialogs += 1
        self._stop_timer()

    def on_dialog_closed(self, seen: ObservedDialog, text: str) -> None:
        """Record how the person answered a dialog, before the action that opened the dialog."""
        if self.is_closed:
            return
        self._open_dialogs = max(0, self._open_dialogs - 1)
        current = self._current
        if seen.kind in {"confirm", "prompt"} and seen.answer == "accepted":
            if current is None:
                self._recording.warn(f"a {seen.kind} that no action opened was accepted; replays dismiss it")
            else:
                current.assign_sequence()
                self.insert_dialog_answer(current, AnswerDialog(page=seen.page, accept=True, text=text))
        elif seen.kind == "beforeunload" and seen.answer == "dismissed":
            self._recording.warn("a beforeunload dialog was dismissed to stay on the page; replays leave the page")
        message = self._recording.redact(seen.message)
        self._session.tracker.note_dialog(seen.model_copy(update={"message": message}))
        if current is not None:
            self._restart_timer(current)

    def close_current(self) -> None:
        """Close the current action; drop it if it had no effect."""
        self._stop_timer()
        current, self._current = self._current, None
        if current is None:
            return
        self._redact_password(current)
        tracker, timeline = self._session.tracker, self._session.timeline
        events = tracker.take_events()
        has_moments = timeline.moments_issued != self._state_before.order
        if _has_no_effect(current, events) and not current.sequence and not has_moments:
            timeline.phase = self._state_before.phase  # nothing happened since, so the phase can be restored
            tracker.restore_events(events)
            self._open_actions.discard(current)
            return
        current.assign_sequence()
        current.ended_at = current.ended_at or self._now()
        self.counts[self.subgoal] = self.counts.get(self.subgoal, 0) + 1
        self.on_change()
        if current.gesture.kind in _NAVIGATION_KINDS and not events.downloads:
            self._documents.append((current, DocumentRequests(events.requests)))
        self.close_action(current, events)

    async def settle(self) -> None:
        """Wait until the pages are idle after the last action, within a bound."""
        if self._current is not None:
            self._current.ended_at = self._now()
        self._stop_timer()
        await self.wait_until_idle(SETTLE_S)

    async def flush(self) -> None:
        """Close the current action and write everything pending."""
        await super().flush()
        for current, documents in self._documents:
            for url in documents.cancelled_urls():
                why = "the next action started before the document arrived, so replays cannot open it"
                self._recording.warn(f"{current.id}: {why}: {url}")

    def close(self) -> None:
        """Stop recording; drop an action that started after everything was written."""
        super().close()
        if self._current is not None:
            self._open_actions.discard(self._current)
            self._current = None

    def _start_action(self, gesture: Gesture, page: int, frame: ReportingFrame | None) -> None:
        self.close_current()
        if gesture.kind not in {"open", "close"}:
            self.record_page_switch(page)
        self.mark_page_known(page)
        timeline = self._session.timeline
        self._state_before = _RecordingState(phase=timeline.phase, order=timeline.moments_issued)
        timeline.mark_begin()
        timeline.mark_acting()
        current = self._current = InteractiveAction(
            gesture=gesture, page=page, attempt=self.current_attempt(), started_at=self._now()
        )
        self._open_actions.add(current)
        if gesture.kind == "upload":
            current.pending_replies += 1  # for the file contents
        self._verify_selectors(current, gesture, frame)
        self._restart_timer(current)

    def _restart_timer(self, action: InteractiveAction) -> None:
        self._stop_timer()
        kind = action.gesture.kind
        if action is not self._current or kind in _UNTIMED_KINDS or self._open_dialogs:
            return
        wait = (
            TYPING_SETTLE_S
            if kind == "input" or (kind in {"click", "dblclick"} and action.gesture.is_plain)
            else SETTLE_S
        )
        self._timer = asyncio.get_running_loop().call_later(wait, self.close_current)

    def _redact_password(self, action: InteractiveAction) -> None:
        """Treat text typed into a field for secrets as one from now on."""
        target = action.gesture.target
        identity = None if target is None else target.identity
        is_secret = action.gesture.is_secret or (identity is not None and is_secret_field(identity.attributes))
        if action.gesture.kind == "input" and is_secret:
            self._session.redact_typed_secret(action.gesture.text)

    def _add_files(self, gesture: Gesture) -> bool:
        """Add file contents to the upload action that is waiting for them."""
        for current in self.open_actions:
            if current.gesture.kind == "upload" and _target_keys(current.gesture) == _target_keys(gesture):
                current.gesture = gesture
                current.files = tuple(
                    FileInput(
                        name=file.name,
                        mime_type=file.mime_type or "application/octet-stream",
                        content=self._recording.writer.store_file(base64.b64decode(file.content)),
                    )
                    for file in gesture.files
                )
                current.pending_replies -= 1
                self.write_if_complete(current)
                return True
        return False

    def _verify_selectors(self, action: InteractiveAction, gesture: Gesture, frame: ReportingFrame | None) -> None:
        """Verify selectors before the effect of the action changes the page further."""
        if frame is not None:
            seen = tuple(each for each in (gesture.target, gesture.second) if each is not None)
            self.spawn(action, self._run_verification(action, seen, frame))

    async def _run_verification(
        self, action: InteractiveAction, elements: tuple[ElementDescription, ...], frame: ReportingFrame
    ) -> None:
        for each in elements:
            doubtful = tuple(name.selector for name in each.names if not name.sure)
            action.verified |= await frame.verify_selectors(each.key, doubtful)
        action.frames = await frame.frame_selectors()

    async def _resolve_navigation(
        self, action: InteractiveAction, url: str, direction: Awaitable[NavigationKind | None]
    ) -> None:
        if (navigation := await direction) is not None:
            action.gesture = navigation_gesture(navigation, url)

    def warnings_for(self, action: InteractiveAction, trace: ActionTrace) -> tuple[str, ...]:
        """Return the warnings about a written action, and keep its weak targets."""
        weak = action.weak_targets()
        self.weak_targets.extend(weak)
        remarks = tuple(map(str, weak))
        if has_unknown_direction(action.gesture):
            remarks += (f"{trace.id}: the direction of the history step is unknown; recorded as go_back",)
        return remarks


def _target_keys(gesture: Gesture) -> set[str]:
    return {each.key for each in (gesture.target, gesture.second) if each is not None}


def _has_no_effect(action: InteractiveAction, events: PageEvents) -> bool:
    """Return whether a press or scroll had no effect."""
    kind = action.gesture.kind
    if kind in INCOMPLETE_KINDS:
        return True
    return kind == "scroll" and not action.gesture.is_changed and not events.requests
