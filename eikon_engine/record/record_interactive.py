"""Record a person in a browser window and certify the recording."""

from __future__ import annotations

import asyncio
import signal
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from eikon_engine.browser.interactive.window import WindowOptions, free_port, open_window
from eikon_engine.certify.options import CertifyOptions
from eikon_engine.errors import EikonError
from eikon_engine.files.wall_clock import random_id, random_key, utc_now
from eikon_engine.record.gestures import Gesture, navigation_gesture
from eikon_engine.record.interactive_recorder import InteractiveRecorder
from eikon_engine.record.options import AttachOptions
from eikon_engine.record.recording import Recording
from eikon_engine.secrets.search import RedactionRules
from eikon_engine.trace.environment import DEFAULT_VIEWPORT

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

    from eikon_engine.browser.interactive.page_monitor import NavigationKind
    from eikon_engine.browser.interactive.window import ReportingFrame, Window
    from eikon_engine.outcome.certification import CertificationReport
    from eikon_engine.record.weak_targets import WeakTarget
    from eikon_engine.trace.environment import Viewport
    from eikon_engine.trace.observation import ObservedDialog

MAX_SUBGOAL_LENGTH: Final = 200


class InteractiveMission:
    """Record what a person does in a window."""

    def __init__(self, window: Window, directory: Path, options: InteractiveOptions) -> None:
        """Do not record yet."""
        self._window = window
        self._options = options
        self._directory = directory
        self.finished = asyncio.Event()
        """Set when the person has finished."""
        self.was_terminated = False

    @property
    def counts(self) -> Mapping[str, int]:
        """Return the number of actions by subgoal."""
        return self._recorder.counts

    @property
    def weak_targets(self) -> tuple[WeakTarget, ...]:
        """Return the weak targets."""
        return tuple(self._recorder.weak_targets)

    async def start(self) -> None:
        """Start recording and open the first document.

        Raises:
            OutputError: a recording exists already, or the folder cannot be written.
            NavigationError: the first document cannot be loaded.
        """
        options = self._options
        chosen = AttachOptions(
            secrets=options.secrets,
            redaction=options.redaction,
            now=options.now,
            new_id=options.new_id,
            new_key=options.new_key,
        )
        recording = self.recording = Recording(self._directory, chosen, mission_text=options.mission_text)
        async with recording.discarded_on_error():
            await recording.attach(self._window.context)
            recording.recorder = self._recorder = InteractiveRecorder(recording)
            self._recorder.on_change = self._update_bar
            try:
                await self._window.start(recording.session.tracker, self)
                await self._window.open_url(options.url)
            except BaseException:
                self._recorder.close()
                raise

    async def finish(self) -> None:
        """Write everything pending and complete the bundle."""
        failure: BaseException | None = None
        try:
            failure = await self.recording.stop()
            await self._window.stop()
        except BaseException as error:
            failure = error
            raise
        finally:
            self.recording.finish(failure)
        if failure is not None:
            raise failure

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
            self.recording.lose("an interaction", f"its page event is malformed ({place}: {first['msg']})")
        except Exception as error:  # noqa: BLE001 - the mission continues; the error is recorded
            self.recording.errors.append(error)

    def on_page_opened(self, page: int, *, is_popup: bool) -> PageEventAdapter:
        """Process a new page; a page without an opener was opened by the person."""
        if page > 0 and not is_popup:
            self._recorder.on_gesture(Gesture(kind="open"), page)
        return PageEventAdapter(self._recorder)

    def on_page_closed(self, page: int) -> None:
        """Process a closed page; the last one ends the mission."""
        if not self.recording.session.tracker.open_pages():
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


_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def _ignore(_line: str) -> None:
    """Discard a progress line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InteractiveOptions:
    """Options of an interactive recording."""

    url: str
    mission_text: str
    headless: bool = False
    debugging_port: int | None = None
    """Loopback port for driving the browser remotely; a free one if headless."""
    viewport: Viewport = DEFAULT_VIEWPORT
    browser_path: Path | None = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    certify: CertifyOptions | None = field(default_factory=CertifyOptions)
    """How to certify the recording at its end; None to skip certifying."""
    progress: Callable[[str], None] = _ignore
    """Receives progress lines."""
    redaction: RedactionRules = field(default_factory=RedactionRules)
    """Additional rules and exceptions for secrets."""
    now: Callable[[], datetime] = utc_now
    new_id: Callable[[], str] = random_id
    new_key: Callable[[], bytes] = random_key


@dataclass(frozen=True, slots=True, kw_only=True)
class InteractiveReport:
    """Result of an interactive recording."""

    counts: Mapping[str, int]
    """Number of actions by subgoal, in order."""
    weak_targets: tuple[WeakTarget, ...]
    warnings: tuple[str, ...]
    certification: CertificationReport | None = None
    """None if certifying was skipped or failed."""
    certify_error: str | None = None
    """Why certifying failed."""

    @property
    def exit_status(self) -> int:
        """Return the exit status of the command."""
        if self.certify_error is not None:
            return 1
        return 0 if self.certification is None else self.certification.exit_status


async def record_interactive(directory: Path, options: InteractiveOptions) -> InteractiveReport:
    """Record until the person finishes, closes the last page, or stops the program; then certify.

    Raises:
        UsageError: no display for the window, or the port is in use.
        OutputError: a recording exists already, or the folder cannot be written.
        NavigationError: the first document cannot be loaded; nothing is recorded.
        BrowserMissingError: no browser is installed.
    """
    port = free_port(options.debugging_port) if options.headless or options.debugging_port is not None else None
    chosen = WindowOptions(
        headless=options.headless,
        debugging_port=port,
        browser_path=options.browser_path,
        viewport=options.viewport,
    )
    async with open_window(chosen) as window:
        mission = InteractiveMission(window, directory, options)
        with _stop_on_signals(mission.stop):
            await mission.start()
            _print_instructions(options, port)
            await mission.finished.wait()
            await mission.finish()
    report = InteractiveReport(
        counts=mission.counts, weak_targets=mission.weak_targets, warnings=mission.recording.warnings
    )
    if options.certify is None:
        return report
    if mission.was_terminated:
        return replace(report, certify_error="stopped by SIGTERM")
    try:
        return replace(report, certification=await mission.recording.certify(options.certify))
    except EikonError as error:  # the recording is complete; it can be certified later
        return replace(report, certify_error=error.message)


def _print_instructions(options: InteractiveOptions, port: int | None) -> None:
    if port is not None:
        options.progress(
            f"remote control: open chrome://inspect/#devices in Chrome, add 127.0.0.1:{port} under Configure and click "
            f"inspect (http://127.0.0.1:{port}/json/list lists the pages)"
        )
        options.progress(f"from another machine, first run: ssh -N -L {port}:127.0.0.1:{port} THIS-MACHINE")
    options.progress("recording; to stop: Finish in the page, Ctrl+Shift+F9, close the last page, or Ctrl-C here")


@contextmanager
def _stop_on_signals(stop: Callable[[signal.Signals], None]) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the recording instead of the program; restore the handlers afterwards."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before: dict[signal.Signals, Any] = {each: signal.getsignal(each) for each in _SIGNALS}
    for each in _SIGNALS:
        loop.add_signal_handler(each, stop, each)
    try:
        yield
    finally:
        for each, handler in before.items():
            loop.remove_signal_handler(each)
            signal.signal(each, handler)
