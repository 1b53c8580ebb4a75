"""Render a comparison of two branches as text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from eikon_engine.trace.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from eikon_engine.debug.branches.diff import (
        BranchDiff,
        Ending,
        PageDifference,
        SideOfStep,
        StepDifference,
        StepKind,
    )
    from eikon_engine.debug.branches.diff_seen import SeenDifference

MARKS: Final[dict[StepKind, str]] = {"same": " ", "changed": "~", "only_first": "-", "only_second": "+"}
OTHER_PAGES: Final = "*"
"""Marks an equal step with a different observation."""
SAME_SHOWN: Final = 3
"""Of a longer run of equal steps, only the last ones are shown."""
LINES_OF_PAGE: Final = 30
LETTERS_OF_VALUE: Final = 200
INDENT: Final = "      "


def render_branch_diff(diff: BranchDiff) -> str:
    """Return a comparison as text: steps as in a unified diff, then requests, pages and results."""
    return "\n".join(_lines(diff)) + "\n"


def _lines(diff: BranchDiff) -> Iterator[str]:
    yield f"--- {diff.first.name}"
    yield f"+++ {diff.second.name}"
    yield from _steps(diff)
    if diff.requests:
        yield ""
        yield f"requests ({diff.first.name} | {diff.second.name})"
        for request in diff.requests:
            yield f"  {request.first} | {request.second}  {request.key}"
    if diff.ends:
        yield ""
        yield "pages at the end"
        for page in diff.ends:
            yield from _page(page, "  ")
    yield ""
    yield from (_ending(diff.first), _ending(diff.second))
    for history in (diff.first, diff.second):
        if history.diverged:
            steps = ", ".join(map(str, history.diverged))
            yield f"{history.name}: compared as recorded; this session diverged from the recording at {steps}"
    if diff.is_same:
        is_whole = diff.first.known == diff.first.steps and diff.second.known == diff.second.steps
        yield "no differences" if is_whole else "no known differences"


def _steps(diff: BranchDiff) -> Iterator[str]:
    same: list[StepDifference] = []
    for step in diff.steps:
        if not step.differs:
            same.append(step)
            continue
        yield from _skipped(same)
        same = []
        yield from _step(step)
    yield from _skipped(same)


def _skipped(same: list[StepDifference]) -> Iterator[str]:
    """Show the last steps of a run of equal ones."""
    hidden = len(same) - SAME_SHOWN
    if hidden > 0:
        yield f"  … {counted(hidden, 'equal step')}"
    for step in same[max(0, hidden) :]:
        yield from _step(step)


def _step(step: StepDifference) -> Iterator[str]:
    mark = OTHER_PAGES if step.kind == "same" and step.differs else MARKS[step.kind]
    match step.kind:
        case "changed":
            yield f"- {_side(step.first)}"
            yield f"+ {_side(step.second)}"
        case _:
            yield f"{mark} {_side(step.first or step.second)}" + _other_result(step)
    for field in step.fields:
        yield f"{INDENT}{field.path}: {_value(field.first)} -> {_value(field.second)}"
    for page in step.pages:
        yield from _page(page, INDENT)
    for seen in step.seen:
        yield f"{INDENT}{seen.what.replace('_', ' ')}:"
        yield from (f"{INDENT}  {mark} {_cut(each)}" for mark, every in _sides(seen) for each in every)


def _sides(seen: SeenDifference) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return ("-", seen.first), ("+", seen.second)


def _cut(text: str) -> str:
    return text if len(text) <= LETTERS_OF_VALUE else f"{text[:LETTERS_OF_VALUE]}…"


def _value(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def _side(side: SideOfStep | None) -> str:
    if side is None:
        return ""
    return f"{side.iteration:3} {side.label}" + ("" if side.result == "ok" else f"  [{side.result}]")


def _other_result(step: StepDifference) -> str:
    if step.first is None or step.second is None or step.first.result == step.second.result:
        return ""
    return f"  -> {step.second.result}"


def _page(page: PageDifference, indent: str) -> Iterator[str]:
    if page.first is None or page.second is None:
        yield f"{indent}page {page.page}: {page.first or 'not open'} | {page.second or 'not open'}"
        return
    where = page.first if page.first == page.second else f"{page.first} | {page.second}"
    yield f"{indent}page {page.page}: {where}"
    lines = page.changes.splitlines()
    yield from (f"{indent}  {line}" for line in lines[:LINES_OF_PAGE] if line)
    if len(lines) > LINES_OF_PAGE:
        yield f"{indent}  … {counted(len(lines) - LINES_OF_PAGE, 'more line')}"


def _ending(ending: Ending) -> str:
    if ending.failed:
        first = ending.failed[0]
        what = f"{counted(len(ending.failed), 'step')} failed, first {first.iteration} {first.label} [{first.result}]"
    else:
        what = "no step failed"
    left = "" if ending.known == ending.steps else f", {ending.steps - ending.known} not run yet"
    return (
        f"{ending.name}: {counted(ending.steps, 'step')}{left}; {what}; ends at {', '.join(ending.urls) or 'no page'}"
    )
