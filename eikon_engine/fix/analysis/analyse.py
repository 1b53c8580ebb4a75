"""`debug:analyze_test_results`: a test run in, what is wrong out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.errors import FixError
from eikon_engine.fix.analysis.closing_line import closed_by
from eikon_engine.fix.analysis.eikon_outcome import read_outcomes
from eikon_engine.fix.analysis.node_stack import read_stacks
from eikon_engine.fix.analysis.output_tail import read_tail
from eikon_engine.fix.analysis.places import Places
from eikon_engine.fix.analysis.pytest_text import STOPPED_EARLY, read_output
from eikon_engine.fix.analysis.pytest_verbose import read_ran
from eikon_engine.fix.analysis.pytest_xml import read_report
from eikon_engine.fix.analysis.python_traceback import read_tracebacks
from eikon_engine.fix.analysis.steady import WORKER, steady
from eikon_engine.fix.analysis.unproved import told, unproved
from eikon_engine.fix.failure import Analysis
from eikon_engine.trace.bundle_path import inside
from eikon_engine.trace.wording import counted

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.fix.analysis.pytest_xml import Report
    from eikon_engine.fix.failure import TestFailure
    from eikon_engine.fix.step_values import TestOutput
    from eikon_engine.fix.test_run import TestRun

LARGEST_READ: Final = 4 << 20
"""Bytes of one output that are searched: the first and the last half of them."""
MOST_FAILURES: Final = 200
"""Failures that are listed; of the others the ids are, by which fixes are judged."""


def analyse(output: TestOutput) -> Analysis:
    """Say whether a run passed, by its exit status alone, and what was wrong, the first failure first.

    What is most exact is asked first: the report of pytest or what it printed, with the outcomes of replays that are
    named; then tracebacks of Python, stacks of Node; else the last lines of both outputs are all there is.

    Raises:
        FixError: the output of the run cannot be read.
        BundlePathError: its path leads out of the session.
    """
    run = output.run
    session = tuple((each, "<session>") for each in {output.session.absolute(), output.session.resolve()})
    places = Places(tree=output.tree, cwd=output.tree / run.cwd, others=session)
    stdout, stderr = (steady(_text(output.session, each.file), places) for each in (run.stdout, run.stderr))
    report = _report(output, places)
    if run.passed:
        return _passed(output, report, closed_by(f"{stdout}\n{stderr}"))
    failures = _in_order(_failures(run, report, places, (stdout, stderr)))
    stopped_early = STOPPED_EARLY.search(stdout) is not None
    first, *others = _distinct(failures) or (read_tail(run, stdout, stderr),)
    return Analysis(
        passed=False,
        first=first,
        others=tuple(others[: MOST_FAILURES - 1]),
        unlisted=tuple(dict.fromkeys(each.id for each in others[MOST_FAILURES - 1 :])),
        stopped_early=stopped_early,
        other_tests=_ran(report, stdout) if stopped_early else None,
        unproved=unproved(output.failed_before, report) if run.report_asked and report is not None else None,
        closed_by=closed_by(f"{stdout}\n{stderr}"),
        summary=_summary(run, first, 1 + len(others)),
    )


def _passed(output: TestOutput, report: Report | None, runners: tuple[str, ...]) -> Analysis:
    """Describe a run with exit status 0; with a report that is asked for, what failed before has to be in it."""
    left: tuple[str, ...] | None = None
    if output.run.report_asked:
        left = tuple(sorted(output.failed_before)) if report is None else unproved(output.failed_before, report)
    summary = told(left, report) if left else "passed: exit status 0"
    return Analysis(passed=True, first=None, unproved=left, closed_by=runners, summary=summary)


def _report(output: TestOutput, places: Places) -> Report | None:
    junit_xml = output.run.junit_xml
    return None if junit_xml is None else read_report(inside(output.session, junit_xml), places)


def _ran(report: Report | None, stdout: str) -> tuple[str, ...] | None:
    """Return the tests that ran without failing; None where neither a report nor a line for each test tells them."""
    return read_ran(stdout) if report is None else report.others


def _failures(run: TestRun, report: Report | None, places: Places, outputs: tuple[str, str]) -> tuple[TestFailure, ...]:
    if run.ended == "not_started":
        return ()
    stdout, text = outputs[0], "\n".join(outputs)
    listed = () if report is None else report.failures
    told = (*(listed or read_output(stdout, places)), *read_outcomes(text, places))
    return told or read_tracebacks(text, places) or read_stacks(text, places)


def _in_order(failures: tuple[TestFailure, ...]) -> tuple[TestFailure, ...]:
    """Put failures in the order of their ids where tests ran side by side: which one came first is chance."""
    is_parallel = any(each.excerpt.startswith(WORKER) for each in failures)
    return tuple(sorted(failures, key=lambda each: each.id)) if is_parallel else failures


def _distinct(failures: tuple[TestFailure, ...]) -> tuple[TestFailure, ...]:
    """Leave out what was told before: some tests fail in their call and in their teardown alike."""
    return tuple({(each.id, each.message): each for each in reversed(failures)}.values())[::-1]


def _text(session: Path, file: str) -> str:
    path = inside(session, file)
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(0)
            if size <= LARGEST_READ:
                return stream.read().decode("utf-8", "replace")
            begin = stream.read(LARGEST_READ // 2)
            stream.seek(size - LARGEST_READ // 2)
            left = f"\n[… {size - LARGEST_READ} bytes left out]\n".encode()
            return (begin + left + stream.read()).decode("utf-8", "replace")
    except OSError as error:
        message = f"{path}: wanted the output of the test run, found {error.strerror}; keep the session folder whole"
        raise FixError(message) from error


def _summary(run: TestRun, first: TestFailure, number: int) -> str:
    ended = f"exit status {run.exit_status}" if run.ended == "exited" else run.ended.replace("_", " ")
    return f"failed ({ended}), {counted(number, 'failure')}, first {first.id}: {first.message}"
