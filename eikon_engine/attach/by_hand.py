"""Record a person in a browser window and certify the recording."""

from __future__ import annotations

import asyncio
import signal
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.attach.certified import certify_recording
from eikon_engine.attach.hand_mission import InteractiveMission
from eikon_engine.browser.by_hand.window import WindowOptions, free_port, open_window
from eikon_engine.certify.options import CertifyOptions
from eikon_engine.errors import EikonError
from eikon_engine.redact.rules import RedactionRules
from eikon_engine.trace.environment import DEFAULT_VIEWPORT
from eikon_engine.trace.wall_clock import random_id, random_key, utc_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

    from eikon_engine.certify.certification import CertificationReport
    from eikon_engine.record.hand_deed import WeakTarget
    from eikon_engine.trace.environment import Viewport

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
    report = InteractiveReport(counts=mission.counts, weak_targets=mission.weak_targets, warnings=mission.warnings)
    if options.certify is None:
        return report
    if mission.was_terminated:
        return replace(report, certify_error="stopped by SIGTERM")
    return await _certify(report, directory, replace(options.certify, secrets=mission.secrets))


async def _certify(report: InteractiveReport, directory: Path, options: CertifyOptions) -> InteractiveReport:
    try:
        return replace(report, certification=await certify_recording(directory, options))
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
