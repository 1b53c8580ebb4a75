"""Map file names in test output to files of the tested tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class TestPaths:
    """Where a test ran; file names in its output are relative to one of these folders."""

    tree: Path
    """Root of the tested tree; different in each run."""
    cwd: Path
    """Working directory of the command, inside the tree."""
    others: tuple[tuple[Path, str], ...] = ()
    """Further folders that differ between runs, each with its placeholder."""
    _roots: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Collect the spellings of the tree's path, including the resolved one."""
        spellings = {str(self.tree), str(self.tree.absolute()), str(self.tree.resolve())}
        object.__setattr__(self, "_roots", tuple(sorted(spellings, key=lambda each: (-len(each), each))))

    @property
    def roots(self) -> tuple[str, ...]:
        """Return the spellings of the tree's path, longest first."""
        return self._roots

    def relative_file(self, name: str) -> str | None:
        """Return a file relative to the tree, with forward slashes; None if it is not a file inside the tree."""
        if not name or "\0" in name:
            return None
        root = self.tree.resolve()
        for base in (self.cwd, self.tree):
            try:
                path = (base / name).resolve()
                if path.is_file() and path.is_relative_to(root):
                    return path.relative_to(root).as_posix()
            except (OSError, RuntimeError):
                continue
        return None
