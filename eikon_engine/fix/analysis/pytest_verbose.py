"""Which tests ran, out of what pytest prints with `-v`: a line for each, and their numbers at the end."""

from __future__ import annotations

import re
from typing import Final

_OUTCOMES: Final = {
    "PASSED": "passed",
    "FAILED": "failed",
    "ERROR": "error",
    "SKIPPED": "skipped",
    "XFAIL": "xfailed",
    "XPASS": "xpassed",
}
"""The words of a line, and how the last line calls them; of several errors it says `errors`."""
_NO_FAILURE: Final = frozenset({"PASSED", "SKIPPED", "XFAIL", "XPASS"})
_RESULT: Final = re.compile(
    rf"^(?P<id>\S+?\.\w+::.+) (?P<outcome>{'|'.join(_OUTCOMES)})(?: \([^\n]*\))?(?: +\[ *(?:\d+%|\d+/\d+)\])?$",
    re.MULTILINE,
)
_ENDED: Final = re.compile(r"^(?:=+ )?(?P<counts>\d+ [a-z]+(?:, \d+ [a-z]+)*)(?: =+)?$", re.MULTILINE)
_COUNT: Final = re.compile(r"(\d+) ([a-z]+)")


def read_ran(text: str) -> tuple[str, ...] | None:
    """Return the ids of the tests that ran and did not fail, out of a steady text; None if that is not wholly told.

    Each test that the last line counts has to have its own line: with less, or more, something is not what it seems.
    """
    ended = _ENDED.findall(text)
    if len(ended) != 1:
        return None
    results = [(found["id"], found["outcome"]) for found in _RESULT.finditer(text)]
    counts = dict.fromkeys(_OUTCOMES.values(), 0)
    for number, word in _COUNT.findall(ended[0]):
        name = "error" if word == "errors" else word
        if name in counts:
            counts[name] = int(number)
    if any(sum(outcome == word for _, outcome in results) != counts[name] for word, name in _OUTCOMES.items()):
        return None
    failing = {name for name, outcome in results if outcome not in _NO_FAILURE}
    return tuple(dict.fromkeys(name for name, _ in results if name not in failing))
