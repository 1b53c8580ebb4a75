"""Render a comparison of two branches as text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from eikon_engine.files.text import pluralize, shorten_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from eikon_engine.debug.branches.diff import (
        BranchDiff,
        BranchSummary,
        ObservedDifference,
        PageDifference,
        StepDifference,
        StepKind,
        StepSide,
    )

STEP_MARKS: Final[dict[StepKind, str]] = {"same": " ", "changed": "~", "only_first": "-", "only_second": "+"}
SAME_STEP_MARK: Final = "*"
"""Marks an equal step with a different observation."""
MAX_EQUAL_STEPS: Final = 3
"""Of a longer run of equal steps, only the last ones are shown."""
MAX_PAGE_LINES: Final = 30
MAX_VALUE_LENGTH: Final = 200
INDENT: Final = "      "


def render_branch_diff(diff: BranchDiff) -> str:
    """Return a comparison as text: steps as in a unified diff, then requests, pages and results."""
    return "\n".join(_lines(diff)) + "\n"


def _lines(diff: BranchDiff) -> Iterator[str]:
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


def _all_step_lines(diff: BranchDiff) -> Iterator[str]:
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


def _summary_line(ending: BranchSummary) -> str:
    if ending.failed:
        first = ending.failed[0]
        what = f"{pluralize(len(ending.failed), 'step')} failed, first {first.iteration} {first.label} [{first.result}]"
    else:
        what = "no step failed"
    left = "" if ending.known == ending.steps else f", {ending.steps - ending.known} not run yet"
    return (
        f"{ending.name}: {pluralize(ending.steps, 'step')}{left}; {what}; ends at {', '.join(ending.urls) or 'no page'}"
    )
