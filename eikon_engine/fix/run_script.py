"""`system:run_script`: run the test command in the copy of the tree."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.analysis.junit_option import with_junit_option
from eikon_engine.fix.bounded_output import BoundedOutput
from eikon_engine.fix.git import without_git_variables
from eikon_engine.fix.known_secrets import EnvironmentSecrets, RedactingStream
from eikon_engine.fix.process_group import Command, ProcessResult, run_in_group
from eikon_engine.fix.test_run import CapturedStream, TestRun
from eikon_engine.trace.whole_file import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eikon_engine.fix.step_values import RunScriptInput

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
    surroundings, secrets = _test_environment(given, request), EnvironmentSecrets(given, request.command)
    reporting = with_junit_option(request.command, report, cwd=cwd, environ=surroundings)
    with stdout, stderr, _redacting(stdout, secrets) as to_stdout, _redacting(stderr, secrets) as to_stderr:
        program = Command(
            arguments=(SHELL, "-c", reporting or request.command),
            cwd=cwd,
            environ=surroundings,
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
