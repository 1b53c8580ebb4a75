"""`system:run_script`: run the test command in the copy of the tree, and store its output."""

from __future__ import annotations

import os
import re
import shlex
from collections import deque
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from eikon_engine.errors import OutputError
from eikon_engine.files.writing import make_folders, write_atomically, write_error_message
from eikon_engine.fix.git import without_git_variables
from eikon_engine.fix.models import CapturedStream, TestRun
from eikon_engine.process_group import Command, ProcessResult, run_in_group
from eikon_engine.secrets.environment import EnvironmentSecrets, RedactingStream

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eikon_engine.fix.models import RunScriptInput

_PYTEST: Final = re.compile(
    r"\s*(?:[A-Za-z_]\w*=[\w./:,@%+-]*\s+)*"
    r"(?:(?:[\w.@+-]*/)*python3?(?:\.\d+)?(?:\s+-[BIsSuEW]\w*)*\s+-m\s+pytest|(?:[\w.@+-]*/)*(?:pytest|py\.test))"
    r"(?=\s|$)"
)
"""Variable assignments, then pytest by name or as a Python module, without shell expansions."""
_CD_PREFIX: Final = re.compile(r"\s*cd\s+(?P<folder>(?![-~])[\w./@+-]+)\s*&&")
"""A leading `cd` to a literal folder."""
_SHELL: Final = re.compile(r"[;&|<>`$(){}\n\\#!]")
"""Characters that make a command more than one program and its arguments."""
_PYTEST_CONFIGS: Final = (
    "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "pyproject.toml", "tox.ini", "setup.cfg",
)  # fmt: skip


def with_junit_option(command: str, report: Path, *, cwd: Path, environ: Mapping[str, str]) -> str | None:
    """Return a command that also writes `report`; None if it is not clearly pytest, or already writes one.

    The option is inserted directly after the program. The `xunit1` family includes the file of each test.
    """
    moved = _CD_PREFIX.match(command)
    if moved is not None:
        rest = with_junit_option(command[moved.end() :], report, cwd=cwd / moved["folder"], environ=environ)
        return None if rest is None else command[: moved.end()] + rest
    found = _PYTEST.match(command)
    if found is None or _SHELL.search(_outside_single_quotes(command)):
        return None
    try:
        shlex.split(command)
    except ValueError:
        return None
    if "junit" in command or "junit" in environ.get("PYTEST_ADDOPTS", "") or _is_configured(cwd):
        return None
    option = f" --junit-xml={shlex.quote(str(report))} -o junit_family=xunit1"
    return command[: found.end()] + option + command[found.end() :]


def _outside_single_quotes(command: str) -> str:
    """Remove single-quoted parts, in which the shell interprets nothing."""
    return re.sub(r"'[^']*'", "", command)


def _is_configured(cwd: Path) -> bool:
    """Return whether a pytest configuration that may apply here mentions junit."""
    folders = (cwd, *cwd.absolute().parents)
    return any(_mentions_junit(folder / name) for folder in folders for name in _PYTEST_CONFIGS)


def _mentions_junit(path: Path) -> bool:
    try:
        return b"junit" in path.read_bytes()
    except OSError:
        return False


HEAD_BYTES: Final = 8 * 2**20
TAIL_BYTES: Final = 2 * 2**20


class BoundedOutput:
    """Write output to a file immediately up to a limit; beyond it, buffer only the tail in memory."""

    def __init__(self, path: Path, *, head_bytes: int = HEAD_BYTES, tail_bytes: int = TAIL_BYTES) -> None:
        """Create the file.

        Raises:
            OutputError: the file cannot be created.
        """
        try:
            make_folders(path.parent)
            self._file = path.open("wb", buffering=0)
        except OSError as error:
            raise OutputError(write_error_message(path, error)) from error
        self._path = path
        self._head_room = head_bytes
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._tail_limit = tail_bytes
        self.bytes_written = 0
        """Bytes received."""
        self.bytes_omitted = 0
        """Bytes received but not stored in the file; final after `close`."""

    def write(self, data: bytes) -> None:
        """Append data.

        Raises:
            OutputError: the file cannot be written.
        """
        self.bytes_written += len(data)
        head, rest = data[: self._head_room], data[self._head_room :]
        self._head_room -= len(head)
        self._write_all(head)
        if rest:
            self._tail.append(rest)
            self._tail_bytes += len(rest)
        while self._tail and self._tail_bytes - len(self._tail[0]) >= self._tail_limit:
            dropped = len(self._tail.popleft())
            self._tail_bytes -= dropped
            self.bytes_omitted += dropped

    def close(self) -> None:
        """Write the tail, preceded by a line that states how many bytes are omitted."""
        if self._file.closed:
            return
        tail = b"".join(self._tail)
        cut = max(0, len(tail) - self._tail_limit)
        self.bytes_omitted += cut
        with self._file:
            if self.bytes_omitted:
                self._write_all(f"\n[{self.bytes_omitted} bytes omitted]\n".encode())
            self._write_all(tail[cut:])

    def __enter__(self) -> Self:
        """Return the open output."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    def _write_all(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[self._file.write(view) :]
        except OSError as error:
            raise OutputError(write_error_message(self._path, error)) from error


SHELL: Final = "/bin/sh"
_JUNIT: Final = "junit.xml"


def run_script(request: RunScriptInput, environ: Mapping[str, str] | None = None) -> TestRun:
    """Run a command by `sh -c` and store its output in the session folder.

    It runs in its own process group without standard input; on timeout the group gets SIGTERM, then SIGKILL. A command
    that is clearly pytest also writes a JUnit report.

    Raises:
        OutputError: the output cannot be written.
    """
    report = request.session / request.folder / _JUNIT
    stdout, stderr = (BoundedOutput(report.with_name(name)) for name in ("stdout.txt", "stderr.txt"))
    given, cwd = os.environ if environ is None else environ, request.tree / request.cwd
    test_environment, secrets = _test_environment(given, request), EnvironmentSecrets(given, request.command)
    reporting = with_junit_option(request.command, report, cwd=cwd, environ=test_environment)
    with stdout, stderr, _redacting(stdout, secrets) as to_stdout, _redacting(stderr, secrets) as to_stderr:
        program = Command(
            arguments=(SHELL, "-c", reporting or request.command),
            cwd=cwd,
            environ=test_environment,
            timeout_seconds=request.timeout_seconds,
            stdout=to_stdout.write,
            stderr=to_stderr.write,
        )
        try:
            ended = run_in_group(program)
        except OSError as error:
            ended = _not_started(request.command, stderr, error)
    _redact_report(report, secrets)
    return TestRun(
        command=request.command,
        cwd=request.cwd,
        exit_status=ended.exit_status,
        ended=ended.ending,
        signal=ended.signal,
        duration_ms=round(ended.seconds * 1000),
        stdout=_captured_stream(f"{request.folder}/stdout.txt", stdout),
        stderr=_captured_stream(f"{request.folder}/stderr.txt", stderr),
        junit_xml=f"{request.folder}/{_JUNIT}" if report.is_file() else None,
        report_asked=reporting is not None,
    )


def _not_started(command: str, stderr: BoundedOutput, error: OSError) -> ProcessResult:
    stderr.write(f"{command}: {error.strerror or error}\n".encode())
    return ProcessResult(ending="not_started", exit_status=None, signal=None, seconds=0.0)


@contextmanager
def _redacting(output: BoundedOutput, secrets: EnvironmentSecrets) -> Iterator[RedactingStream]:
    """Yield a stream that writes without secrets; buffered output is flushed at the end."""
    stream = RedactingStream(output.write, secrets)
    try:
        yield stream
    finally:
        stream.flush()


def _redact_report(report: Path, secrets: EnvironmentSecrets) -> None:
    """Rewrite a report without secrets; ignore one that cannot be read."""
    try:
        data = report.read_bytes()
    except OSError:
        return
    hidden = secrets.redact_bytes(data)
    if hidden != data:
        write_atomically(report, hidden)


def _test_environment(environ: Mapping[str, str], request: RunScriptInput) -> dict[str, str]:
    """Return the environment of the tests: paths into the user's tree point to the copy, git variables are removed."""
    moved = without_git_variables(environ)
    moved["PWD"] = str(request.tree / request.cwd)
    moved["GIT_CEILING_DIRECTORIES"] = str(request.tree.parent)
    paths = moved.get("PYTHONPATH")
    if paths:
        moved["PYTHONPATH"] = os.pathsep.join(
            _path_in_copy(each, request.original, request.tree) for each in paths.split(os.pathsep)
        )
    return moved


def _path_in_copy(text: str, original: Path, copy: Path) -> str:
    """Map an absolute path inside the user's tree to the copy; relative paths are unchanged."""
    path = Path(text)
    resolved = path.resolve()
    return (
        str(copy / resolved.relative_to(original)) if path.is_absolute() and resolved.is_relative_to(original) else text
    )


def _captured_stream(file: str, output: BoundedOutput) -> CapturedStream:
    return CapturedStream(file=file, bytes_written=output.bytes_written, bytes_left_out=output.bytes_omitted)
