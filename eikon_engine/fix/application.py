"""Making the change that a fix proposes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from eikon_engine.trace.record import Record

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.fix.proposal import Fix


class Application(Record):
    """What applying a fix changed."""

    applier: str
    """Its name: blocks, aider, trace_patch."""
    files: tuple[str, ...]
    """Those that changed, relative to the tree, sorted."""
    diff: str
    """Unified, with `a/` and `b/` before paths relative to the tree."""
    output: str = ""
    """What the applier said, where it is a program."""


class Applier(Protocol):
    """Change files as a fix says, all of them or none."""

    @property
    def name(self) -> str:
        """Return the name that reports use."""

    @property
    def needs_edits(self) -> bool:
        """Say whether it works from `TextFix.edits`; one that does not reads the answer itself."""

    def apply(self, fix: Fix, tree: Path, targets: tuple[str, ...]) -> Application:
        """Apply a fix inside `tree`: to `targets` alone, or to any file of it where there are none.

        Raises:
            PatchRejectedError: it does not fit, or leads somewhere it may not; nothing is changed then.
            ApplierFailedError: a program that applies it failed.
            AiderMissingError: that program is not here.
        """
