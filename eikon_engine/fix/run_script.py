"""`system:run_script`: run the test command in the copy of the tree."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.analysis.junit_option import with_report
from eikon_engine.fix.bounded_output import BoundedOutput
from eikon_engine.fix.git import without_git
from eikon_engine.fix.known_secrets import HidingStream, KnownSecrets
from eikon_engine.fix.process_group import Ended, Program, run_in_group
from eikon_engine.fix.test_run import Stream, TestRun
from eikon_engine.trace.whole_file import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eikon_engine.fix.step_values import ScriptRun

SHELL: Final = "/bin/sh"
_JUNIT: Final = "junit.xml"


def run_script(order: ScriptRun, environ: Mapping[str, str] | None = None) -> TestRun:
    """Run a command by `sh -c` and store its output in the session folder.

    It runs in its own process group without standard input; on timeout the group gets SIGTERM, then SIGKILL. A command
    that is clearly pytest also writes a JUnit report.

    Raises:
        OutputError: the output cannot be written.
    """
    report = order.session / order.folder / _JUNIT
    stdout, stderr = (BoundedOutput(report.with_name(name)) for name in ("stdout.txt", "stderr.txt"))
    given, cwd = os.environ if environ is None else environ, order.tree / order.cwd
    surroundings, secrets = _surroundings(given, order), KnownSecrets(given, order.command)
    reporting = with_report(order.command, report, cwd=cwd, environ=surroundings)
    with stdout, stderr, _hiding(stdout, secrets) as to_stdout, _hiding(stderr, secrets) as to_stderr:
        program = Program(
            arguments=(SHELL, "-c", reporting or order.command),
            cwd=cwd,
            environ=surroundings,
            timeout_seconds=order.timeout_seconds,
            stdout=to_stdout.write,
            stderr=to_stderr.write,
        )
        try:
            ended = run_in_group(program)
        except OSError as error:
            ended = _not_started(order.command, stderr, error)
    _hide_in(report, secrets)
    return TestRun(
        command=order.command,
        cwd=order.cwd,
        exit_status=ended.exit_status,
        ended=ended.ending,
        signal=ended.signal,
        duration_ms=round(ended.seconds * 1000),
        stdout=_stream(f"{order.folder}/stdout.txt", stdout),
        stderr=_stream(f"{order.folder}/stderr.txt", stderr),
        junit_xml=f"{order.folder}/{_JUNIT}" if report.is_file() else None,
        report_asked=reporting is not None,
    )


def _not_started(command: str, stderr: BoundedOutput, error: OSError) -> Ended:
    stderr.write(f"{command}: {error.strerror or error}\n".encode())
    return Ended(ending="not_started", exit_status=None, signal=None, seconds=0.0)


@contextmanager
def _hiding(output: BoundedOutput, secrets: KnownSecrets) -> Iterator[HidingStream]:
    """Yield a stream that writes without secrets; buffered output is flushed at the end."""
    stream = HidingStream(output.write, secrets)
    try:
        yield stream
    finally:
        stream.flush()


def _hide_in(report: Path, secrets: KnownSecrets) -> None:
    """Rewrite a report without secrets; ignore one that cannot be read."""
    try:
        data = report.read_bytes()
    except OSError:
        return
    hidden = secrets.hide_bytes(data)
    if hidden != data:
        write_whole(report, hidden)


def _surroundings(environ: Mapping[str, str], order: ScriptRun) -> dict[str, str]:
    """Return the environment of the tests: paths into the user's tree point to the copy, git variables are removed."""
    moved = without_git(environ)
    moved["PWD"] = str(order.tree / order.cwd)
    moved["GIT_CEILING_DIRECTORIES"] = str(order.tree.parent)
    paths = moved.get("PYTHONPATH")
    if paths:
        moved["PYTHONPATH"] = os.pathsep.join(
            _in_copy(each, order.original, order.tree) for each in paths.split(os.pathsep)
        )
    return moved


def _in_copy(text: str, original: Path, copy: Path) -> str:
    """Map an absolute path inside the user's tree to the copy; relative paths are unchanged."""
    path = Path(text)
    resolved = path.resolve()
    return (
        str(copy / resolved.relative_to(original)) if path.is_absolute() and resolved.is_relative_to(original) else text
    )


def _stream(file: str, output: BoundedOutput) -> Stream:
    return Stream(file=file, bytes_written=output.bytes_written, bytes_left_out=output.bytes_left_out)
