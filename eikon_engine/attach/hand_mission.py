"""One interactive recording: wire the window to the recorder, start it and complete its bundle."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from eikon_engine.browser.attached.session import kept_options, unwatch, watch
from eikon_engine.record.attempts import Attempts
from eikon_engine.record.by_hand import HandRecorder
from eikon_engine.record.gesture import Gesture, go
from eikon_engine.record.keep_out import keep_secrets_out
from eikon_engine.record.mission_id import new_mission_id
from eikon_engine.record.recorder import describe_error
from eikon_engine.record.start import without_secrets, write_start
from eikon_engine.record.write import BundleWriter
from eikon_engine.redact.found import FoundSecrets
from eikon_engine.trace.execution import ExecutionTrace, Failure, NetworkPart

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping
    from pathlib import Path

    from eikon_engine.attach.by_hand import ByHandOptions
    from eikon_engine.browser.attached.session import Watched
    from eikon_engine.browser.by_hand.look import HeardFrame
    from eikon_engine.browser.by_hand.pages import Way
    from eikon_engine.browser.by_hand.window import Window
    from eikon_engine.record.hand_deed import WeakTarget
    from eikon_engine.trace.observation import DialogSeen

SUBGOAL_LENGTH: Final = 200


class HandMission:
    """Record what a person does in a window."""

    def __init__(self, window: Window, directory: Path, options: ByHandOptions) -> None:
        """Do not record yet."""
        self._window = window
        self._directory = directory
        self._options = options
        self._faults: list[Exception] = []
        self.over = asyncio.Event()
        """Set when the person has finished."""
        self.was_terminated = False
        self.warnings: tuple[str, ...] = ()

    @property
    def counts(self) -> Mapping[str, int]:
        """Return the number of actions by subgoal."""
        return self._recorder.counts

    @property
    def weak(self) -> tuple[WeakTarget, ...]:
        """Return the weak targets."""
        return tuple(self._recorder.weak)

    @property
    def secrets(self) -> Mapping[str, str]:
        """Return the secret values by name."""
        return self._watched.session.secrets.values

    async def begin(self) -> None:
        """Start recording and open the first document.

        Raises:
            OutputError: a recording exists already, or the folder cannot be written.
            NavigationError: the first document cannot be loaded.
        """
        self._writer = BundleWriter(self._directory)
        try:
            await self._start()
            await self._open()
        except BaseException:
            self._writer.discard()
            raise

    async def _open(self) -> None:
        try:
            await self._window.start(self._watched.session.ledger, self)
            await self._window.go(self._options.url)
        except BaseException:
            self._recorder.close()
            raise

    async def _start(self) -> None:
        options = self._options
        now = options.now()
        self._watched: Watched = await watch(
            self._window.context,
            secrets=options.secrets,
            found=FoundSecrets(options.redaction, options.new_key()),
            network=self._writer.network,
            now=now,
            on_fault=self._faults.append,
        )
        session = self._watched.session
        redact = session.redactor.text
        text = redact(options.mission_text)
        self._writer.begin(
            ExecutionTrace(
                id=options.new_id(),
                mission_id=new_mission_id(text, now),
                mission_text=text,
                started_at=now,
                status="running",
                environment=without_secrets(session, session.environment),
                start=write_start(session, self._writer, kept_options(self._watched), self._watched.storage_state),
                network=NetworkPart(),
            )
        )
        self._attempts = Attempts(self._writer, redact, options.now)
        self._recorder = HandRecorder(self._watched, self._writer, self._attempts, options.now, text)
        self._recorder.on_change = self._show

    async def end(self) -> None:
        """Write everything pending and complete the bundle."""
        recorder = self._recorder
        failure: BaseException | None = None
        try:
            await recorder.settle()
            await recorder.flush()
            recorder.leave_attempt()
            recorder.close()
            await self._window.stop()
            await unwatch(self._watched)
        except BaseException as error:
            failure = error
            raise
        finally:
            self._complete(failure)

    def stop(self, number: signal.Signals) -> None:
        """End the recording because of a signal."""
        self.was_terminated = number == signal.SIGTERM
        self.over.set()

    def told(self, page: int, frame: HeardFrame, text: str) -> None:
        """Process a message of the script in a document."""
        try:
            self._take(Gesture.model_validate_json(text), page, frame)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            self._writer.warn(f"a malformed page event was not recorded ({place}: {first['msg']})")
        except Exception as error:  # noqa: BLE001 - the mission continues; the error is recorded
            self._faults.append(error)

    def opened(self, page: int, *, is_popup: bool) -> HandPage:
        """Process a new page; a page without an opener was opened by the person."""
        if page > 0 and not is_popup:
            self._recorder.hear(Gesture(kind="open"), page)
        return HandPage(self._recorder)

    def closed(self, page: int) -> None:
        """Process a closed page; the last one ends the mission."""
        if not self._watched.session.ledger.open_pages():
            self.over.set()
        elif not self._recorder.is_busy():
            self._recorder.hear(Gesture(kind="close"), page)

    def failed(self, page: int, reason: str) -> None:
        """Process a failed navigation."""
        self._recorder.fail_navigation(page, reason)

    def is_busy(self, page: int | None = None) -> bool:
        """Return whether an action is pending, in one page or in any."""
        return self._recorder.is_busy(page)

    def _take(self, gesture: Gesture, page: int, frame: HeardFrame) -> None:
        if gesture.kind == "finish":
            self.over.set()
        elif gesture.kind == "hello":
            self._show()
        elif gesture.kind == "script_travel":
            self._window.expect_travel(page)
        elif gesture.kind == "subgoal":
            self._recorder.begin_subgoal(gesture.text[:SUBGOAL_LENGTH])
            self._options.say(f"subgoal: {self._recorder.subgoal}")
        else:
            self._recorder.hear(gesture, page, frame)

    def _show(self) -> None:
        self._window.show(self._recorder.count, self._recorder.subgoal)

    def _complete(self, failure: BaseException | None) -> None:
        session, writer = self._watched.session, self._writer
        redact = session.redactor.text
        for each in filter(None, (failure, session.ledger.fault, *self._faults)):
            writer.add_failure(Failure(message=redact(describe_error(each))))
        warnings = (
            *self._watched.warnings,
            *self._watched.capture.warnings,
            *session.traffic.outcome().notes,
            *(f"the recorder failed: {type(each).__name__}: {each}" for each in self._faults),
        )
        for warning in warnings:
            writer.warn(redact(warning))
        if failure is not None:
            self._attempts.say("aborted")
        self.warnings = tuple(map(redact, warnings))
        writer.end(self._options.now(), self._attempts.status)
        keep_secrets_out(self._directory, session)


class HandPage:
    """Forward what a person does to one page outside the document."""

    def __init__(self, recorder: HandRecorder) -> None:
        """Forward to the recorder."""
        self._recorder = recorder

    def navigated(self, page: int, way: Way, url: str) -> None:
        """Record a navigation of the person."""
        self._recorder.hear(go(way, url), page)

    def travelled(self, page: int, url: str, way: Awaitable[Way | None]) -> None:
        """Record a history navigation of the person."""
        self._recorder.travel(page, url, way)

    def dialog_opened(self) -> None:
        """Keep the current action open while a dialog waits for its answer."""
        self._recorder.open_dialog()

    def dialog_closed(self, seen: DialogSeen, text: str) -> None:
        """Record the answer to a dialog."""
        self._recorder.close_dialog(seen, text)

    def is_busy(self, page: int) -> bool:
        """Return whether an action is pending in a page that may have caused an event."""
        return self._recorder.is_busy(page)
