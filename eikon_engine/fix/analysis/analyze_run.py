"""`debug:analyze_test_results`: extract the failures of a test run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, assert_never

from eikon_engine.errors import FixError
from eikon_engine.files.paths import resolve_inside
from eikon_engine.files.text import pluralize
from eikon_engine.fix.analysis.junit_report import read_junit_report, unproved_failures, unproved_summary
from eikon_engine.fix.analysis.node_output import read_node_failures
from eikon_engine.fix.analysis.normalize import MAX_LINE_LENGTH, WORKER_TAG, RunPaths, last_lines, normalize
from eikon_engine.fix.analysis.pytest_output import STOPPED_EARLY, read_pytest_output, verbose_results
from eikon_engine.fix.analysis.replay_outcome import read_replay_failures
from eikon_engine.fix.analysis.tracebacks import read_tracebacks
from eikon_engine.fix.models import Analysis, TestFailure

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.fix.analysis.junit_report import JUnitReport
    from eikon_engine.fix.models import AnalysisInput, TestRun

_CLOSING_LINES: Final = {
    "pytest": r"(?:=+ )?\d+ (?:passed|failed|errors?|skipped|xfailed|xpassed)(?:, \d+ [a-z]+)*\b.*",
    "unittest": r"Ran \d+ tests?\b.*",
    "node --test": r"(?:# |\u2139 )tests \d+",
    "jest": r"Tests: +\d+ .*",
    "vitest": r" *Tests +\d+ (?:passed|failed|skipped)\b.*",
    "mocha": r" *\d+ passing\b.*",
    "cargo test": r"test result: .*",
    "TAP": r"1\.\.\d+",
}
"""What each runner prints at the end of a run, passed or failed.

Source: the output of pytest 8, Python 3.12, Node 22, jest 29, vitest 3, mocha 11, cargo 1.80; https://testanything.org
"""
_CLOSING_PATTERNS: Final = {name: re.compile(rf"^{line}$", re.MULTILINE) for name, line in _CLOSING_LINES.items()}


def closing_runners(text: str) -> tuple[str, ...]:
    """Return the runners whose closing line is in an output."""
    return tuple(name for name, line in _CLOSING_PATTERNS.items() if line.search(text))


TAIL_LINES: Final = 40


def tail_failure(run: TestRun, stdout: str, stderr: str) -> TestFailure:
    """Return a failure whose message is the last line of stderr, or else of stdout."""
    how = _describe_end(run)
    last_line = _last_line(stderr) or _last_line(stdout)
    return TestFailure(
        id=how,
        kind="output",
        message=(last_line if run.ended == "exited" and last_line else how)[:MAX_LINE_LENGTH],
        excerpt="\n".join(
            f"{name}:\n{last_lines(text, TAIL_LINES)}"
            for name, text in (("stderr", stderr), ("stdout", stdout))
            if text.strip()
        ),
    )


def _describe_end(run: TestRun) -> str:
    match run.ended:
        case "exited":
            return f"exit status {run.exit_status}"
        case "killed":
            return f"killed by signal {run.signal}"
        case "timed_out":
            return "timed out"
        case "not_started":
            return "could not start"
        case _:
            assert_never(run.ended)


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.split("\n")) if line.strip()), "")


MAX_READ_BYTES: Final = 4 << 20
"""Bytes of an output to search: half from its head, half from its tail."""
MAX_FAILURES: Final = 200
"""Failures to store; of further ones only the ids, by which fixes are judged."""


def analyze_run(output: AnalysisInput) -> Analysis:
    """Return whether a run passed, by its exit status alone, and its failures, first one first.

    The most precise source wins: the JUnit report or the output of pytest, together with replay outcomes that the
    output names; then Python tracebacks; then Node stack traces; then the last lines of both outputs.

    Raises:
        FixError: the output of the run cannot be read.
        BundlePathError: its path leads out of the session.
    """
    run = output.run
    session = tuple((each, "<session>") for each in {output.session.absolute(), output.session.resolve()})
    places = RunPaths(tree=output.tree, cwd=output.tree / run.cwd, others=session)
    stdout, stderr = (normalize(_read_output(output.session, each.file), places) for each in (run.stdout, run.stderr))
    report = _report(output, places)
    if run.passed:
        return _passed_analysis(output, report, closing_runners(f"{stdout}\n{stderr}"))
    failures = _sorted_if_parallel(_failures(run, report, places, (stdout, stderr)))
    stopped_early = STOPPED_EARLY.search(stdout) is not None
    first, *others = _distinct(failures) or (tail_failure(run, stdout, stderr),)
    return Analysis(
        passed=False,
        first=first,
        others=tuple(others[: MAX_FAILURES - 1]),
        unlisted=tuple(dict.fromkeys(each.id for each in others[MAX_FAILURES - 1 :])),
        stopped_early=stopped_early,
        other_tests=_tests_run(report, stdout) if stopped_early else None,
        unproved=unproved_failures(output.failed_before, report) if run.report_asked and report is not None else None,
        closed_by=closing_runners(f"{stdout}\n{stderr}"),
        summary=_summary(run, first, 1 + len(others)),
    )


def _passed_analysis(output: AnalysisInput, report: JUnitReport | None, runners: tuple[str, ...]) -> Analysis:
    """Analyze a run with exit status 0; if a report was requested, earlier failures must have passed in it."""
    left: tuple[str, ...] | None = None
    if output.run.report_asked:
        left = (
            tuple(sorted(output.failed_before)) if report is None else unproved_failures(output.failed_before, report)
        )
    summary = unproved_summary(left, report) if left else "passed: exit status 0"
    return Analysis(passed=True, first=None, unproved=left, closed_by=runners, summary=summary)


def _report(output: AnalysisInput, places: RunPaths) -> JUnitReport | None:
    junit_xml = output.run.junit_xml
    return None if junit_xml is None else read_junit_report(resolve_inside(output.session, junit_xml), places)


def _tests_run(report: JUnitReport | None, stdout: str) -> tuple[str, ...] | None:
    """Return the tests that ran without failing; None if neither a report nor `-v` output lists them."""
    return verbose_results(stdout) if report is None else report.others


def _failures(
    run: TestRun, report: JUnitReport | None, places: RunPaths, outputs: tuple[str, str]
) -> tuple[TestFailure, ...]:
    if run.ended == "not_started":
        return ()
    stdout, text = outputs[0], "\n".join(outputs)
    listed = () if report is None else report.failures
    found = (*(listed or read_pytest_output(stdout, places)), *read_replay_failures(text, places))
    return found or read_tracebacks(text, places) or read_node_failures(text, places)


def _sorted_if_parallel(failures: tuple[TestFailure, ...]) -> tuple[TestFailure, ...]:
    """Sort failures by id if tests ran in parallel: their order is random."""
    is_parallel = any(each.excerpt.startswith(WORKER_TAG) for each in failures)
    return tuple(sorted(failures, key=lambda each: each.id)) if is_parallel else failures


def _distinct(failures: tuple[TestFailure, ...]) -> tuple[TestFailure, ...]:
    """Drop duplicates: some tests fail alike in call and teardown."""
    return tuple({(each.id, each.message): each for each in reversed(failures)}.values())[::-1]


def _read_output(session: Path, file: str) -> str:
    path = resolve_inside(session, file)
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(0)
            if size <= MAX_READ_BYTES:
                return stream.read().decode("utf-8", "replace")
            begin = stream.read(MAX_READ_BYTES // 2)
            stream.seek(size - MAX_READ_BYTES // 2)
            left = f"\n[… {size - MAX_READ_BYTES} bytes omitted]\n".encode()
            return (begin + left + stream.read()).decode("utf-8", "replace")
    except OSError as error:
        message = f"{path}: cannot read the output of the test run: {error.strerror}. Do not change the session folder."
        raise FixError(message) from error


def _summary(run: TestRun, first: TestFailure, number: int) -> str:
    ended = f"exit status {run.exit_status}" if run.ended == "exited" else run.ended.replace("_", " ")
    return f"failed ({ended}), {pluralize(number, 'failure')}, first {first.id}: {first.message}"
