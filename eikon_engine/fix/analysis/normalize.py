"""Normalize and shorten test output, so that equal failures give equal prompts.

Anything that may be part of a failure is kept: a test may compare dates and numbers inside a line.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from eikon_engine.files.text import pluralize
from eikon_engine.outcome.terminal import escape_control_characters
from eikon_engine.secrets.environment import hide_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

PYTHON_TAG: Final = "<python>/"
"""Replaces the folders of Python's libraries."""
TMP_TAG: Final = "<tmp>"
WORKER_TAG: Final = "[gw]"
"""Replaces the prefix of a pytest-xdist worker, whatever its number."""

_PATH_END: Final = r"(?=[/\s\"':,;)\]]|$)"
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_OVERWRITTEN: Final = re.compile(r"^[^\n]*\r(?=[^\n])", re.MULTILINE)
_LONG_LINE: Final = re.compile(r"^([^\n]{4000})[^\n]{4,}", re.MULTILINE)
"""Lines so long that they are machine-generated and patterns would be slow on them."""
_LIBRARY: Final = re.compile(
    r"(?<![\w./-])(?:\.\.)?/(?:[\w.+@~-]+/)*lib(?:64)?/python3(?:\.\d+)?/(?:(?:site|dist)-packages/)?"
)
_TEST_FOLDER: Final = re.compile(r"(?<![\w.-])(?:/[\w.+@~-]+)*/pytest-of-[\w.+@~-]+/pytest-\d+(?=/|\b)")
_ADDRESS: Final = re.compile(r"\b(at|id=) ?0x[0-9a-fA-F]{4,16}\b")
_TEST_DURATION: Final = re.compile(
    r"^((?:=+ )?(?:\d+ [a-z]+(?:, )?)+|(?:=+ )?no tests (?:ran|collected)|Ran \d+ tests?)"
    r" in [\d.]+ ?s(?: \([\d:]+\))?(?=[ =]*$)",
    re.MULTILINE,
)
_WORKER: Final = re.compile(r"^\[gw\d+\]", re.MULTILINE)
_DURATION: Final = re.compile(r"^(\s*(?:# )?duration_ms:?) [\d.]+", re.MULTILINE)
_STAMP: Final = re.compile(
    r"^(\[?)\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?(?=\]?(?:\s|$))", re.MULTILINE
)


def normalize(text: str, places: RunPaths) -> str:
    """Return a text without tree paths, object addresses, timestamps at line starts, and known tokens."""
    text = _ESCAPES.sub("", text.replace("\r\n", "\n"))
    text = _OVERWRITTEN.sub("", text)
    for root in places.roots:
        text = _with_relative_paths(text, root)
    for folder, word in places.others:
        text = re.sub(re.escape(str(folder)) + _PATH_END, word, text)
    text = _LONG_LINE.sub(r"\1[…]", escape_control_characters(text))
    text = _TEST_FOLDER.sub(TMP_TAG, text)
    text = re.sub(rf"{re.escape(tempfile.gettempdir())}/{tempfile.gettempprefix()}\w{{8}}{_PATH_END}", TMP_TAG, text)
    text = _LIBRARY.sub(PYTHON_TAG, text)
    text = _ADDRESS.sub(r"\1 0x…", text)
    text = _TEST_DURATION.sub(r"\1", text)
    text = _WORKER.sub(WORKER_TAG, text)
    text = _DURATION.sub(r"\1 …", text)
    return hide_tokens(_STAMP.sub(r"\1<time>", text))


def _with_relative_paths(text: str, root: str) -> str:
    """Make paths of the tree relative; the tree itself becomes a dot."""
    text = text.replace(f"file://{root}/", "").replace(f"{root}/", "")
    return re.sub(re.escape(root) + _PATH_END, ".", text)


_Choice: TypeAlias = "Callable[[list[str]], Sequence[int]]"

MAX_LINE_LENGTH: Final = 400
"""Characters of a line; the rest is cut, with a note."""
_ERROR_MARKS: Final = ("E  ", "> ")
"""Prefixes of pytest's error and source lines."""


def last_lines(text: str, limit: int) -> str:
    """Return the last lines."""
    return _select_lines(text, lambda lines: range(max(0, len(lines) - limit), len(lines)))


def shorten(text: str, limit: int) -> str:
    """Return pytest's error lines, then the first and last lines, up to `limit` lines."""
    return _select_lines(text, lambda lines: _informative_lines(lines, limit))


def _informative_lines(lines: list[str], limit: int) -> list[int]:
    if len(lines) <= limit:
        return list(range(len(lines)))
    marked = [number for number, line in enumerate(lines) if line.startswith(_ERROR_MARKS)][: limit // 2]
    rest = limit - len(marked)
    ends = (*range(rest // 3), *range(len(lines) - (rest - rest // 3), len(lines)))
    return sorted({*marked, *ends})


def _select_lines(text: str, choose: _Choice) -> str:
    lines = text.strip("\n").split("\n")
    shown: list[str] = []
    before = -1
    for number in choose(lines):
        if number > before + 1:
            shown.append(f"[… {pluralize(number - before - 1, 'line')} omitted]")
        shown.append(_cut(lines[number]))
        before = number
    return "\n".join(shown)


def _cut(line: str) -> str:
    return (
        line
        if len(line) <= MAX_LINE_LENGTH
        else f"{line[:MAX_LINE_LENGTH]}[… {len(line) - MAX_LINE_LENGTH} characters]"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPaths:
    """Where a test ran; file names in its output are relative to one of these folders."""

    tree: Path
    """Root of the tested tree; different in each run."""
    cwd: Path
    """Working directory of the command, inside the tree."""
    others: tuple[tuple[Path, str], ...] = ()
    """Further folders that differ between runs, each with its placeholder."""
    _roots: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Collect the spellings of the tree's path, including the resolved one."""
        spellings = {str(self.tree), str(self.tree.absolute()), str(self.tree.resolve())}
        object.__setattr__(self, "_roots", tuple(sorted(spellings, key=lambda each: (-len(each), each))))

    @property
    def roots(self) -> tuple[str, ...]:
        """Return the spellings of the tree's path, longest first."""
        return self._roots

    def relative_file(self, name: str) -> str | None:
        """Return a file relative to the tree, with forward slashes; None if it is not a file inside the tree."""
        if not name or "\0" in name:
            return None
        root = self.tree.resolve()
        for base in (self.cwd, self.tree):
            try:
                path = (base / name).resolve()
                if path.is_file() and path.is_relative_to(root):
                    return path.relative_to(root).as_posix()
            except (OSError, RuntimeError):
                continue
        return None
