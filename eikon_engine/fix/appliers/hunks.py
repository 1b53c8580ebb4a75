"""Unified diffs, read and applied more strictly than patch programs do.

The numbers of lines that models write are seldom right, so they are believed only where the lines stand there; else the
old lines of a hunk, context included, have to stand in the file exactly once. What a diff can do beside changing,
making and removing texts - renames, modes, binary files - is refused.

Source of the form: https://www.gnu.org/software/diffutils/manual/html_node/Detailed-Unified.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import PatchRejectedError
from eikon_engine.fix.appliers.replace_lines import found_at, joined, replace_lines, text_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NOTHING: Final = "/dev/null"
_HUNK: Final = re.compile(r"^@@(?: -(?P<line>\d+)(?:,\d+)? \+\d+(?:,\d+)? @@.*| ?\.\.\. ?@@.*|\s*$)")
_REFUSED: Final = re.compile(
    r"^(?:old mode |new mode |similarity index |rename |copy |Binary files |GIT binary patch|new file mode (?!100644))"
)
_IGNORED: Final = re.compile(r"^(?:diff --git |index |new file mode 100644|deleted file mode )")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """Old lines and the new ones in their place, context included in both."""

    line: int | None
    """Where the old lines are said to begin, from 1."""
    old: tuple[str, ...]
    new: tuple[str, ...]
    ends_whole: bool | None = None
    """Whether the new text is said to end with an end of line; None where nothing is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """What a diff says of one file."""

    file: str
    is_new: bool
    is_removed: bool
    hunks: tuple[Hunk, ...]


def read_diff(text: str) -> tuple[FileDiff, ...]:
    """Return what a diff says, file by file.

    Raises:
        PatchRejectedError: it is none, or does what is refused.
    """
    lines = text.split("\n")
    found = tuple(_files(lines))
    if not found:
        message = "unified diff: wanted the names of a file after '---' and '+++', and hunks, found none"
        raise PatchRejectedError(message)
    return found


def apply_hunks(text: str, diff: FileDiff) -> str:
    """Return the changed text.

    Raises:
        PatchRejectedError: old lines stand neither where they are said to, nor exactly once.
    """
    for number, hunk in enumerate(diff.hunks, start=1):
        where = f"{diff.file}, hunk {number}"
        lines = text_lines(text)
        if not hunk.old and text:
            message = f"{where}: wanted lines that tell where the new ones go, found none"
            raise PatchRejectedError(message)
        begin = _said_place(lines, diff.hunks[:number])
        if not hunk.old:
            text = joined(hunk.new, like=text)
        elif begin is not None and len(found_at(lines, hunk.old)) > 1:
            text = joined([*lines[:begin], *hunk.new, *lines[begin + len(hunk.old) :]], like=text)
        else:
            text = replace_lines(text, hunk.old, hunk.new, where)
        text = _ended(text, hunk)
    return text


def _ended(text: str, hunk: Hunk) -> str:
    if hunk.ends_whole is None:
        return text
    bare = text.removesuffix("\n").removesuffix("\r")
    return f"{bare}\n" if hunk.ends_whole and bare else bare


def _said_place(lines: Sequence[str], hunks: Sequence[Hunk]) -> int | None:
    """Return where the last hunk is said to begin, if its old lines do stand there after what the others changed."""
    *before, hunk = hunks
    if hunk.line is None:
        return None
    begin = hunk.line - 1 + sum(len(each.new) - len(each.old) for each in before)
    return begin if begin in found_at(lines, hunk.old) else None


def _files(lines: Sequence[str]) -> Iterator[FileDiff]:
    number = 0
    while number < len(lines):
        line = lines[number]
        if _REFUSED.match(line):
            message = f"unified diff: wanted changes of lines, found {line!r}; split it into such changes"
            raise PatchRejectedError(message)
        if not is_file_begin(lines, number):
            if line.strip() and not _IGNORED.match(line):
                message = f"unified diff: wanted '---', '+++' and hunks that begin with '@@', found {line[:80]!r}"
                raise PatchRejectedError(message)
            number += 1
            continue
        before, after = _name(line, "a/"), _name(lines[number + 1], "b/")
        if before not in {NOTHING, after} and after != NOTHING:
            message = f"unified diff: wanted one file in its place, found {before!r} that becomes {after!r}"
            raise PatchRejectedError(message)
        number, hunks = _hunks(lines, number + 2, after)
        yield FileDiff(
            file=before if after == NOTHING else after,
            is_new=before == NOTHING,
            is_removed=after == NOTHING,
            hunks=hunks,
        )


def is_file_begin(lines: Sequence[str], number: int) -> bool:
    """Say whether the two names of a file stand here."""
    return lines[number].startswith("--- ") and number + 1 < len(lines) and lines[number + 1].startswith("+++ ")


def _name(line: str, prefix: str) -> str:
    """Return a name without its mark, its prefix, and the time that `diff` writes behind it."""
    name = line[4:].partition("\t")[0].strip()
    return name if name == NOTHING else name.removeprefix(prefix)


def _hunks(lines: Sequence[str], number: int, file: str) -> tuple[int, tuple[Hunk, ...]]:
    hunks = []
    while number < len(lines) and (found := _HUNK.match(lines[number])) is not None:
        end = number + 1
        while end < len(lines) and _is_body(lines, end):
            end += 1
        hunks.append(_hunk(lines[number + 1 : end], found["line"]))
        number = end
    if not hunks:
        message = f"unified diff: wanted hunks that begin with '@@' below {file}, found none"
        raise PatchRejectedError(message)
    return number, tuple(hunks)


def _is_body(lines: Sequence[str], number: int) -> bool:
    """Say whether a line is one of a hunk; an empty one is context, if the hunk goes on below it."""
    line = lines[number]
    if line.startswith("--- ") and is_file_begin(lines, number) and _follows_hunk(lines, number + 2):
        return False
    if line:
        return line[0] in " +-\\"
    rest = next((at for at in range(number, len(lines)) if lines[at]), None)
    return rest is not None and lines[rest][0] in " +-\\" and not is_file_begin(lines, rest)


def _follows_hunk(lines: Sequence[str], number: int) -> bool:
    return number < len(lines) and _HUNK.match(lines[number]) is not None


def _hunk(body: Sequence[str], line: str | None) -> Hunk:
    old = tuple(each[1:] for each in body if not each or each[0] in " -")
    new = tuple(each[1:] for each in body if not each or each[0] in " +")
    return Hunk(line=None if line is None else int(line), old=old, new=new, ends_whole=_ends_whole(body))


def _ends_whole(body: Sequence[str]) -> bool | None:
    """Read the lines that say "No newline at end of file": below an old line alone, the new text has one."""
    below = {body[number - 1][:1] for number, line in enumerate(body) if line.startswith("\\") and number}
    return not below & {" ", "+"} if below else None
