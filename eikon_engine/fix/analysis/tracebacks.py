"""Failures from Python tracebacks, and the frames of tracebacks in text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.files.text import read_digits
from eikon_engine.fix.analysis.normalize import shorten
from eikon_engine.fix.models import Frame, TestFailure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eikon_engine.fix.analysis.normalize import RunPaths

FILE_LINE: Final = re.compile(r'^\s*File "(?P<file>[^"\n]+)", line (?P<line>\d+)(?:, in (?P<name>.+))?$')
"""Format of Python itself."""
_COLON_LINE: Final = re.compile(
    r"^(?=[^:\n]*\.)(?P<file>[^\s:E>][^:\n]*|E[^\s:][^:\n]*):(?P<line>\d+): ?(?:in (?P<name>\S+)|.*)$"
)
"""Format of pytest, at the end of an entry or, in short ones, at its start."""
_CAPTURED: Final = re.compile(r"^-{3,} Captured .* -{3,}$", re.MULTILINE)


def pytest_frames(text: str, places: RunPaths) -> tuple[Frame, ...]:
    """Return the frames of one failure in pytest output, outermost first."""
    matches = (_COLON_LINE.match(line) or FILE_LINE.match(line) for line in without_captured(text).split("\n"))
    frames = (
        make_frame(each["file"], read_digits(each["line"]), each["name"] or "", places) for each in matches if each
    )
    return skip_foreign_frames(tuple(frames), places)


def without_captured(text: str) -> str:
    """Remove captured output, which pytest prints below a failure."""
    found = _CAPTURED.search(text)
    return text if found is None else text[: found.start()]


def make_frame(file: str, line: int, name: str, places: RunPaths) -> Frame:
    """Return a frame; its file is relative to the tree if inside it."""
    return Frame(file=places.relative_file(file) or file, line=max(1, line), name=name.strip())


def skip_foreign_frames(frames: tuple[Frame, ...], places: RunPaths) -> tuple[Frame, ...]:
    """Drop the frames outside the project that lead to its code; frames that it calls are kept."""
    first = next((number for number, each in enumerate(frames) if _is_own(each, places)), 0)
    return frames[first:]


def innermost_own_frame(frames: Sequence[Frame], places: RunPaths) -> Frame | None:
    """Return the last frame in code of the project."""
    return next((each for each in reversed(frames) if _is_own(each, places)), None)


def _is_own(each: Frame, places: RunPaths) -> bool:
    """Return whether a frame is in the tree, and not in a library installed there."""
    installed = ("site-packages/", "node_modules/")
    return places.relative_file(each.file) is not None and not any(name in each.file for name in installed)


EXCERPT_LINES: Final = 60
_HEAD: Final = "Traceback (most recent call last):"
_CHAINS: Final = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)
_RAISED: Final = re.compile(r"^(?P<type>[A-Za-z_][\w.]*)(?:: (?P<text>.*))?$")
_UNITTEST: Final = re.compile(r"^(?:FAIL|ERROR): (?P<test>.+)$")


def read_tracebacks(text: str, places: RunPaths) -> tuple[TestFailure, ...]:
    """Return one failure for each traceback; chained exceptions are one, named after the last."""
    lines = text.split("\n")
    return tuple(
        found for begin, end in _traceback_chains(lines) if (found := _failure(lines, begin, end, places)) is not None
    )


def _traceback_chains(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield first line and end of each chain of tracebacks."""
    pieces = list(_single_tracebacks(lines))
    while pieces:
        begin, end = pieces.pop(0)
        while pieces and any(line.strip() in _CHAINS for line in lines[end : pieces[0][0]]):
            end = pieces.pop(0)[1]
        yield begin, end


def _single_tracebacks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield single tracebacks; a syntax error may lack the header line."""
    number = 0
    while number < len(lines):
        is_head = lines[number].strip() == _HEAD
        if not is_head and FILE_LINE.match(lines[number]) is None:
            number += 1
            continue
        end = next((at + 1 for at in range(number + is_head, len(lines)) if _is_unindented(lines[at])), None)
        if end is None:
            return
        if _RAISED.match(lines[end - 1]) and any(FILE_LINE.match(line) for line in lines[number:end]):
            yield number, end
            number = end
        else:
            number = max(number + 1, end - 1)


def _is_unindented(line: str) -> bool:
    """Return whether a line starts at column 0, as the line with the exception does."""
    return bool(line) and not line[0].isspace()


def _failure(lines: Sequence[str], begin: int, end: int, places: RunPaths) -> TestFailure | None:
    raised = _RAISED.match(lines[end - 1])
    if raised is None:
        return None
    last = max((number for number in range(begin, end) if lines[number].strip() == _HEAD), default=begin)
    frames = tuple(
        make_frame(found["file"], read_digits(found["line"]), found["name"] or "", places)
        for line in lines[last:end]
        if (found := FILE_LINE.match(line)) is not None
    )
    frames = skip_foreign_frames(frames, places)
    shown = innermost_own_frame(frames, places)
    where = f" in {shown.file} {shown.name}".rstrip() if shown is not None else ""
    return TestFailure(
        id=_unittest_name(lines, begin) or f"{raised['type']}{where}",
        kind="python",
        message=lines[end - 1].strip(),
        file=None if shown is None else shown.file,
        line=None if shown is None else shown.line,
        frames=frames,
        excerpt=shorten("\n".join(lines[begin:end]), EXCERPT_LINES),
    )


def _unittest_name(lines: Sequence[str], begin: int) -> str | None:
    """Return the test that unittest names above a traceback."""
    for line in reversed(lines[max(0, begin - 3) : begin]):
        found = _UNITTEST.match(line)
        if found is not None:
            return found["test"]
    return None
