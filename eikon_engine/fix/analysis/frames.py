"""Traceback frames in the three text formats of Python tools."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.failure import Frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eikon_engine.fix.analysis.places import TestPaths

FILE_LINE: Final = re.compile(r'^\s*File "(?P<file>[^"\n]+)", line (?P<line>\d+)(?:, in (?P<name>.+))?$')
"""Format of Python itself."""
_COLON_LINE: Final = re.compile(
    r"^(?=[^:\n]*\.)(?P<file>[^\s:E>][^:\n]*|E[^\s:][^:\n]*):(?P<line>\d+): ?(?:in (?P<name>\S+)|.*)$"
)
"""Format of pytest, at the end of an entry or, in short ones, at its start."""
_CAPTURED: Final = re.compile(r"^-{3,} Captured .* -{3,}$", re.MULTILINE)


def pytest_frames(text: str, places: TestPaths) -> tuple[Frame, ...]:
    """Return the frames of one failure in pytest output, outermost first."""
    matches = (_COLON_LINE.match(line) or FILE_LINE.match(line) for line in without_captured(text).split("\n"))
    frames = (make_frame(each["file"], int(each["line"]), each["name"] or "", places) for each in matches if each)
    return skip_foreign_frames(tuple(frames), places)


def without_captured(text: str) -> str:
    """Remove captured output, which pytest prints below a failure."""
    found = _CAPTURED.search(text)
    return text if found is None else text[: found.start()]


def make_frame(file: str, line: int, name: str, places: TestPaths) -> Frame:
    """Return a frame; its file is relative to the tree if inside it."""
    return Frame(file=places.relative_file(file) or file, line=max(1, line), name=name.strip())


def skip_foreign_frames(frames: tuple[Frame, ...], places: TestPaths) -> tuple[Frame, ...]:
    """Drop the frames outside the project that lead to its code; frames that it calls are kept."""
    first = next((number for number, each in enumerate(frames) if _is_own(each, places)), 0)
    return frames[first:]


def innermost_own_frame(frames: Sequence[Frame], places: TestPaths) -> Frame | None:
    """Return the last frame in code of the project."""
    return next((each for each in reversed(frames) if _is_own(each, places)), None)


def _is_own(each: Frame, places: TestPaths) -> bool:
    """Return whether a frame is in the tree, and not in a library installed there."""
    installed = ("site-packages/", "node_modules/")
    return places.relative_file(each.file) is not None and not any(name in each.file for name in installed)
