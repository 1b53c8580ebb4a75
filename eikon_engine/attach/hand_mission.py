"""One interactive recording: wire the window to the recorder, start it and complete its bundle."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from eikon_engine.browser.attached.session import attach, detach, start_options
from eikon_engine.record.attempts import Attempts
from eikon_engine.record.by_hand import InteractiveRecorder
from eikon_engine.record.gesture import Gesture, navigation_gesture
from eikon_engine.record.keep_out import redact_recording
from eikon_engine.record.mission_id import new_mission_id
from eikon_engine.record.recorder import describe_error
from eikon_engine.record.start import redact_environment, write_start_state
from eikon_engine.record.write import BundleWriter
from eikon_engine.redact.found import SecretDetector
from eikon_engine.trace.execution import ExecutionTrace, Failure, NetworkPart

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping
    from pathlib import Path

    from eikon_engine.attach.by_hand import InteractiveOptions
    from eikon_engine.browser.attached.session import AttachedContext
    from eikon_engine.browser.by_hand.look import ReportingFrame
    from eikon_engine.browser.by_hand.pages import NavigationKind
    from eikon_engine.browser.by_hand.window import Window
    from eikon_engine.record.hand_deed import WeakTarget
    from eikon_engine.trace.observation import ObservedDialog

MAX_SUBGOAL_LENGTH: Final = 200


class InteractiveMission:
    """Record what a person does in a window."""

    def __init__(self, window: Window, directory: Path, options: InteractiveOptions) -> None:
        """Do not record yet."""
        self._window = window
        self._directory = directory
        self._options = options
        self._errors: list[Exception] = []
        self.finished = asyncio.Event()
        """Set when the person has finished."""
        self.was_terminated = False
        self.warnings: tuple[str, ...] = ()

    @property
    def counts(self) -> Mapping[str, int]:
        """Return the number of actions by subgoal."""
        return self._recorder.counts

    @property
    def weak_targets(self) -> tuple[WeakTarget, ...]:
        """Return the weak targets."""
        return tuple(self._recorder.weak_targets)

    @property
    def secrets(self) -> Mapping[str, str]:
        """Return the secret values by name."""
        return self._attached.session.secrets.values

    async def start(self) -> None:
        """Start recording and open the first document.

        Raises:
            OutputError: a recording exists already, or the folder cannot be written.
            NavigationError: the first document cannot be loaded.
        """
        self._writer = BundleWriter(self._directory)
        try:
            await self._start_recording()
            await self._open_first_page()
        except BaseException:
            self._writer.discard()
            raise

    async def _open_first_page(self) -> None:
        try:
            await self._window.start(self._attached.session.tracker, self)
            await self._window.open_url(self._options.url)
        except BaseException:
            self._recorder.close()
            raise

    async def _start_recording(self) -> None:
        options = self._options
        now = options.now()
        self._attached: AttachedContext = await attach(
            self._window.context,
            secrets=options.secrets,
            detector=SecretDetector(options.redaction, options.new_key()),
            network=self._writer.network,
            now=now,
            on_error=self._errors.append,
        )
        session = self._attached.session
        redact = session.redactor.redact_text
        text = redact(options.mission_text)
        self._writer.start(
            ExecutionTrace(
                id=options.new_id(),
                mission_id=new_mission_id(text, now),
                mission_text=text,
                started_at=now,
                status="running",
                environment=redact_environment(session, session.environment),
                start=write_start_state(
                    session, self._writer, start_options(self._attached), self._attached.storage_state
                ),
                network=NetworkPart(),
            )
        )
        self._attempts = Attempts(self._writer, redact, options.now)
        self._recorder = InteractiveRecorder(self._attached, self._writer, self._attempts, options.now, text)
        self._recorder.on_change = self._update_bar

    async def finish(self) -> None:
        """Write everything pending and complete the bundle."""
        recorder = self._recorder
        failure: BaseException | None = None
        try:
            await recorder.settle()
            await recorder.flush()
            recorder.close_attempt()
            recorder.close()
            await self._window.stop()
            await detach(self._attached)
        except BaseException as error:
            failure = error
            raise
        finally:
            self._complete_bundle(failure)

    def stop(self, number: signal.Signals) -> None:
        """End the recording because of a signal."""
        self.was_terminated = number == signal.SIGTERM
        self.finished.set()

    def on_message(self, page: int, frame: ReportingFrame, text: str) -> None:
        """Process a message of the script in a document."""
        try:
            self._handle_gesture(Gesture.model_validate_json(text), page, frame)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            self._writer.warn(f"a malformed page event was not recorded ({place}: {first['msg']})")
        except Exception as error:  # noqa: BLE001 - the mission continues; the error is recorded
            self._errors.append(error)

    def on_page_opened(self, page: int, *, is_popup: bool) -> PageEventAdapter:
        """Process a new page; a page without an opener was opened by the person."""
        if page > 0 and not is_popup:
            self._recorder.on_gesture(Gesture(kind="open"), page)
        return PageEventAdapter(self._recorder)

    def on_page_closed(self, page: int) -> None:
        """Process a closed page; the last one ends the mission."""
        if not self._attached.session.tracker.open_pages():
            self.finished.set()
        elif not self._recorder.is_busy():
            self._recorder.on_gesture(Gesture(kind="close"), page)

    def on_navigation_failed(self, page: int, reason: str) -> None:
        """Process a failed navigation."""
        self._recorder.on_navigation_failed(page, reason)

    def has_recent_activity(self, page: int | None = None) -> bool:
        """Return whether an action is pending, in one page or in any."""
        return self._recorder.is_busy(page)

    def _handle_gesture(self, gesture: Gesture, page: int, frame: ReportingFrame) -> None:
        if gesture.kind == "finish":
            self.finished.set()
        elif gesture.kind == "hello":
            self._update_bar()
        elif gesture.kind == "script_travel":
            self._window.expect_script_navigation(page)
        elif gesture.kind == "subgoal":
            self._recorder.start_subgoal(gesture.text[:MAX_SUBGOAL_LENGTH])
            self._options.progress(f"subgoal: {self._recorder.subgoal}")
        else:
            self._recorder.on_gesture(gesture, page, frame)

    def _update_bar(self) -> None:
        self._window.update_bar(self._recorder.count, self._recorder.subgoal)

    def _complete_bundle(self, failure: BaseException | None) -> None:
        session, writer = self._attached.session, self._writer
        redact = session.redactor.redact_text
        for each in filter(None, (failure, session.tracker.error, *self._errors)):
            writer.add_failure(Failure(message=redact(describe_error(each))))
        warnings = (
            *self._attached.warnings,
            *self._attached.capture.warnings,
            *session.traffic.outcome().notes,
            *(f"the recorder failed: {type(each).__name__}: {each}" for each in self._errors),
        )
        for warning in warnings:
            writer.warn(redact(warning))
        if failure is not None:
            self._attempts.set_status("aborted")
        self.warnings = tuple(map(redact, warnings))
        writer.finish(self._options.now(), self._attempts.status)
        redact_recording(self._directory, session)


class PageEventAdapter:
    """Forward what a person does to one page outside the document."""

    def __init__(self, recorder: InteractiveRecorder) -> None:
        """Forward to the recorder."""
        self._recorder = recorder

    def on_navigated(self, page: int, kind: NavigationKind, url: str) -> None:
        """Record a navigation of the person."""
        self._recorder.on_gesture(navigation_gesture(kind, url), page)

    def on_history_navigated(self, page: int, url: str, direction: Awaitable[NavigationKind | None]) -> None:
        """Record a history navigation of the person."""
        self._recorder.on_history_navigation(page, url, direction)

    def on_dialog_opened(self) -> None:
        """Keep the current action open while a dialog waits for its answer."""
        self._recorder.on_dialog_opened()

    def on_dialog_closed(self, seen: ObservedDialog, text: str) -> None:
        """Record the answer to a dialog."""
        self._recorder.on_dialog_closed(seen, text)

    def has_recent_activity(self, page: int) -> bool:
        """Return whether an action is pending in a page that may have caused an event."""
        return self._recorder.is_busy(page)
