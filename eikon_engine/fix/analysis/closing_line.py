"""Closing summary lines of test runners, which show that a run completed."""

from __future__ import annotations

import re
from typing import Final

_CLOSING_LINES: Final = {
    "pytest": r"(?:=+ )?\d+ (?:passed|failed|errors?|skipped|xfailed|xpassed)(?:, \d+ [a-z]+)*\b.*",
    "unittest": r"Ran \d+ tests?\b.*",
    "node --test": r"(?:# |\u2139 )tests \d+",
    "jest": r"Tests: +\d+ .*",
    "vitest": r" *Tests +\d+ (?:passed|failed|skipped)\b.*",
    "mocha": r" *\d+ passing\b.*",
    "cargo test": r"test result: .*",
    "TAP": r"1\.\.\d+",
}
"""What each runner prints at the end of a run, passed or failed.

Source: the output of pytest 8, Python 3.12, Node 22, jest 29, vitest 3, mocha 11, cargo 1.80; https://testanything.org
"""
_CLOSING_PATTERNS: Final = {name: re.compile(rf"^{line}$", re.MULTILINE) for name, line in _CLOSING_LINES.items()}


def closing_runners(text: str) -> tuple[str, ...]:
    """Return the runners whose closing line is in an output."""
    return tuple(name for name, line in _CLOSING_PATTERNS.items() if line.search(text))
