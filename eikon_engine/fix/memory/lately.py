"""Recently changed files, from the git history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.fix.git import split_names, try_git

if TYPE_CHECKING:
    from pathlib import Path

COMMITS: Final = 10


def recently_changed_files(repository: Path | None) -> frozenset[str]:
    """Return the files of the last commits, relative to the root; empty without history.

    Raises:
        GitMissingError: git is not installed.
    """
    if repository is None:
        return frozenset()
    done = try_git(
        repository,
        "log",
        f"--max-count={COMMITS}",
        "--no-merges",
        "--format=",
        "--name-only",
        "-z",
        "--relative",
        "HEAD",
    )
    return frozenset(split_names(done.stdout)) if done.returncode == 0 else frozenset()
