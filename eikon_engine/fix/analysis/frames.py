"""Frames of tracebacks in text, by the three ways in which Python's tools write them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.failure import Frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eikon_engine.fix.analysis.places import Places

FILE_LINE: Final = re.compile(r'^\s*File "(?P<file>[^"\n]+)", line (?P<line>\d+)(?:, in (?P<name>.+))?$')
"""As Python itself does."""
_COLON_LINE: Final = re.compile(
    r"^(?=[^:\n]*\.)(?P<file>[^\s:E>][^:\n]*|E[^\s:][^:\n]*):(?P<line>\d+): ?(?:in (?P<name>\S+)|.*)$"
)
"""As pytest does, at the end of an entry or, in short ones, at its begin."""
_CAPTURED: Final = re.compile(r"^-{3,} Captured .* -{3,}$", re.MULTILINE)


def pytest_frames(text: str, places: Places) -> tuple[Frame, ...]:
    """Return the frames of one failure as pytest writes it, outermost first."""
    matches = (_COLON_LINE.match(line) or FILE_LINE.match(line) for line in without_captured(text).split("\n"))
    frames = (frame(each["file"], int(each["line"]), each["name"] or "", places) for each in matches if each)
    return from_ours(tuple(frames), places)


def without_captured(text: str) -> str:
    """Leave out what a test printed, which pytest writes below its failure."""
    found = _CAPTURED.search(text)
    return text if found is None else text[: found.start()]


def frame(file: str, line: int, name: str, places: Places) -> Frame:
    """Make a frame; its file is relative to the tree where it lies inside."""
    return Frame(file=places.find(file) or file, line=max(1, line), name=name.strip())


def from_ours(frames: tuple[Frame, ...], places: Places) -> tuple[Frame, ...]:
    """Leave out how a program got to the code of the project; what that code called is kept."""
    first = next((number for number, each in enumerate(frames) if _is_ours(each, places)), 0)
    return frames[first:]


def innermost(frames: Sequence[Frame], places: Places) -> Frame | None:
    """Return the last frame of the project's own code."""
    return next((each for each in reversed(frames) if _is_ours(each, places)), None)


def _is_ours(each: Frame, places: Places) -> bool:
    """Say whether a file lies in the tree, and is not of a library that is installed there."""
    installed = ("site-packages/", "node_modules/")
    return places.find(each.file) is not None and not any(name in each.file for name in installed)
