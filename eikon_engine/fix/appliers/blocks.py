"""Apply search/replace blocks and unified diffs, strictly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from eikon_engine.errors import FixError
from eikon_engine.fix.appliers.edit_text import apply_edits
from eikon_engine.fix.appliers.file_changes import read_bytes, unified_diff, write_files
from eikon_engine.fix.change_policy import AllowedFiles
from eikon_engine.fix.models import AppliedFix

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.fix.models import TextFix


@dataclass(frozen=True, slots=True)
class BlocksApplier:
    """Apply edits that match exactly, and have git verify the complete diff before writing."""

    name: ClassVar[str] = "blocks"
    needs_edits: ClassVar[bool] = True

    def apply(self, fix: TextFix, tree: Path, targets: tuple[str, ...]) -> AppliedFix:
        """Apply all edits of a fix, or none.

        Raises:
            FixError: an edit does not match, is not about text, or changes a file it may not.
            ApplierFailedError: git failed.
            RequirementError: git is not installed.
            OutputError: a file cannot be written.
        """
        if not fix.edits:
            message = "fix: expected edits of files, got none. Use another applier."
            raise FixError(message, code="patch-rejected")
        bounds = AllowedFiles(tree=tree, targets=targets)
        before: dict[str, bytes | None] = {}

        def read(name: str) -> tuple[str, str | None]:
            plain = bounds.require(name)
            data = before.setdefault(plain, read_bytes(tree, plain))
            return plain, None if data is None else _text(data, plain)

        texts = apply_edits(fix.edits, read)
        after = {name: None if text is None else text.encode() for name, text in texts.items()}
        diff = unified_diff(before, after)
        if not diff:
            message = "fix: expected a change, but the files already match. Nothing was changed."
            raise FixError(message, code="patch-rejected")
        write_files(tree, before, after)
        changed = tuple(sorted(name for name in after if after[name] != before[name]))
        return AppliedFix(applier=self.name, files=changed, diff=diff)


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        message = f"{name}: expected UTF-8 text, got other bytes. Nothing was changed."
        raise FixError(message, code="patch-rejected") from error
