"""Parse and apply unified diffs, more strictly than `patch` does.

Line numbers written by models are seldom right, so they are used only if the lines match there; otherwise the old lines
of a hunk, including context, must occur exactly once in the file. Renames, mode changes and binary files are rejected.

Source of the form: https://www.gnu.org/software/diffutils/manual/html_node/Detailed-Unified.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import PatchRejectedError
from eikon_engine.fix.appliers.replace_lines import find_lines, join_lines, replace_lines, text_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DEV_NULL: Final = "/dev/null"
_HUNK: Final = re.compile(r"^@@(?: -(?P<line>\d+)(?:,\d+)? \+\d+(?:,\d+)? @@.*| ?\.\.\. ?@@.*|\s*$)")
_REFUSED: Final = re.compile(
    r"^(?:old mode |new mode |similarity index |rename |copy |Binary files |GIT binary patch|new file mode (?!100644))"
)
_IGNORED: Final = re.compile(r"^(?:diff --git |index |new file mode 100644|deleted file mode )")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """Old lines and their replacement, both including context."""

    line: int | None
    """Stated start of the old lines, from 1."""
    old: tuple[str, ...]
    new: tuple[str, ...]
    ends_with_newline: bool | None = None
    """Whether the new text ends with a newline; None if the hunk does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """The part of a diff about one file."""

    file: str
    is_new: bool
    is_removed: bool
    hunks: tuple[Hunk, ...]


def read_diff(text: str) -> tuple[FileDiff, ...]:
    """Parse a diff into its files.

    Raises:
        PatchRejectedError: it is not a diff, or contains an unsupported change.
    """
    lines = text.split("\n")
    found = tuple(_files(lines))
    if not found:
        message = "unified diff: expected '---' and '+++' lines with file names, and hunks, got none"
        raise PatchRejectedError(message)
    return found


def apply_hunks(text: str, diff: FileDiff) -> str:
    """Return the changed text.

    Raises:
        PatchRejectedError: old lines do not match at the stated line and do not occur exactly once.
    """
    for number, hunk in enumerate(diff.hunks, start=1):
        where = f"{diff.file}, hunk {number}"
        lines = text_lines(text)
        if not hunk.old and text:
            message = f"{where}: expected context lines that locate the insertion, got none"
            raise PatchRejectedError(message)
        begin = _stated_line(lines, diff.hunks[:number])
        if not hunk.old:
            text = join_lines(hunk.new, like=text)
        elif begin is not None and len(find_lines(lines, hunk.old)) > 1:
            text = join_lines([*lines[:begin], *hunk.new, *lines[begin + len(hunk.old) :]], like=text)
        else:
            text = replace_lines(text, hunk.old, hunk.new, where)
        text = _with_final_newline(text, hunk)
    return text


def _with_final_newline(text: str, hunk: Hunk) -> str:
    if hunk.ends_with_newline is None:
        return text
    bare = text.removesuffix("\n").removesuffix("\r")
    return f"{bare}\n" if hunk.ends_with_newline and bare else bare


def _stated_line(lines: Sequence[str], hunks: Sequence[Hunk]) -> int | None:
    """Return the stated start of the last hunk, adjusted for the hunks before it, if its old lines match there."""
    *before, hunk = hunks
    if hunk.line is None:
        return None
    begin = hunk.line - 1 + sum(len(each.new) - len(each.old) for each in before)
    return begin if begin in find_lines(lines, hunk.old) else None


def _files(lines: Sequence[str]) -> Iterator[FileDiff]:
    number = 0
    while number < len(lines):
        line = lines[number]
        if _REFUSED.match(line):
            message = f"unified diff: expected changes to lines, got {line!r}"
            raise PatchRejectedError(message)
        if not is_file_header(lines, number):
            if line.strip() and not _IGNORED.match(line):
                message = f"unified diff: expected '---', '+++' and hunks that start with '@@', got {line[:80]!r}"
                raise PatchRejectedError(message)
            number += 1
            continue
        before, after = _file_name(line, "a/"), _file_name(lines[number + 1], "b/")
        if before not in {DEV_NULL, after} and after != DEV_NULL:
            message = f"unified diff: expected the same file before and after, got {before!r} renamed to {after!r}"
            raise PatchRejectedError(message)
        number, hunks = _hunks(lines, number + 2, after)
        yield FileDiff(
            file=before if after == DEV_NULL else after,
            is_new=before == DEV_NULL,
            is_removed=after == DEV_NULL,
            hunks=hunks,
        )


def is_file_header(lines: Sequence[str], number: int) -> bool:
    """Return whether the two header lines of a file start here."""
    return lines[number].startswith("--- ") and number + 1 < len(lines) and lines[number + 1].startswith("+++ ")


def _file_name(line: str, prefix: str) -> str:
    """Return a file name without marker, prefix, and the timestamp that `diff` appends."""
    name = line[4:].partition("\t")[0].strip()
    return name if name == DEV_NULL else name.removeprefix(prefix)


def _hunks(lines: Sequence[str], number: int, file: str) -> tuple[int, tuple[Hunk, ...]]:
    hunks = []
    while number < len(lines) and (found := _HUNK.match(lines[number])) is not None:
        end = number + 1
        while end < len(lines) and _is_body(lines, end):
            end += 1
        hunks.append(_hunk(lines[number + 1 : end], found["line"]))
        number = end
    if not hunks:
        message = f"unified diff: expected hunks that start with '@@' below {file}, got none"
        raise PatchRejectedError(message)
    return number, tuple(hunks)


def _is_body(lines: Sequence[str], number: int) -> bool:
    """Return whether a line belongs to a hunk; an empty line is context if the hunk continues below it."""
    line = lines[number]
    if line.startswith("--- ") and is_file_header(lines, number) and _follows_hunk(lines, number + 2):
        return False
    if line:
        return line[0] in " +-\\"
    rest = next((at for at in range(number, len(lines)) if lines[at]), None)
    return rest is not None and lines[rest][0] in " +-\\" and not is_file_header(lines, rest)


def _follows_hunk(lines: Sequence[str], number: int) -> bool:
    return number < len(lines) and _HUNK.match(lines[number]) is not None


def _hunk(body: Sequence[str], line: str | None) -> Hunk:
    old = tuple(each[1:] for each in body if not each or each[0] in " -")
    new = tuple(each[1:] for each in body if not each or each[0] in " +")
    return Hunk(line=None if line is None else int(line), old=old, new=new, ends_with_newline=_ends_with_newline(body))


def _ends_with_newline(body: Sequence[str]) -> bool | None:
    """Evaluate "No newline at end of file": if it follows only an old line, the new text ends with a newline."""
    below = {body[number - 1][:1] for number, line in enumerate(body) if line.startswith("\\") and number}
    return not below & {" ", "+"} if below else None
