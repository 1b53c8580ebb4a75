"""Which tests ran, from `pytest -v` output: one line for each, and the counts at the end."""

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
"""Words of the result lines, with their names in the final counts; `error` may be plural there."""
_NOT_FAILED: Final = frozenset({"PASSED", "SKIPPED", "XFAIL", "XPASS"})
_RESULT: Final = re.compile(
    rf"^(?P<id>\S+?\.\w+::.+) (?P<outcome>{'|'.join(_OUTCOMES)})(?: \([^\n]*\))?(?: +\[ *(?:\d+%|\d+/\d+)\])?$",
    re.MULTILINE,
)
_FINAL_COUNTS: Final = re.compile(r"^(?:=+ )?(?P<counts>\d+ [a-z]+(?:, \d+ [a-z]+)*)(?: =+)?$", re.MULTILINE)
_COUNT: Final = re.compile(r"(\d+) ([a-z]+)")


def verbose_results(text: str) -> tuple[str, ...] | None:
    """Return the ids of the tests that ran and did not fail; None if the output is not complete.

    The result lines must match the final counts exactly.
    """
    ended = _FINAL_COUNTS.findall(text)
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
    failing = {name for name, outcome in results if outcome not in _NOT_FAILED}
    return tuple(dict.fromkeys(name for name, _ in results if name not in failing))
