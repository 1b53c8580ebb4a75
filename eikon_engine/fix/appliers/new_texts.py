"""Apply edits to texts in memory; nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from eikon_engine.errors import PatchRejectedError
from eikon_engine.fix.appliers.hunks import apply_hunks, read_diff
from eikon_engine.fix.appliers.replace_lines import replace_lines, text_lines
from eikon_engine.fix.proposal import ReplaceText, UnifiedDiff

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from eikon_engine.fix.appliers.hunks import FileDiff
    from eikon_engine.fix.proposal import TextEdit


def apply_edits(edits: Sequence[TextEdit], read: Callable[[str], tuple[str, str | None]]) -> Mapping[str, str | None]:
    """Apply edits in order and return the new text of each changed file, None for a removed one.

    `read` takes a file name as an edit writes it, and returns the normalized name and the text, None if missing.

    Raises:
        PatchRejectedError: an edit does not match.
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
            raise PatchRejectedError(message)
        return edit.replace
    if text is None:
        raise _missing_file(name)
    return replace_lines(text, text_lines(edit.search), text_lines(edit.replace), name)


def _patched(name: str, text: str | None, diff: FileDiff) -> str | None:
    if diff.is_new:
        if text is not None:
            message = f"{name}: expected no file for a diff that creates it, but it exists"
            raise PatchRejectedError(message)
        return apply_hunks("", diff)
    if text is None:
        raise _missing_file(name)
    patched = apply_hunks(text, diff)
    if not diff.is_removed:
        return patched
    if patched:
        message = f"{name}: expected a diff that removes all lines of the file, but some are left"
        raise PatchRejectedError(message)
    return None


def _missing_file(name: str) -> PatchRejectedError:
    return PatchRejectedError(f"{name}: no such file. Nothing was changed.")
