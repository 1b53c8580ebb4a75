"""`eikon record --script`: run a script, report its recordings, certify them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eikon_engine.record.record_script import RecordedContext

NOT_CERTIFIED = 1


def record_with_script(script: str, secrets: Mapping[str, str], chosen: Mapping[str, Any]) -> int:
    """Run a script in a subprocess and return the exit status of the command.

    Raises:
        UsageError: the script is missing, or succeeded without a browser context that could be recorded.
        KeyboardInterrupt: the command was stopped; what was recorded until then is reported.
    """
    from eikon_engine.errors import OutputError, UsageError
    from eikon_engine.record.record_script import ScriptRequest, is_pytest_target, record_script
    from eikon_engine.secrets.search import RedactionRules

    request = ScriptRequest(
        script=script,
        arguments=chosen["arguments"],
        runner="pytest" if is_pytest_target(script) else "python",
        directory=Path(chosen["output"]),
        mission_text=chosen["mission"],
        browser_path=chosen["browser_path"],
        headless=chosen["headless"],
        secrets=dict(secrets),
        redact=chosen["redact"],
        redaction=RedactionRules(names=chosen["names"], patterns=chosen["patterns"], keep=chosen["keep"]),
    )
    try:
        run = record_script(request)
    except KeyboardInterrupt:
        _print_result(f"{request.directory}: {_left_by_interrupted(request.directory)}")
        raise
    for line in run.result.not_recorded:
        _print_diagnostic(f"not recorded: {line}")
    if not run.result.recorded and run.interrupt is None:
        reason = next(iter(run.result.not_recorded), "the script opened no browser context")
        if run.exit_status:
            _print_diagnostic(f"{script} exited with status {run.exit_status}; nothing recorded: {reason}")
            return run.exit_status
        message = f"{script}: nothing recorded: {reason}"
        raise UsageError(message)
    if run.interrupt is not None:
        if not run.result.recorded:
            _print_result(f"{request.directory}: {_left_by_interrupted(request.directory)}")
        for each in run.result.recorded:
            _certify_recording(each, certifies=False)
        raise run.interrupt
    if run.exit_status:
        _print_diagnostic(f"{script} exited with status {run.exit_status}; everything before that is recorded")
    if run.result.incomplete:
        raise OutputError(run.result.incomplete[0])
    certified = _certify_all(run.result.recorded, certifies=not chosen["no_certify"])
    return run.exit_status or (0 if certified else NOT_CERTIFIED)


def _left_by_interrupted(directory: Path) -> str:
    """Return what a script that was stopped without a complete recording left in its folder."""
    from eikon_engine.trace.trace_file import JOURNAL_FILE

    if (directory / JOURNAL_FILE).exists():
        return f"the recording is incomplete; what was recorded until then: eikon trace show {directory}"
    return "nothing was recorded"


def _certify_all(recordings: Sequence[RecordedContext], *, certifies: bool) -> bool:
    """Certify the recordings of a script; return whether none of them needs further work.

    Raises:
        KeyboardInterrupt: the command was stopped; the recordings that are not certified are listed.
    """
    is_done = True
    for number, each in enumerate(recordings):
        try:
            is_done = _certify_recording(each, certifies=certifies) and is_done
        except BaseException:
            for left in recordings[number:]:
                _print_uncertified(left.directory)
            raise
    return is_done


def _print_uncertified(directory: Path) -> None:
    from eikon_engine.trace.bundle import open_bundle

    count = sum(len(subgoal.actions_taken) for subgoal in open_bundle(directory).trace.subgoal_traces)
    _print_result(f"{directory}: recorded, {count} actions; not certified; next: eikon certify {directory}")


def _certify_recording(recorded: RecordedContext, *, certifies: bool) -> bool:
    """Print the warnings of a recording and certify it; return whether it needs no further work."""
    from eikon_engine.certify.options import CertifyOptions
    from eikon_engine.errors import EikonError
    from eikon_engine.record.recording import certify_recording
    from eikon_engine.report.certification import render_certification
    from eikon_engine.secrets.sources import ENVIRONMENT_PREFIX
    from eikon_engine.trace.bundle import open_bundle
    from eikon_engine.trace.steps import describe_failure
    from eikon_engine.trace.variables import action_secret_names

    directory = recorded.directory
    trace = open_bundle(directory).trace
    for line in trace.warnings:
        _print_diagnostic(f"warning: {line}")
    typed = [each.action for subgoal in trace.subgoal_traces for each in subgoal.actions_taken]
    for name in dict.fromkeys(name for action in typed for name in action_secret_names(action)):
        _print_diagnostic(f"note: the mission types secret {name}; a live replay needs {ENVIRONMENT_PREFIX}{name}")
    count = len(typed)
    if not certifies:
        _print_result(f"{directory}: recorded, {count} actions; next: eikon certify {directory}")
        return True
    try:
        options = CertifyOptions(secrets=recorded.secrets, progress=lambda line: _print_diagnostic(f"[CERTIFY] {line}"))
        report = asyncio.run(certify_recording(directory, options))
    except EikonError as error:
        _print_diagnostic(f"not certified: {error.message}")
        _print_uncertified(directory)
        return False
    for line in render_certification(report).splitlines():
        _print_diagnostic(line)
    failure = describe_failure(trace)
    _print_result(
        f"{directory}: recorded, {count} actions; {report.status}{f'; the mission {failure}' if failure else ''}"
    )
    for note in report.notes:
        _print_result(f"{directory}: note: {note}")
    return report.status == "certified"


def _print_result(line: str) -> None:
    from eikon_engine.outcome.terminal import safe_line

    click.echo(safe_line(line))


def _print_diagnostic(line: str) -> None:
    from eikon_engine.outcome.terminal import safe_line

    click.echo(safe_line(line), err=True)
