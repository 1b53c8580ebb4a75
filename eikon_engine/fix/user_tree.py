"""The tree of the user, which is read here and never changed."""

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
"""How many files a tree without git may have: more is a home folder, and no project."""
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class UserTree:
    """A project: a working tree of git, or else a folder."""

    root: Path
    """Absolute, and without symbolic links."""
    cwd: str
    """Folder that commands run in, relative to the root."""
    is_git: bool
    apart: tuple[Path, ...] = ()
    """Folders of ours inside of it, which are no part of it."""

    def holds(self, relative: str) -> bool:
        """Say whether a path is one of the tree's: none of git, and none of what lies apart."""
        path = self.root / relative
        return ".git" not in Path(relative).parts and not any(path.is_relative_to(each) for each in self.apart)


def find_tree(cwd: Path, apart: tuple[Path, ...] = ()) -> UserTree:
    """Find the working tree around a folder; without git, it is the folder itself.

    Raises:
        UsageError: there is no such folder, or it belongs to git itself.
        GitMissingError: there is no git.
    """
    folder = cwd.resolve()
    if not folder.is_dir():
        message = f"{cwd}: wanted the folder of a project, found none; correct the path"
        raise UsageError(message)
    away = tuple(each.resolve() for each in apart)
    asked = ask_git(folder, "rev-parse", "--is-inside-git-dir", "--show-toplevel")
    if asked.stdout.startswith(b"true"):
        message = f"{cwd}: wanted the folder of a project, found one of git itself; go to the project"
        raise UsageError(message)
    if asked.returncode != 0:
        return UserTree(root=folder, cwd=".", is_git=False, apart=away)
    root = Path(os.fsdecode(asked.stdout.partition(b"\n")[2].rstrip(b"\n"))).resolve()
    return UserTree(root=root, cwd=folder.relative_to(root).as_posix(), is_git=True, apart=away)


def demand_clean(tree: UserTree) -> None:
    """Make sure that everything is committed; a folder without git has nothing to commit.

    Raises:
        DirtyTreeError: something is changed, or not known to git.
    """
    if not tree.is_git:
        return
    changed = tuple(filter(tree.holds, _status(tree.root)))
    if changed:
        more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
        message = (
            f"{tree.root}: wanted a clean working tree, found changes in {', '.join(changed[:_SHOWN])}{more}; commit "
            "them, or use --allow-dirty"
        )
        raise DirtyTreeError(message)


def files_of(tree: UserTree, also: tuple[str, ...] = ()) -> tuple[str, ...]:
    """List the files and symbolic links, relative to the root and sorted.

    What git ignores is left out, except for `also`: files and folders that are wanted nevertheless.

    Raises:
        UsageError: a folder without git holds too many, or one of `also` is not there.
    """
    listed = _known_to_git(tree.root) if tree.is_git else tuple(_below(tree.root, tree.root))
    if not tree.is_git and len(listed) > MOST_FILES:
        message = (
            f"{tree.root}: wanted the folder of a project, or a working tree of git, found more than {MOST_FILES} "
            "files; go to the project, or `git init` it"
        )
        raise UsageError(message)
    wanted = (*listed, *(each for name in also for each in _wanted(tree, name)))
    return tuple(sorted({each for each in wanted if tree.holds(each) and _is_copied(tree.root / each)}))


def relative_paths(tree: UserTree, paths: tuple[str, ...], option: str) -> tuple[str, ...]:
    """Turn paths as the user wrote them, relative to where the command runs, into paths relative to the root.

    Raises:
        UsageError: one leads out of the tree, or into what belongs to git.
    """
    return tuple(dict.fromkeys(_relative(tree, path, option) for path in paths))


def demand_targets(tree: UserTree, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return target files relative to the root.

    Raises:
        UsageError: one is no file of the tree.
    """
    for written in paths:
        if not (tree.root / _relative(tree, written, "--target-file")).is_file():
            message = f"--target-file: wanted a file, found none at {written!r}; correct the path"
            raise UsageError(message)
    return relative_paths(tree, paths, "--target-file")


def demand_relative(tree: UserTree, command: str) -> None:
    """Make sure that a command tests the copy; programs that git ignores may be named wherever they are.

    Raises:
        UsageError: it names what the user's own tree and the copy have in common.
    """
    for found in re.finditer(rf"(?<![\w./-]){re.escape(str(tree.root))}(?:/([^\s\"':;]*)|(?![\w.-]))", command):
        inside = found[1] or "."
        if not tree.is_git or ask_git(tree.root, "check-ignore", "--quiet", inside).returncode != 0:
            message = (
                f"--test-cmd: wanted paths relative to {tree.root}, since tests run in a copy of it, found {found[0]}; "
                "write it relatively"
            )
            raise UsageError(message)


def _relative(tree: UserTree, path: str, option: str) -> str:
    place = (tree.root / tree.cwd / path).resolve()
    inside = place.is_relative_to(tree.root) and place != tree.root
    if not inside or ".git" in place.relative_to(tree.root).parts:
        message = f"{option}: wanted a path inside {tree.root}, found {path!r}, which is none; correct it"
        raise UsageError(message)
    return place.relative_to(tree.root).as_posix()


def _wanted(tree: UserTree, name: str) -> Iterator[str]:
    place = tree.root / name
    if place.is_dir():
        yield from _below(place, tree.root)
    elif place.exists():
        yield name
    else:
        message = f"--also: wanted a file or a folder, found none at {name!r}; correct the path"
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
    """Walk through a folder, and stop where it is more than a project."""
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
