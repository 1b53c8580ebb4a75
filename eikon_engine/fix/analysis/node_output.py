"""Failures from Node stack traces, and from the TAP output of its test runner.

Sources: https://v8.dev/docs/stack-trace-api, https://nodejs.org/api/test.html#test-reporters (TAP)
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.files.text import read_digits
from eikon_engine.fix.analysis.normalize import shorten
from eikon_engine.fix.analysis.tracebacks import innermost_own_frame, make_frame
from eikon_engine.fix.models import TestFailure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eikon_engine.fix.analysis.normalize import RunPaths
    from eikon_engine.fix.models import Frame

EXCERPT_LINES: Final = 60
_MAX_LINES_ABOVE: Final = 25
"""Lines above a stack trace in which its error is searched."""
_MAX_BLOCK_LINES: Final = 500
"""Maximum number of lines of a TAP diagnostic block."""
_AT: Final = re.compile(
    r"^\s+at (?:(?:async )?(?P<name>.+?) \()?(?P<file>(?:file://)?[^\s():][^():]*):(?P<line>\d+):\d+\)?"
)
_STACK_AT: Final = re.compile(r"^\s+at .+$")
_TAP_AT: Final = re.compile(r"^\s+(?:(?P<name>\S.*?) \()?(?P<file>[^\s():][^():]*):(?P<line>\d+):\d+\)?$")
_RAISED: Final = re.compile(r"^\s*(?:Uncaught )?(?P<type>[A-Za-z_$][\w$.]*(?:Error|Exception))(?: \[\w+\])?(?::.*)?$")
_NOT_OK: Final = re.compile(r"^(?P<indent>\s*)not ok \d+ - (?P<name>.+)$")
_IS_SUITE: Final = "failureType: 'subtestsFailed'"


def read_node_failures(text: str, places: RunPaths) -> tuple[TestFailure, ...]:
    """Return one failure for each failed TAP test, or else for each stack trace."""
    lines = text.split("\n")
    return tuple(_tap_failures(lines, places)) or tuple(_stack_failures(lines, places))


def _tap_failures(lines: Sequence[str], places: RunPaths) -> Iterator[TestFailure]:
    for number, line in enumerate(lines):
        found = _NOT_OK.match(line)
        if found is None:
            continue
        near = range(number, min(number + _MAX_BLOCK_LINES, len(lines)))
        end = next((at for at in near if lines[at] == f"{found['indent']}  ..."), None)
        block = lines[number:end]
        if end is None or any(_IS_SUITE in each for each in block):
            continue
        stack = next((at for at, each in enumerate(block) if each.strip() == "stack: |-"), len(block))
        frames = tuple(_frames(block[stack:], _TAP_AT, places))
        yield _failure(found["name"], _tap_message(block), frames, block, places)


def _tap_message(block: Sequence[str]) -> str:
    for number, line in enumerate(block):
        key, colon, value = line.strip().partition(":")
        if key == "error" and colon:
            if value.strip() not in {"|-", ">-", "|", ">"}:
                return value.strip().strip("'\"")
            parts = [each.strip() for each in block[number + 1 :]]
            end = next((at for at, each in enumerate(parts) if re.match(r"code: |name: |stack: ", each)), len(parts))
            return " ".join(each for each in parts[:end] if each)
    return "failed without a message"


def _stack_failures(lines: Sequence[str], places: RunPaths) -> Iterator[TestFailure]:
    number = 0
    while number < len(lines):
        if not _STACK_AT.match(lines[number]):
            number += 1
            continue
        end = number
        while end < len(lines) and _STACK_AT.match(lines[end]):
            end += 1
        frames = tuple(_frames(lines[number:end], _AT, places))
        head = _head(lines, number)
        if frames and head is not None:
            shown = innermost_own_frame(frames, places)
            kind = _RAISED.match(lines[head])
            name = "error" if kind is None else kind["type"]
            where = f" in {shown.file} {shown.name}".rstrip() if shown is not None else ""
            yield _failure(f"{name}{where}", lines[head].strip(), frames, lines[head:end], places)
        number = end


def _head(lines: Sequence[str], stack: int) -> int | None:
    """Return the nearest line above a stack trace that names an error."""
    above = range(stack - 1, max(-1, stack - 1 - _MAX_LINES_ABOVE), -1)
    return next((number for number in above if _RAISED.match(lines[number])), None)


def _frames(lines: Sequence[str], pattern: re.Pattern[str], places: RunPaths) -> Iterator[Frame]:
    """Yield frames outermost first; Node prints them innermost first."""
    for line in reversed(lines):
        found = pattern.match(line)
        if found is not None and not found["file"].startswith("node:"):
            yield make_frame(
                found["file"].removeprefix("file://"), read_digits(found["line"]), found["name"] or "", places
            )


def _failure(name: str, message: str, frames: tuple[Frame, ...], shown: Sequence[str], places: RunPaths) -> TestFailure:
    where = innermost_own_frame(frames, places)
    return TestFailure(
        id=name,
        kind="node",
        message=message,
        file=None if where is None else where.file,
        line=None if where is None else where.line,
        frames=frames,
        excerpt=shorten("\n".join(shown), EXCERPT_LINES),
    )
