"""Render the summary of a finished loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from eikon_engine.files.text import pluralize
from eikon_engine.outcome.terminal import escape_control_characters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.fix.models import CycleRecord, LoopNotes, LoopOutcome, StepFailure, TaskResult


def end_reason(outcome: LoopOutcome, cycles: int, failure: StepFailure | None) -> str:
    """Return why a loop ended."""
    match outcome:
        case "success":
            return "the tests pass"
        case "max_cycles":
            return f"the tests still fail after {pluralize(cycles, 'cycle')}, the limit"
        case "error":
            return "a step failed" if failure is None else f"{failure.step} failed: {failure.message}"
        case _:
            assert_never(outcome)


def result_sentence(notes: LoopNotes) -> str:
    """Return the outcome and the number of cycles in a sentence or two."""
    files = ", ".join(notes.modified_files)
    changed = f"Changed: {files}." if files else "No file was changed."
    cycles = pluralize(notes.cycles_run, "cycle")
    match notes.outcome:
        case "success":
            return f"Success: the tests pass after {cycles}. {changed}"
        case "max_cycles":
            return f"Failure: the tests still fail after {cycles}. {changed}"
        case "error":
            return f"Error: the loop ended in cycle {notes.cycles_run}: {notes.termination_reason}. {changed}"
        case _:
            assert_never(notes.outcome)


def render_summary(result: TaskResult) -> str:
    """Return the summary, followed by the diff of the fixes; independent of machine and time."""
    return escape_control_characters("\n".join((*_lines(result), ""))) + _diff_section(result.notes)


def _lines(result: TaskResult) -> Iterator[str]:
    notes = result.notes
    yield result.content
    yield ""
    yield f"status: {result.status} ({notes.outcome})"
    yield f"cycles: {notes.cycles_run}"
    yield f"tests:  {notes.final_test_status}"
    yield f"files:  {', '.join(notes.modified_files) or 'none'}"
    for record in notes.history:
        yield f"cycle {record.cycle}: {_cycle_line(record)}"
    yield from (f"warning: {each}" for each in notes.warnings)
    if notes.closing_analysis is not None:
        yield f"closing test: {notes.closing_analysis.summary}"


def _cycle_line(record: CycleRecord) -> str:
    parts = [] if record.analysis is None else [record.analysis.summary]
    if record.refusal is not None:
        parts.append(f"the fix was refused: {record.refusal}")
    if record.application is not None:
        parts.append(f"changed {', '.join(record.application.files)}")
    if record.verification is not None:
        parts.append(_JUDGEMENT_TEXTS[record.verification.judgement])
    return "; ".join(parts) or "no result"


_JUDGEMENT_TEXTS = {
    "passed": "the tests pass with the fix",
    "helped": "the fix helped and is kept",
    "no_help": "the fix did not help and is rolled back",
    "broke_more": "other tests fail with the fix, so it is rolled back",
    "unclear": "pytest stopped early without reporting which tests ran, so the fix is rolled back",
    "unproved": "tests that failed before did not run and pass, so the fix is rolled back",
}


def _diff_section(notes: LoopNotes) -> str:
    if not notes.diff:
        return ""
    where = "" if notes.modified_files else "Not applied to your files (use --keep to apply):\n"
    return f"\n{where}{escape_control_characters(notes.diff)}"
