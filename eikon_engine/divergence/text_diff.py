"""Find the smallest differing values of two texts: a price, a name, an attribute."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PIECES: Final = re.compile(r"<[^<>\n]*>|[^<\n]+|<|\n")
"""Tags, texts between them, and line ends, so that single-line HTML is split as well."""
_ALIGNABLE_PAIRS: Final = 1_000_000
"""Longer differing parts are not aligned, since that would take seconds."""
_TAG_PARTS: Final = re.compile(r"""[^\s"'=<>]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'>]+))?""")
"""The name of a tag, and its attributes."""
_VALUE_END: Final = "<>\"'\n"
_VALUE_REACH: Final = 60
"""Maximum number of unchanged characters shown on each side of a difference."""


def diff_text(recorded: str, live: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line in the recorded text, the recorded value and the live value of each difference.

    An empty value is absent. Line ends and white space at the ends of lines are ignored.
    """
    before, after = _split_pieces(recorded), _split_pieces(live)
    left, right = [text for _, text in before], [text for _, text in after]
    start = _common_prefix_length(left, right)
    end = _common_prefix_length(left[start:][::-1], right[start:][::-1])
    middle = before[start : len(before) - end], after[start : len(after) - end]
    if not middle[0] and not middle[1]:
        return
    line = before[min(start, len(before) - 1)][0] if before else 1
    if len(middle[0]) * len(middle[1]) > _ALIGNABLE_PAIRS:
        yield line, f"{len(middle[0])} pieces of text", f"{len(middle[1])} different pieces of text"
        return
    yield from _diff_pieces(middle[0], middle[1], line)


def _diff_pieces(
    before: Sequence[tuple[int, str]], after: Sequence[tuple[int, str]], line: int
) -> Iterator[tuple[int, str, str]]:
    left, right = [text for _, text in before], [text for _, text in after]
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    for tag, left_from, left_to, right_from, right_to in matcher.get_opcodes():
        if tag == "equal":
            continue
        here = before[left_from][0] if left_from < len(before) else before[-1][0] if before else line
        if left_to - left_from == right_to - right_from:
            for (number, one), (_, other) in zip(before[left_from:left_to], after[right_from:right_to], strict=True):
                yield from ((number, *values) for values in _differing_values(one, other))
        else:
            yield here, " ".join(left[left_from:left_to]), " ".join(right[right_from:right_to])


def _split_pieces(text: str) -> list[tuple[int, str]]:
    pieces = []
    line = 1
    for found in _PIECES.finditer(text):
        if found[0] == "\n":
            line += 1
        elif stripped := found[0].strip():
            pieces.append((line, stripped))
    return pieces


def _differing_values(recorded: str, live: str) -> Iterator[tuple[str, str]]:
    """Yield the values in which two pieces differ; tags are compared attribute by attribute."""
    if recorded.startswith("<") and live.startswith("<"):
        before, after = _TAG_PARTS.findall(recorded), _TAG_PARTS.findall(live)
        if before != after and len(before) == len(after):
            yield from (_narrow_to_value(one, other) for one, other in zip(before, after, strict=True) if one != other)
            return
    if recorded != live:
        yield _narrow_to_value(recorded, live)


def _narrow_to_value(recorded: str, live: str) -> tuple[str, str]:
    """Reduce two pieces to the values that differ, extended to the next tag or quotation mark."""
    start = _common_prefix_length(recorded, live)
    end = _common_prefix_length(recorded[start:][::-1], live[start:][::-1])
    left = start
    while left > 0 and start - left < _VALUE_REACH and recorded[left - 1] not in _VALUE_END:
        left -= 1
    right = end
    while right > 0 and end - right < _VALUE_REACH and recorded[len(recorded) - right] not in _VALUE_END:
        right -= 1
    return recorded[left : len(recorded) - right].strip(), live[left : len(live) - right].strip()


def _common_prefix_length(left: Sequence[str], right: Sequence[str]) -> int:
    length = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        length += 1
    return length
