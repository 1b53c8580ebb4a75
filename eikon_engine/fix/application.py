"""Result and interface of applying a proposed fix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from eikon_engine.trace.record import FileModel

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.fix.proposal import Fix


class AppliedFix(FileModel):
    """What applying a fix changed."""

    applier: str
    """Name of the applier: blocks, aider, trace_patch."""
    files: tuple[str, ...]
    """Changed files, relative to the tree, sorted."""
    diff: str
    """Unified diff; paths are relative to the tree, prefixed with `a/` and `b/`."""
    output: str = ""
    """Output of the applier, if it is an external program."""


class Applier(Protocol):
    """Apply a fix to the files of a tree, all of it or nothing."""

    @property
    def name(self) -> str:
        """Name of the applier in reports."""

    @property
    def needs_edits(self) -> bool:
        """Whether it works from `TextFix.edits`; one that does not reads the raw answer itself."""

    def apply(self, fix: Fix, tree: Path, targets: tuple[str, ...]) -> AppliedFix:
        """Apply a fix inside `tree`, to `targets` only or to any file if `targets` is empty.

        Raises:
            PatchRejectedError: the fix does not match the files or touches a file it may not; nothing is changed.
            ApplierFailedError: an external program failed.
            AiderMissingError: aider is not installed.
        """
