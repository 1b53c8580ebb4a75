"""Files as test runs name them, and as they lie in the tree that was tested."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where a test ran; names of files in what it printed are relative to one of these."""

    tree: Path
    """Root of the tree that is tested, another one in each run."""
    cwd: Path
    """Folder in which the command ran, inside the tree."""
    others: tuple[tuple[Path, str], ...] = ()
    """Further folders that are another one in each run, each with the word that stands for it."""
    _roots: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Know the tree by its real name, too."""
        spellings = {str(self.tree), str(self.tree.absolute()), str(self.tree.resolve())}
        object.__setattr__(self, "_roots", tuple(sorted(spellings, key=lambda each: (-len(each), each))))

    @property
    def roots(self) -> tuple[str, ...]:
        """Return the names of the tree, longest first."""
        return self._roots

    def find(self, name: str) -> str | None:
        """Return a file relative to the tree, with forward slashes; None if it is no file inside the tree."""
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
