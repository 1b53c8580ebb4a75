"""One failure in pytest's format: source lines, `E` lines, locations, captured output."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.analysis.frames import innermost_own_frame, pytest_frames, without_captured
from eikon_engine.fix.analysis.shorten import shorten
from eikon_engine.fix.failure import TestFailure

if TYPE_CHECKING:
    from eikon_engine.fix.analysis.places import TestPaths

EXCERPT_LINES: Final = 80
_NO_MESSAGE: Final = "failed without a message"
_ERROR_LINE: Final = re.compile(r"^E {1,3}(?P<text>.*)$", re.MULTILINE)


def read_pytest_failure(
    name: str, text: str, places: TestPaths, *, message: str = "", file: str | None = None
) -> TestFailure:
    """Return the failure of a normalized text; `file` is used if no frame is in the project."""
    frames = tuple(pytest_frames(text, places))
    shown = innermost_own_frame(frames, places)
    return TestFailure(
        id=name,
        kind="pytest",
        message=_first_line(message) or _first_line(_error_text(text)) or _NO_MESSAGE,
        file=shown.file if shown is not None else places.relative_file(file or ""),
        line=shown.line if shown is not None else None,
        frames=frames,
        excerpt=shorten(text, EXCERPT_LINES),
    )


def _error_text(text: str) -> str:
    """Return the text of the first `E` line, or else the last non-empty line."""
    said = without_captured(text)
    found = _ERROR_LINE.search(said)
    if found is not None:
        return found["text"]
    return next((line for line in reversed(said.split("\n")) if line.strip()), "")


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].strip()
