"""Parse answers of models: search/replace blocks, unified diffs, or "no fix".

The format of blocks is Aider's (https://aider.chat/docs/more/edit-formats.html): a line with the path, then

    <<<<<<< SEARCH
    current lines
    =======
    new lines
    >>>>>>> REPLACE

A code fence may enclose it. A block without a path belongs to the file of the block before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import FixError
from eikon_engine.fix.models import NoFix, ReplaceText, TextFix, UnifiedDiff
from eikon_engine.llm.prompt_text import NO_FIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eikon_engine.fix.models import Proposal, TextEdit


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedEdit:
    """An edit, and the lines of the answer that it was read from."""

    edit: TextEdit
    first: int
    end: int
    """Exclusive."""


SEARCH: Final = "<<<<<<< SEARCH"
DIVIDER: Final = "======="
REPLACE: Final = ">>>>>>> REPLACE"

_FENCE: Final = re.compile(r"^\s*(?:`{3,}|~{3,})[\w+.-]*\s*$")
_AROUND_PATH: Final = " \t`*#\"':"
_PATH: Final = re.compile(r"^[^\x00-\x1f<>|?*]{1,255}$")


def read_blocks(lines: Sequence[str]) -> Iterator[PlacedEdit]:
    """Yield the blocks of an answer.

    Raises:
        FixError: a block has no path or no end, or contains a marker line.
    """
    number, behind = 0, 0
    file: str | None = None
    while number < len(lines):
        if lines[number].rstrip() != SEARCH:
            _reject_unexpected_marker(lines, number)
            number += 1
            continue
        first, file = _path(lines, number, behind, file)
        divider = _find_marker(lines, number + 1, DIVIDER)
        end = _find_marker(lines, divider + 1, REPLACE)
        edit = ReplaceText(
            file=file, search=_join_lines(lines[number + 1 : divider]), replace=_join_lines(lines[divider + 1 : end])
        )
        yield PlacedEdit(edit=edit, first=first, end=end + 1)
        number = behind = end + 1


def _join_lines(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _path(lines: Sequence[str], mark: int, behind: int, before: str | None) -> tuple[int, str]:
    """Return the line and the path above a block; the previous path if there is nothing in between."""
    number = mark - 1
    while number >= behind and (not lines[number].strip() or _FENCE.match(lines[number])):
        number -= 1
    if number < behind:
        if before is None:
            raise _malformed(mark, "the path of a file above it", "none")
        return mark, before
    name = lines[number].strip(_AROUND_PATH)
    if not _PATH.match(name):
        raise _malformed(mark, "the path of a file above it", repr(lines[number][:80]))
    return number, name


def _find_marker(lines: Sequence[str], begin: int, mark: str) -> int:
    """Return the line of the next marker; no other marker may come before it."""
    for number in range(begin, len(lines)):
        line = lines[number].rstrip()
        if line == mark:
            return number
        if line in {SEARCH, DIVIDER, REPLACE}:
            raise _malformed(begin - 1, f"{mark!r} next", f"{line!r} in line {number + 1}")
    raise _malformed(begin - 1, f"{mark!r} below it", "the end of the answer")


def _reject_unexpected_marker(lines: Sequence[str], number: int) -> None:
    if lines[number].rstrip() == REPLACE:
        raise _malformed(number, f"{SEARCH!r} and {DIVIDER!r} above it", "none")


def _malformed(number: int, expected: str, found: str) -> FixError:
    return FixError(
        f"model response, block at line {number + 1}: expected {expected}, got {found}. Retry, or use another model.",
        code="proposal-malformed",
    )


_HEADER: Final = re.compile(
    r"^(?:diff --git |index [0-9a-f]|new file mode |deleted file mode |old mode |new mode |similarity index |rename "
    r"|copy |Binary files |GIT binary patch)"
)
_BODY_PREFIXES: Final = (" ", "+", "-", "\\", "@@")


def read_diffs(lines: Sequence[str]) -> Iterator[PlacedEdit]:
    """Yield the diffs of an answer; adjacent file diffs are combined."""
    number = 0
    while number < len(lines):
        if not _is_diff_start(lines, number):
            number += 1
            continue
        end = _diff_end(lines, number)
        text = "".join(f"{line}\n" for line in lines[number:end])
        yield PlacedEdit(edit=UnifiedDiff(text=text), first=number, end=end)
        number = end


def _is_diff_start(lines: Sequence[str], number: int) -> bool:
    """Return whether a file header starts here, with or without git's lines above it."""
    line = lines[number]
    if line.startswith("diff --git "):
        return True
    return line.startswith("--- ") and number + 1 < len(lines) and lines[number + 1].startswith("+++ ")


def _diff_end(lines: Sequence[str], number: int) -> int:
    """Return the line after a diff; an empty line belongs to it if more of the diff follows."""
    end = number
    while number < len(lines):
        line = lines[number]
        if line.startswith(_BODY_PREFIXES) or _HEADER.match(line) or _is_diff_start(lines, number):
            end = number + 1
        elif line.strip():
            break
        number += 1
    return end


_NO_FIX_LINE: Final = re.compile(r"\bno\s+fix\s+found\b[\s*_`:.\-\u2013\u2014]*(?P<reason>[^\n]*)", re.IGNORECASE)
_MAX_REASON_LENGTH: Final = 300
_SHOWN: Final = 80


def parse_answer(text: str, *, needs_edits: bool) -> Proposal:
    """Return the edits of an answer in order, or `NoFix`.

    An answer that says there is no fix is `NoFix`, whatever else it contains.

    Raises:
        FixError: it contains no edit, or an invalid one.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    blocks = tuple(read_blocks(lines))
    taken = {number for each in blocks for number in range(each.first, each.end)}
    prose = ["" if number in taken else line for number, line in enumerate(lines)]
    diffs = tuple(read_diffs(prose))
    taken |= {number for each in diffs for number in range(each.first, each.end)}
    none = _NO_FIX_LINE.search("\n".join(line for number, line in enumerate(lines) if number not in taken))
    if none is not None:
        return NoFix(reason=none["reason"].strip()[:_MAX_REASON_LENGTH] or "the model found no fix")
    placed = sorted((*blocks, *diffs), key=lambda each: each.first)
    if not text.strip() or (needs_edits and not placed):
        message = (
            f"model response: expected search/replace blocks, a unified diff or {NO_FIX!r}, got "
            f"{_describe(text)}. Retry, or use another model."
        )
        raise FixError(message, code="proposal-malformed")
    return TextFix(text=text, edits=tuple(each.edit for each in placed))


def _describe(text: str) -> str:
    words = " ".join(text.split())
    return repr(words if len(words) <= _SHOWN else f"{words[:_SHOWN]}…") if words else "nothing"
