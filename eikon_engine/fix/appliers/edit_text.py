"""Apply search/replace blocks and unified diffs to texts in memory, more strictly than `patch` does.

Old lines must occur exactly once in the file. Line numbers written by models are seldom right, so they are used only if
the lines match there. Renames, mode changes and binary files are rejected.

Source of the diff format: https://www.gnu.org/software/diffutils/manual/html_node/Detailed-Unified.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, assert_never

from eikon_engine.errors import FixError
from eikon_engine.files.text import pluralize, read_digits
from eikon_engine.fix.models import ReplaceText, UnifiedDiff

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from eikon_engine.fix.models import TextEdit

BYTE_ORDER_MARK: Final = "\ufeff"
"""The byte order mark."""
_SHOWN: Final = 80


def replace_lines(text: str, old: Sequence[str], new: Sequence[str], where: str) -> str:
    """Replace the lines `old` of a text by `new`; both without line endings.

    Lines are compared exactly, including trailing spaces. The text keeps its line endings and its final newline. A byte
    order mark is kept, unless the old lines start with it.

    Raises:
        FixError: the old lines do not occur exactly once, or equal the new ones.
    """
    is_marked = text.startswith(BYTE_ORDER_MARK) and not "".join(old[:1]).startswith(BYTE_ORDER_MARK)
    lines = text_lines(text.removeprefix(BYTE_ORDER_MARK) if is_marked else text)
    places = find_lines(lines, old)
    if len(places) != 1:
        raise FixError(
            f"{where}: expected exactly one match, got {_match_count(places)}: {_shown(old)}", code="patch-rejected"
        )
    if list(old) == list(new):
        raise FixError(
            f"{where}: expected a change, but old and new lines are equal: {_shown(old)}", code="patch-rejected"
        )
    begin = places[0]
    changed = join_lines([*lines[:begin], *new, *lines[begin + len(old) :]], like=text)
    return f"{BYTE_ORDER_MARK}{changed.removeprefix(BYTE_ORDER_MARK)}" if is_marked else changed


def find_lines(lines: Sequence[str], old: Sequence[str]) -> list[int]:
    """Return the indexes, from 0, of the lines at which `old` starts."""
    if not old:
        return []
    expected = list(old)
    return [
        number for number in range(len(lines) - len(old) + 1) if list(lines[number : number + len(old)]) == expected
    ]


def text_lines(text: str) -> list[str]:
    """Return the lines of a text without line endings."""
    plain = text.replace("\r\n", "\n") if _has_crlf(text) else text
    lines = plain.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def join_lines(lines: Sequence[str], *, like: str) -> str:
    """Join lines with the line endings of another text."""
    end = "\r\n" if _has_crlf(like) else "\n"
    text = end.join(lines)
    return text + end if lines and (like == "" or like.endswith("\n")) else text


def _has_crlf(text: str) -> bool:
    """Return whether all lines end with CRLF."""
    return "\r\n" in text and text.count("\r\n") == text.count("\n")


def _match_count(places: Sequence[int]) -> str:
    if not places:
        return "none"
    return f"{len(places)} at lines {', '.join(str(number + 1) for number in places)}"


def _shown(lines: Sequence[str]) -> str:
    first = next((line.strip() for line in lines if line.strip()), "")
    shown = first if len(first) <= _SHOWN else f"{first[:_SHOWN]}…"
    return f"{shown!r}" + (f" and {pluralize(len(lines) - 1, 'more line')}" if len(lines) > 1 else "")


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
        FixError: it is not a diff, or contains an unsupported change.
    """
    lines = text.split("\n")
    found = tuple(_files(lines))
    if not found:
        message = "unified diff: expected '---' and '+++' lines with file names, and hunks, got none"
        raise FixError(message, code="patch-rejected")
    return found


def apply_hunks(text: str, diff: FileDiff) -> str:
    """Return the changed text.

    Raises:
        FixError: old lines do not match at the stated line and do not occur exactly once.
    """
    for number, hunk in enumerate(diff.hunks, start=1):
        where = f"{diff.file}, hunk {number}"
        lines = text_lines(text)
        if not hunk.old and text:
            message = f"{where}: expected context lines that locate the insertion, got none"
            raise FixError(message, code="patch-rejected")
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
            raise FixError(message, code="patch-rejected")
        if not is_file_header(lines, number):
            if line.strip() and not _IGNORED.match(line):
                message = f"unified diff: expected '---', '+++' and hunks that start with '@@', got {line[:80]!r}"
                raise FixError(message, code="patch-rejected")
            number += 1
            continue
        before, after = _file_name(line, "a/"), _file_name(lines[number + 1], "b/")
        if before not in {DEV_NULL, after} and after != DEV_NULL:
            message = f"unified diff: expected the same file before and after, got {before!r} renamed to {after!r}"
            raise FixError(message, code="patch-rejected")
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
        raise FixError(message, code="patch-rejected")
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
    return Hunk(
        line=None if line is None else read_digits(line), old=old, new=new, ends_with_newline=_ends_with_newline(body)
    )


def _ends_with_newline(body: Sequence[str]) -> bool | None:
    """Evaluate "No newline at end of file": if it follows only an old line, the new text ends with a newline."""
    below = {body[number - 1][:1] for number, line in enumerate(body) if line.startswith("\\") and number}
    return not below & {" ", "+"} if below else None


def apply_edits(edits: Sequence[TextEdit], read: Callable[[str], tuple[str, str | None]]) -> Mapping[str, str | None]:
    """Apply edits in order and return the new text of each changed file, None for a removed one.

    `read` takes a file name as an edit writes it, and returns the normalized name and the text, None if missing.

    Raises:
        FixError: an edit does not match.
    """
    changed: dict[str, str | None] = {}
    for edit in edits:
        match edit:
            case ReplaceText():
                name, text = _current(edit.file, read, changed)
                changed[name] = _replaced(name, text, edit)
            case UnifiedDiff():
                for diff in read_diff(edit.text):
                    name, text = _current(diff.file, read, changed)
                    changed[name] = _patched(name, text, diff)
            case _:
                assert_never(edit)
    return changed


def _current(
    name: str, read: Callable[[str], tuple[str, str | None]], changed: Mapping[str, str | None]
) -> tuple[str, str | None]:
    plain, text = read(name)
    return plain, changed.get(plain, text)


def _replaced(name: str, text: str | None, edit: ReplaceText) -> str:
    if not edit.search:
        if text:
            message = f"{name}: expected a new or empty file for a block with an empty search part, got text"
            raise FixError(message, code="patch-rejected")
        return edit.replace
    if text is None:
        raise _missing_file(name)
    return replace_lines(text, text_lines(edit.search), text_lines(edit.replace), name)


def _patched(name: str, text: str | None, diff: FileDiff) -> str | None:
    if diff.is_new:
        if text is not None:
            message = f"{name}: expected no file for a diff that creates it, but it exists"
            raise FixError(message, code="patch-rejected")
        return apply_hunks("", diff)
    if text is None:
        raise _missing_file(name)
    patched = apply_hunks(text, diff)
    if not diff.is_removed:
        return patched
    if patched:
        message = f"{name}: expected a diff that removes all lines of the file, but some are left"
        raise FixError(message, code="patch-rejected")
    return None


def _missing_file(name: str) -> FixError:
    return FixError(f"{name}: no such file. Nothing was changed.", code="patch-rejected")
