"""Normalize text that differs between runs of the same test, so that equal failures give equal prompts.

Anything that may be part of a failure is kept: a test may compare dates and numbers inside a line.
"""

from __future__ import annotations

import re
import tempfile
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.hidden import hide_tokens
from eikon_engine.outcome.printable import escape_control_characters

if TYPE_CHECKING:
    from eikon_engine.fix.analysis.places import TestPaths

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


def normalize(text: str, places: TestPaths) -> str:
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
