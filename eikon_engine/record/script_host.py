"""Subprocess of `record_script`: run a script with all its browser contexts recorded."""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.browser.attach.context_hooks import observe_contexts, override_launch
from eikon_engine.browser.executable import BROWSER_PATH, find_browser
from eikon_engine.browser.playwright_internals import DeferredInterrupts, impl_of, place_driver_files
from eikon_engine.errors import BrowserMissingError, InterruptedRunError, OutputError
from eikon_engine.files.temporary import process_folder
from eikon_engine.process_group import kill_descendants
from eikon_engine.record.agent_mission import AgentRecording
from eikon_engine.record.attempts import describe_error
from eikon_engine.record.options import AttachOptions
from eikon_engine.record.record_script import RecordedContext, ScriptRequest, ScriptResult

if TYPE_CHECKING:
    from types import TracebackType

    from eikon_engine.browser.playwright_internals import Connection


ORPHANED_S: Final = 3.0
"""Wall time that a script has to end, and to complete its recordings, once its recorder was killed."""
_CALLER_FILES: Final = frozenset({__file__, runpy.run_path.__code__.co_filename})
"""Files of the functions that call a script."""


class ScriptHost:
    """Record each context the script opens: the first into the requested folder, others beside it."""

    def __init__(self, request: ScriptRequest) -> None:
        """Start without recordings."""
        self._request = request
        self._recordings: dict[int, AgentRecording] = {}
        self._texts: dict[int, str] = {}
        self._interrupts: dict[Connection, DeferredInterrupts] = {}
        """What defers interrupts while a client is recorded."""
        self._errors: dict[str, BaseException] = {}
        """Failures of tests by node id."""
        self._tests: dict[int, str] = {}
        self.test: str = ""
        """Node id of the running test."""
        self.recorded: list[RecordedContext] = []
        self.not_recorded: list[str] = []
        self.incomplete: list[str] = []
        self._count = 0

    async def on_context_opened(self, wrapper: object) -> None:
        """Start recording a context."""
        self._count += 1
        number = self._count
        folder = self._request.directory
        directory = folder if number == 1 else folder.with_name(f"{folder.name}-{number}")
        text = self._request.mission_text or self.test or Path(self._request.script).name
        options = AttachOptions(
            secrets=self._request.secrets,
            redact=self._request.redact,
            redaction=self._request.redaction,
            certify=None,
        )
        recording = AgentRecording(wrapper, text, directory, options)
        if recording.connection not in self._interrupts:
            self._interrupts[recording.connection] = DeferredInterrupts(wrapper)
        try:
            await recording.start()
        except Exception as error:  # noqa: BLE001 - the script continues without a recording
            self.not_recorded.append(f"{directory}: {describe_error(error)}")
            return
        self._recordings[id(impl_of(wrapper))] = recording
        self._tests[id(recording)] = self.test
        self._texts[id(recording)] = text

    async def on_context_closing(self, impl: object) -> None:
        """Stop recording a context before it closes."""
        recording = self._recordings.get(id(impl))
        if recording is not None:
            await recording.stop()

    async def on_playwright_stopping(self, connection: Connection, error: BaseException | None) -> None:
        """Stop recording the contexts of a client that stops without closing them."""
        for recording in tuple(self._recordings.values()):
            if recording.connection is connection:
                recording.let_driver_exit(error)
                await recording.stop()
        if connection in self._interrupts:
            self._interrupts.pop(connection).restore()

    def on_test_failed(self, test: str, error: BaseException) -> None:
        """Store the failure of a test."""
        self._errors[test] = error

    def finish(self, error: BaseException | None) -> None:
        """Complete all recordings; `error` is the exception that ended the script."""
        for recording in self._recordings.values():
            test = self._tests[id(recording)]
            try:
                recording.finish(self._errors.get(test) if test else error)
            except Exception as fault:  # noqa: BLE001 - the other recordings must still be completed
                self.not_recorded.append(f"{recording.directory}: {describe_error(fault)}")
                continue
            failure = next((each for each in recording.recording.errors if isinstance(each, OutputError)), None)
            if failure is not None:
                self.incomplete.append(f"{recording.directory}: the recording ends early: {describe_error(failure)}")
            self.recorded.append(
                RecordedContext(
                    directory=recording.directory,
                    mission_text=self._texts[id(recording)],
                    secrets=dict(recording.recording.secrets),
                )
            )


class _PytestPlugin:
    """pytest plugin that tracks the running test and its failure."""

    def __init__(self, host: ScriptHost) -> None:
        self._host = host

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._host.test = nodeid

    def pytest_exception_interact(self, node: Any, call: Any) -> None:  # noqa: ANN401 - pytest is not a dependency
        if hasattr(node, "nodeid"):
            self._host.on_test_failed(node.nodeid, call.excinfo.value)


def _choose_browser(request: ScriptRequest) -> None:
    """Name the requested browser for scripts that launch theirs by `launch_browser`."""
    if request.browser_path is not None:
        os.environ[BROWSER_PATH] = str(request.browser_path)
    elif request.headless is False and not os.environ.get(BROWSER_PATH):
        with suppress(BrowserMissingError):  # a script may name its own
            os.environ[BROWSER_PATH] = str(find_browser(None, environ=os.environ, headless=False).path)


def main() -> int:
    """Read the request from the first file descriptor, run it, and write the result to the second.

    The third is open until the recorder ends: if that is killed, this process and the browser end, too. Ctrl-C is
    blocked until here, as nothing reports it while the modules of this process are imported.
    """
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    request_fd, result_fd, alive_fd = map(int, sys.argv[1:])
    threading.Thread(target=_end_with_recorder, args=(alive_fd,), daemon=True).start()
    with os.fdopen(request_fd, "rb") as pipe:
        request = ScriptRequest.model_validate_json(pipe.read())
    _choose_browser(request)
    host = ScriptHost(request)
    observe_contexts(host)
    override_launch(
        request.browser_path,
        lambda: find_browser(None, environ=os.environ, headless=request.headless is not False).path,
        headless=request.headless,
    )
    place_driver_files(process_folder())
    run = _run_pytest if request.runner == "pytest" else _run_script
    error: BaseException | None = None
    try:
        return run(request, host)
    except BaseException as caught:
        error = caught
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # the command may send another one
        host.finish(error)
        answer = ScriptResult(
            recorded=tuple(host.recorded), not_recorded=tuple(host.not_recorded), incomplete=tuple(host.incomplete)
        )
        with suppress(BrokenPipeError), os.fdopen(result_fd, "wb") as pipe:  # the command was killed
            pipe.write(answer.model_dump_json().encode())


def _end_with_recorder(alive_fd: int) -> None:
    """Wait until the recorder has ended, then complete the recordings; what takes too long is killed."""
    with suppress(OSError):
        os.read(alive_fd, 1)
    os.kill(os.getpid(), signal.SIGINT)
    threading.Event().wait(ORPHANED_S)
    kill_descendants()
    os.kill(os.getpid(), signal.SIGKILL)


def _run_script(request: ScriptRequest, _host: ScriptHost) -> int:
    script = Path(request.script)
    sys.excepthook = _print_error_of_script
    sys.argv = [request.script, *request.arguments]
    sys.path[0] = str(script.resolve().parent)
    runpy.run_path(request.script, run_name="__main__")
    return 0


def _print_error_of_script(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an error as Python does for a script that it runs itself: without what called the script."""
    own = trace
    while own is not None and own.tb_frame.f_code.co_filename in _CALLER_FILES:
        own = own.tb_next
    if own is not None or isinstance(error, SyntaxError):
        trace = own
    sys.__excepthook__(kind, error.with_traceback(trace), trace)


def _run_pytest(request: ScriptRequest, host: ScriptHost) -> int:
    import pytest  # noqa: PLC0415 - not a dependency: only installed where tests are

    sys.path[0] = os.getcwd()  # noqa: PTH109 - as `python -m pytest` does
    return int(pytest.main([request.script, *request.arguments], plugins=[_PytestPlugin(host)]))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(InterruptedRunError.exit_status)  # the command reports it
