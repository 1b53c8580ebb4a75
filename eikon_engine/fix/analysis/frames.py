"""Frames of tracebacks in text, by the three ways in which Python's tools write them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.failure import Frame

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eikon_engine.fix.analysis.places import Places

FILE_LINE: Final = re.compile(r'^\s*File "(?P<file>[^"\n]+)", line (?P<line>\d+)(?:, in (?P<name>.+))?$')
"""As Python itself does."""
_COLON_LINE: Final = re.compile(r"^(?P<file>[^\s:E>][^:\n]*|E[^\s:][^:\n]*):(?P<line>\d+): ?(?:in (?P<name>\S+)|.*)$")
"""As pytest does, at the end of an entry or, in short ones, at its begin."""
_CAPTURED: Final = re.compile(r"^-{3,} Captured .* -{3,}$")


def pytest_frames(text: str, places: Places) -> Iterator[Frame]:
    """Yield the frames of one failure as pytest writes it, outermost first; what a test printed is none of it."""
    for line in text.split("\n"):
        if _CAPTURED.match(line):
            return
        found = _COLON_LINE.match(line) or FILE_LINE.match(line)
        if found is not None:
            yield frame(found["file"], int(found["line"]), found["name"] or "", places)


def frame(file: str, line: int, name: str, places: Places) -> Frame:
    """Make a frame; its file is relative to the tree where it lies inside."""
    return Frame(file=places.find(file) or file, line=max(1, line), name=name.strip())


def innermost(frames: Sequence[Frame], places: Places) -> Frame | None:
    """Return the last frame whose file lies in the tree; what is installed inside it is no code of the project."""
    ours = [each for each in frames if places.find(each.file) is not None and "site-packages/" not in each.file]
    return ours[-1] if ours else None
