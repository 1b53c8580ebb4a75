"""Run a Python script or pytest test unchanged in a subprocess and record its browser contexts."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Literal

from pydantic import BaseModel, ConfigDict

from eikon_engine.browser.executable import find_browser, require_open_files
from eikon_engine.errors import InterruptedRunError, UsageError
from eikon_engine.record.bundle_writer import BundleWriter
from eikon_engine.secrets.search import RedactionRules


class ScriptRequest(BaseModel):
    """A script to run and where to record it."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    script: str
    """Path of a Python script, or of a pytest test, optionally with a node id: `test_shop.py::test_order`."""
    arguments: tuple[str, ...] = ()
    runner: Literal["python", "pytest"] = "python"
    directory: Path
    mission_text: str | None = None
    browser_path: Path | None = None
    headless: bool | None = None
    """Whether browsers have no window; None: as the script asks."""
    secrets: dict[str, str] = {}
    redact: bool = True
    redaction: RedactionRules = RedactionRules()


class RecordedContext(BaseModel):
    """One recorded context of the script."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    directory: Path
    mission_text: str
    secrets: dict[str, str]
    """Declared and found secrets."""


class ScriptResult(BaseModel):
    """The recordings of a script."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    recorded: tuple[RecordedContext, ...] = ()
    not_recorded: tuple[str, ...] = ()
    """Contexts that could not be recorded, with the reason."""
    incomplete: tuple[str, ...] = ()
    """Recordings that end early because a file could not be written, with the reason."""


FORWARD_AFTER_S: Final = 5.0
"""Wall time after which a script that ignored a SIGINT, or was not sent it, is sent one."""
STOP_TIMEOUT_S: Final = 30.0
"""Wall time that an interrupted script has to end and to complete its recordings."""
_TEST_FILE: Final = re.compile(r"^test_.*\.py$|^.*_test\.py$")
"""Test file names that pytest collects: https://docs.pytest.org/en/stable/explanation/goodpractices.html."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptRun:
    """Exit status of a script and its recordings."""

    exit_status: int
    result: ScriptResult
    interrupt: KeyboardInterrupt | None = None
    """What stopped the command, and with it the script."""


def is_pytest_target(script: str) -> bool:
    """Return whether pytest must run the script."""
    return "::" in script or _TEST_FILE.match(Path(script).name) is not None


def record_script(request: ScriptRequest) -> ScriptRun:
    """Run the script in a subprocess with the terminal and working directory of this process.

    Raises:
        UsageError: the script is missing, or its process died without a result.
        OutputError: a recording exists already, or the folder cannot be written.
        BrowserError: the requested browser, or any, cannot be used.
        KeyboardInterrupt: the command was stopped, and the script left no result.
    """
    script = Path(request.script.partition("::")[0])
    if not script.is_file():
        message = f"{script}: no such Python script or pytest test; check the path"
        raise UsageError(message)
    require_open_files()
    BundleWriter(request.directory).discard()  # before the script acts
    if request.browser_path is not None:
        find_browser(request.browser_path, environ=os.environ)
    request_in, request_out = os.pipe()
    result_in, result_out = os.pipe()
    alive_in, alive_out = os.pipe()
    alive = os.fdopen(alive_out, "wb")  # open until this process ends, however it does
    theirs = (request_in, result_out, alive_in)
    command = [sys.executable, "-m", "eikon_engine.record.script_host", *map(str, theirs)]
    with _start_host(command, theirs) as child, alive:
        for each in theirs:
            os.close(each)
        with suppress(BrokenPipeError), os.fdopen(request_out, "wb") as pipe:  # it died; its status says how
            pipe.write(request.model_dump_json().encode())
        interrupt: KeyboardInterrupt | None = None
        with os.fdopen(result_in, "rb") as pipe:
            try:
                output = pipe.read()
            except KeyboardInterrupt as stop:
                interrupt, output = stop, _read_interrupted_result(child, pipe, stop)
        status = child.wait()
    if output:
        result = ScriptResult.model_validate_json(output)
        return ScriptRun(exit_status=status, result=result, interrupt=interrupt)
    if interrupt is not None:
        raise interrupt
    raise UsageError(_died_message(request, status))


def _start_host(command: list[str], descriptors: tuple[int, ...]) -> subprocess.Popen[bytes]:
    """Start the process of a script; it blocks Ctrl-C until it can complete its recordings."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return subprocess.Popen(command, pass_fds=descriptors)  # noqa: S603 - runs this package
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _read_interrupted_result(child: subprocess.Popen[bytes], pipe: IO[bytes], stop: KeyboardInterrupt) -> bytes:
    """Return what an interrupted script reports once its recordings are complete; a second interrupt kills it.

    Ctrl-C reaches the script, too; SIGTERM only this process, and so does a SIGINT that another process sends to it: a
    script that has not ended soon after a SIGINT is sent one.
    """
    is_terminated = InterruptedRunError.stop_cause(stop) == signal.SIGTERM.name
    forward = threading.Timer(0 if is_terminated else FORWARD_AFTER_S, child.send_signal, [signal.SIGINT])
    deadline = threading.Timer(STOP_TIMEOUT_S, child.kill)
    forward.start()
    deadline.start()
    try:
        output = pipe.read()
        child.wait()  # its exit functions may hang, too
    except KeyboardInterrupt:
        child.kill()
        raise
    else:
        return output
    finally:
        forward.cancel()
        deadline.cancel()


def _signal_name(number: int) -> str:
    known = {each.value: each.name for each in signal.Signals}
    return known.get(number, f"signal {number}")


def _died_message(request: ScriptRequest, status: int) -> str:
    how = f"exited with status {status}" if status >= 0 else f"was killed by {_signal_name(-status)}"
    left = (
        f"what was recorded until then is in {request.directory}" if request.directory.exists() else "nothing is left"
    )
    return f"{request.script}: its process {how} without a result; {left}"
