"""The user's project tree; read only."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import DirtyTreeError, UsageError
from eikon_engine.fix.git import ask_git, git, names

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_FILES: Final = 50_000
"""Maximum number of files of a tree without git; more suggests a home folder."""
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class UserTree:
    """A project: a git working tree, or a plain folder."""

    root: Path
    """Absolute, symlinks resolved."""
    cwd: str
    """Working directory of commands, relative to the root."""
    is_git: bool
    apart: tuple[Path, ...] = ()
    """Our own folders inside the root, excluded from the tree."""

    def holds(self, relative: str) -> bool:
        """Return whether a path belongs to the tree: not in `.git`, not in an excluded folder."""
        path = self.root / relative
        return ".git" not in Path(relative).parts and not any(path.is_relative_to(each) for each in self.apart)


def find_tree(cwd: Path, apart: tuple[Path, ...] = ()) -> UserTree:
    """Return the git working tree around a folder; without git, the folder itself.

    Raises:
        UsageError: the folder does not exist, or is inside a git folder.
        GitMissingError: git is not installed.
    """
    folder = cwd.resolve()
    if not folder.is_dir():
        message = f"{cwd}: expected a project folder, but it does not exist. Correct the path."
        raise UsageError(message)
    away = tuple(each.resolve() for each in apart)
    asked = ask_git(folder, "rev-parse", "--is-inside-git-dir", "--show-toplevel")
    if asked.stdout.startswith(b"true"):
        message = f"{cwd}: expected a project folder, got a git folder. Run the command in the project."
        raise UsageError(message)
    if asked.returncode != 0:
        return UserTree(root=folder, cwd=".", is_git=False, apart=away)
    root = Path(os.fsdecode(asked.stdout.partition(b"\n")[2].rstrip(b"\n"))).resolve()
    return UserTree(root=root, cwd=folder.relative_to(root).as_posix(), is_git=True, apart=away)


def demand_clean(tree: UserTree) -> None:
    """Check that everything is committed; a folder without git always passes.

    Raises:
        DirtyTreeError: a file is changed or untracked.
    """
    if not tree.is_git:
        return
    changed = tuple(filter(tree.holds, _status(tree.root)))
    if changed:
        more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
        message = (
            f"{tree.root}: expected a clean working tree, got changes in {', '.join(changed[:_SHOWN])}{more}. Commit "
            "them, or use --allow-dirty."
        )
        raise DirtyTreeError(message)


def files_of(tree: UserTree, also: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the files and symlinks, relative to the root and sorted.

    Files that git ignores are omitted, except those in `also`.

    Raises:
        UsageError: a folder without git has too many files, or one of `also` does not exist.
    """
    listed = _known_to_git(tree.root) if tree.is_git else tuple(_below(tree.root, tree.root))
    if not tree.is_git and len(listed) > MOST_FILES:
        message = (
            f"{tree.root}: expected a project folder or a git working tree, got more than {MOST_FILES} files. Run the "
            "command in the project, or run `git init` there."
        )
        raise UsageError(message)
    wanted = (*listed, *(each for name in also for each in _wanted(tree, name)))
    return tuple(sorted({each for each in wanted if tree.holds(each) and _is_copied(tree.root / each)}))


def relative_paths(tree: UserTree, paths: tuple[str, ...], option: str) -> tuple[str, ...]:
    """Convert paths relative to the working directory into paths relative to the root.

    Raises:
        UsageError: a path is outside the tree or in `.git`.
    """
    return tuple(dict.fromkeys(_relative(tree, path, option) for path in paths))


def demand_targets(tree: UserTree, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return the target files, relative to the root.

    Raises:
        UsageError: one is not a file of the tree.
    """
    for written in paths:
        if not (tree.root / _relative(tree, written, "--target-file")).is_file():
            message = f"--target-file: no such file: {written!r}. Correct the path."
            raise UsageError(message)
    return relative_paths(tree, paths, "--target-file")


def demand_relative(tree: UserTree, command: str) -> None:
    """Check that a command does not name a file of the user's tree by absolute path, except ignored programs.

    Raises:
        UsageError: it does, so the tests would bypass the copy.
    """
    for found in re.finditer(rf"(?<![\w./-]){re.escape(str(tree.root))}(?:/([^\s\"':;]*)|(?![\w.-]))", command):
        inside = found[1] or "."
        if not tree.is_git or ask_git(tree.root, "check-ignore", "--quiet", inside).returncode != 0:
            message = (
                f"--test-cmd: expected paths relative to {tree.root}, because tests run in a copy of it, got "
                f"{found[0]}. Use a relative path."
            )
            raise UsageError(message)


def _relative(tree: UserTree, path: str, option: str) -> str:
    place = (tree.root / tree.cwd / path).resolve()
    inside = place.is_relative_to(tree.root) and place != tree.root
    if not inside or ".git" in place.relative_to(tree.root).parts:
        message = f"{option}: expected a path inside {tree.root}, got {path!r}. Correct it."
        raise UsageError(message)
    return place.relative_to(tree.root).as_posix()


def _wanted(tree: UserTree, name: str) -> Iterator[str]:
    place = tree.root / name
    if place.is_dir():
        yield from _below(place, tree.root)
    elif place.exists():
        yield name
    else:
        message = f"--also: no such file or folder: {name!r}. Correct the path."
        raise UsageError(message)


def _status(root: Path) -> Iterator[str]:
    told = iter(names(git(root, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")))
    for entry in told:
        yield entry[3:]


def _known_to_git(root: Path) -> tuple[str, ...]:
    tracked = names(git(root, "ls-files", "-z", "--cached", "--recurse-submodules"))
    others = names(git(root, "ls-files", "-z", "--others", "--exclude-standard"))
    return (*tracked, *others)


def _below(folder: Path, root: Path) -> Iterator[str]:
    """List the files below a folder, up to the limit."""
    count = 0
    for place, folders, found in os.walk(folder):
        folders[:] = sorted(set(folders) - {".git"})
        linked = [name for name in folders if (Path(place) / name).is_symlink()]
        for name in (*found, *linked):
            count += 1
            yield (Path(place) / name).relative_to(root).as_posix()
            if count > MOST_FILES:
                return


def _is_copied(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)
