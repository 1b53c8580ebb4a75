"""Render what differs between two bundles, two outcomes, or a bundle and its outcome: as text and as a page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from eikon_engine.divergence.bundle_diff import BundleDiff
from eikon_engine.files.text import pluralize, shorten_pair, shorten_pairs
from eikon_engine.outcome.terminal import safe_lines
from eikon_engine.report.templates import page_template

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from eikon_engine.divergence.bundle_diff import (
        BundleSummary,
        ObservedDifference,
        PageDifference,
        StepDifference,
        StepKind,
        StepSide,
    )
    from eikon_engine.divergence.outcome_diff import (
        OutcomeDiff,
        OutcomeStepDifference,
        RunSummary,
        SeenDifference,
        StepState,
    )

STEP_MARKS: Final[dict[StepKind, str]] = {"same": " ", "changed": "~", "only_first": "-", "only_second": "+"}
SAME_STEP_MARK: Final = "*"
"""Marks an equal step with a different observation."""
MAX_EQUAL_STEPS: Final = 3
"""Of a longer run of equal steps, only the last ones are shown."""
MAX_PAGE_LINES: Final = 30
MAX_VALUE_LENGTH: Final = 200
INDENT: Final = "      "


class _ShownDifference(NamedTuple):
    """A row of a page: what differs, and both sides."""

    what: str
    first: str
    second: str


class _ShownStep(NamedTuple):
    """A section of a page."""

    title: str
    rows: list[_ShownDifference]
    changes: list[str]
    """Rendered differences of the DOM."""


def render_diff_text(diff: BundleDiff | OutcomeDiff) -> str:
    """Return a comparison as text, the first difference first."""
    return render_bundle_diff(diff) if isinstance(diff, BundleDiff) else safe_lines(_outcome_lines(diff))


def render_diff_page(diff: BundleDiff | OutcomeDiff) -> str:
    """Return a page; nothing of a mission is executed, and nothing is loaded."""
    if isinstance(diff, BundleDiff):
        names, steps, notes = (diff.first.name, diff.second.name), list(_bundle_sections(diff)), _notes(diff)
    else:
        names = (_run_line(diff.first), _run_line(diff.second))
        steps, notes = list(_outcome_sections(diff)), []
    number = sum(1 for each in steps if each.rows or each.changes)
    return page_template("diff.html").render(
        headline="No differences" if diff.is_same else f"Differences in {pluralize(number, 'place')}",
        names=names,
        steps=steps,
        notes=notes,
    )


def render_bundle_diff(diff: BundleDiff) -> str:
    """Return a comparison as text: steps as in a unified diff, then requests, pages and results."""
    return safe_lines(_lines(diff))


def _lines(diff: BundleDiff) -> Iterator[str]:
    yield f"--- {diff.first.name}"
    yield f"+++ {diff.second.name}"
    yield from _all_step_lines(diff)
    if diff.requests:
        yield ""
        yield f"requests ({diff.first.name} | {diff.second.name})"
        for request in diff.requests:
            yield f"  {request.first} | {request.second}  {request.key}"
    if diff.ends:
        yield ""
        yield "pages at the end"
        for page in diff.ends:
            yield from _page_lines(page, "  ")
    yield ""
    yield from (_summary_line(diff.first), _summary_line(diff.second))
    for history in (diff.first, diff.second):
        if history.diverged:
            steps = ", ".join(map(str, history.diverged))
            yield f"{history.name}: compared as recorded; this session diverged from the recording at {steps}"
    if diff.is_same:
        is_whole = diff.first.known == diff.first.steps and diff.second.known == diff.second.steps
        yield "no differences" if is_whole else "no known differences"


def _all_step_lines(diff: BundleDiff) -> Iterator[str]:
    same: list[StepDifference] = []
    for step in diff.steps:
        if not step.differs:
            same.append(step)
            continue
        yield from _equal_steps(same)
        same = []
        yield from _step_lines(step)
    yield from _equal_steps(same)


def _equal_steps(same: list[StepDifference]) -> Iterator[str]:
    """Show the last steps of a run of equal ones."""
    hidden = len(same) - MAX_EQUAL_STEPS
    if hidden > 0:
        yield f"  … {pluralize(hidden, 'equal step')}"
    for step in same[max(0, hidden) :]:
        yield from _step_lines(step)


def _step_lines(step: StepDifference) -> Iterator[str]:
    mark = SAME_STEP_MARK if step.kind == "same" and step.differs else STEP_MARKS[step.kind]
    match step.kind:
        case "changed":
            yield f"- {_step_line(step.first)}"
            yield f"+ {_step_line(step.second)}"
        case _:
            yield f"{mark} {_step_line(step.first or step.second)}" + _other_result(step)
    for field in step.fields:
        yield f"{INDENT}{field.path}: {_format_value(field.first)} -> {_format_value(field.second)}"
    for page in step.pages:
        yield from _page_lines(page, INDENT)
    for seen in step.seen:
        yield f"{INDENT}{seen.what.replace('_', ' ')}:"
        yield from (f"{INDENT}  {mark} {each}" for mark, every in _sides(seen) for each in every)


def _sides(seen: ObservedDifference) -> tuple[tuple[str, list[str]], ...]:
    """Return the values of both sides, shortened; those in the same place still show where they differ."""
    first, second = shorten_pairs(seen.first, seen.second, MAX_VALUE_LENGTH)
    return ("-", first), ("+", second)


def _format_value(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def _step_line(side: StepSide | None) -> str:
    if side is None:
        return ""
    return f"{side.iteration:3} {side.label}" + ("" if side.result == "ok" else f"  [{side.result}]")


def _other_result(step: StepDifference) -> str:
    if step.first is None or step.second is None or step.first.result == step.second.result:
        return ""
    return f"  -> {step.second.result}"


def _page_lines(page: PageDifference, indent: str) -> Iterator[str]:
    if page.first is None or page.second is None:
        yield f"{indent}page {page.page}: {page.first or 'not open'} | {page.second or 'not open'}"
        return
    where = page.first if page.first == page.second else f"{page.first} | {page.second}"
    yield f"{indent}page {page.page}: {where}"
    lines = page.changes.splitlines()
    yield from (f"{indent}  {line}" for line in lines[:MAX_PAGE_LINES] if line)
    if len(lines) > MAX_PAGE_LINES:
        yield f"{indent}  … {pluralize(len(lines) - MAX_PAGE_LINES, 'more line')}"


def _summary_line(ending: BundleSummary) -> str:
    if ending.failed:
        first = ending.failed[0]
        what = f"{pluralize(len(ending.failed), 'step')} failed, first {first.iteration} {first.label} [{first.result}]"
    else:
        what = "no step failed"
    left = "" if ending.known == ending.steps else f", {ending.steps - ending.known} not run yet"
    return (
        f"{ending.name}: {pluralize(ending.steps, 'step')}{left}; {what}; ends at {', '.join(ending.urls) or 'no page'}"
    )


def _outcome_lines(diff: OutcomeDiff) -> Iterator[str]:
    yield f"--- {_run_line(diff.first)}"
    yield f"+++ {_run_line(diff.second)}"
    for run in diff.runs:
        yield f"{run.what}: {run.first} -> {run.second}"
    for step in diff.steps:
        yield ""
        yield _step_title(step)
        for mark, every in (("-", step.only_first), ("+", step.only_second)):
            for each in every:
                yield f"  {mark} {each.layer}, {each.code}: {each.message}"
                expected, observed = shorten_pair(each.expected, each.observed, MAX_VALUE_LENGTH)
                yield f"{INDENT}expected {_in_a_line(expected)}"
                yield f"{INDENT}observed {_in_a_line(observed)}"
    changed = (("-", diff.responses_only_first), ("+", diff.responses_only_second))
    if any(every for _, every in changed):
        yield ""
        yield "responses that differ from the recorded ones"
        yield from (f"  {mark} {_in_a_line(each)}" for mark, every in changed for each in every)
    yield ""
    yield "no differences" if diff.is_same else f"{pluralize(len(diff.steps), 'different step')}"


def _run_line(run: RunSummary) -> str:
    state = "recorded" if run.verdict is None else run.verdict
    return f"{run.name} ({state}, {run.at:%Y-%m-%d %H:%M}, {pluralize(run.steps, 'step')})"


def _step_title(step: OutcomeStepDifference) -> str:
    return f"{step.subgoal} {step.sequence} {step.label}: {_state(step.first)} -> {_state(step.second)}"


def _state(state: StepState) -> str:
    return state.result if state.verdict is None else f"{state.result}, {state.verdict}"


def _in_a_line(text: str) -> str:
    return text.replace("\n", " ")


def _outcome_sections(diff: OutcomeDiff) -> Iterator[_ShownStep]:
    if diff.runs:
        yield _ShownStep("The whole runs", [_ShownDifference(*each) for each in _run_rows(diff)], [])
    for step in diff.steps:
        rows = [*_finding_rows(step.only_first, is_first=True), *_finding_rows(step.only_second, is_first=False)]
        yield _ShownStep(_step_title(step), rows, [])
    rows = [_ShownDifference("response", each, "") for each in diff.responses_only_first]
    rows += [_ShownDifference("response", "", each) for each in diff.responses_only_second]
    if rows:
        yield _ShownStep("Responses that differ from the recorded ones", rows, [])


def _run_rows(diff: OutcomeDiff) -> Iterator[tuple[str, str, str]]:
    return ((each.what, each.first, each.second) for each in diff.runs)


def _finding_rows(findings: tuple[SeenDifference, ...], *, is_first: bool) -> Iterator[_ShownDifference]:
    for each in findings:
        shown = f"{each.message}\nexpected {each.expected}\nobserved {each.observed}"
        yield _ShownDifference(f"{each.layer}, {each.code}", shown if is_first else "", "" if is_first else shown)


def _bundle_sections(diff: BundleDiff) -> Iterator[_ShownStep]:
    for step in diff.steps:
        if step.differs:
            rows = [*_bundle_step_rows(step)]
            changes = [page.changes for page in step.pages if page.changes]
            yield _ShownStep(_step_line(step.first or step.second).strip(), rows, changes)
    if diff.requests:
        rows = [_ShownDifference(each.key, f"{each.first} times", f"{each.second} times") for each in diff.requests]
        yield _ShownStep("Requests", rows, [])
    if diff.ends:
        yield _ShownStep("Pages at the end", list(map(_page_row, diff.ends)), [page.changes for page in diff.ends])


def _bundle_step_rows(step: StepDifference) -> Iterator[_ShownDifference]:
    sides = [_step_line(side).strip() or "not there" for side in (step.first, step.second)]
    if sides[0] != sides[1]:
        yield _ShownDifference("step", *sides)
    for field in step.fields:
        yield _ShownDifference(field.path, _format_value(field.first), _format_value(field.second))
    yield from map(_page_row, step.pages)
    for seen in step.seen:
        yield _ShownDifference(seen.what.replace("_", " "), "\n".join(seen.first), "\n".join(seen.second))


def _page_row(page: PageDifference) -> _ShownDifference:
    return _ShownDifference(f"page {page.page}", page.first or "not open", page.second or "not open")


def _notes(diff: BundleDiff) -> list[str]:
    return [_summary_line(diff.first), _summary_line(diff.second)]
