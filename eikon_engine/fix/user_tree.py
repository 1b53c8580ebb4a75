"""The user's project tree, which is only read: its files, their names, and its symbolic links."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import UsageError
from eikon_engine.files.text import is_utf8, pluralize
from eikon_engine.fix.git import run_git, split_names, try_git

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_FILES: Final = 50_000
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
    excluded_folders: tuple[Path, ...] = ()
    """Our own folders inside the root, excluded from the tree."""

    def contains(self, relative: str) -> bool:
        """Return whether a path belongs to the tree: not in `.git`, not in an excluded folder."""
        path = self.root / relative
        return ".git" not in Path(relative).parts and not any(
            path.is_relative_to(each) for each in self.excluded_folders
        )


def find_tree(cwd: Path, excluded_folders: tuple[Path, ...] = ()) -> UserTree:
    """Return the git working tree around a folder; without git, the folder itself.

    Raises:
        UsageError: the folder does not exist, or is inside a git folder.
        RequirementError: git is not installed.
    """
    folder = cwd.resolve()
    if not folder.is_dir():
        message = f"{cwd}: expected a project folder, but it does not exist. Correct the path."
        raise UsageError(message)
    away = tuple(each.resolve() for each in excluded_folders)
    answer = try_git(folder, "rev-parse", "--is-inside-git-dir", "--show-toplevel")
    if answer.stdout.startswith(b"true"):
        message = f"{cwd}: expected a project folder, got a git folder. Run the command in the project."
        raise UsageError(message)
    if answer.returncode != 0:
        return UserTree(root=folder, cwd=".", is_git=False, excluded_folders=away)
    root = Path(os.fsdecode(answer.stdout.partition(b"\n")[2].rstrip(b"\n"))).resolve()
    return UserTree(root=root, cwd=folder.relative_to(root).as_posix(), is_git=True, excluded_folders=away)


def require_clean(tree: UserTree) -> None:
    """Check that everything is committed; a folder without git always passes.

    Raises:
        UsageError: a file is changed or untracked.
    """
    if not tree.is_git:
        return
    changed = tuple(filter(tree.contains, _changed_files(tree.root)))
    if changed:
        more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
        message = (
            f"{tree.root}: expected a clean working tree, got changes in {', '.join(changed[:_SHOWN])}{more}. Commit "
            "them, or use --allow-dirty."
        )
        raise UsageError(message, code="dirty-tree")


def tree_files(tree: UserTree, extra_files: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the files and symlinks, relative to the root and sorted.

    Files that git ignores are omitted, except those in `also`.

    Raises:
        UsageError: a folder without git has too many files, or one of `also` does not exist.
    """
    listed = _git_files(tree.root) if tree.is_git else tuple(_walk_files(tree.root, tree.root))
    if not tree.is_git and len(listed) > MAX_FILES:
        message = (
            f"{tree.root}: expected a project folder or a git working tree, got more than {MAX_FILES} files. Run the "
            "command in the project, or run `git init` there."
        )
        raise UsageError(message)
    expected = (*listed, *(each for name in extra_files for each in _extra_files(tree, name)))
    return tuple(sorted({each for each in expected if tree.contains(each) and _is_copied(tree.root / each)}))


def relative_paths(tree: UserTree, paths: tuple[str, ...], option: str) -> tuple[str, ...]:
    """Convert paths relative to the working directory into paths relative to the root.

    Raises:
        UsageError: a path is outside the tree or in `.git`.
    """
    return tuple(dict.fromkeys(_relative_path(tree, path, option) for path in paths))


def require_targets(tree: UserTree, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return the target files, relative to the root.

    Raises:
        UsageError: one is not a file of the tree.
    """
    for written in paths:
        if not (tree.root / _relative_path(tree, written, "--target-file")).is_file():
            message = f"--target-file: no such file: {written!r}. Correct the path."
            raise UsageError(message)
    return relative_paths(tree, paths, "--target-file")


def require_relative_command(tree: UserTree, command: str) -> None:
    """Check that a command does not name a file of the user's tree by absolute path, except ignored programs.

    Raises:
        UsageError: it does, so the tests would bypass the copy.
    """
    for found in re.finditer(rf"(?<![\w./-]){re.escape(str(tree.root))}(?:/([^\s\"':;]*)|(?![\w.-]))", command):
        inside = found[1] or "."
        if not tree.is_git or try_git(tree.root, "check-ignore", "--quiet", inside).returncode != 0:
            message = (
                f"--test-cmd: expected paths relative to {tree.root}, because tests run in a copy of it, got "
                f"{found[0]}. Use a relative path."
            )
            raise UsageError(message)


def _relative_path(tree: UserTree, path: str, option: str) -> str:
    place = (tree.root / tree.cwd / path).resolve()
    inside = place.is_relative_to(tree.root) and place != tree.root
    if not inside or ".git" in place.relative_to(tree.root).parts:
        message = f"{option}: expected a path inside {tree.root}, got {path!r}. Correct it."
        raise UsageError(message)
    return place.relative_to(tree.root).as_posix()


def _extra_files(tree: UserTree, name: str) -> Iterator[str]:
    place = tree.root / name
    if place.is_dir():
        yield from _walk_files(place, tree.root)
    elif place.exists():
        yield name
    else:
        message = f"--also: no such file or folder: {name!r}. Correct the path."
        raise UsageError(message)


def _changed_files(root: Path) -> Iterator[str]:
    entries = iter(
        split_names(run_git(root, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames"))
    )
    for entry in entries:
        yield entry[3:]


def _git_files(root: Path) -> tuple[str, ...]:
    tracked = split_names(run_git(root, "ls-files", "-z", "--cached", "--recurse-submodules"))
    others = split_names(run_git(root, "ls-files", "-z", "--others", "--exclude-standard"))
    return (*tracked, *others)


def _walk_files(folder: Path, root: Path) -> Iterator[str]:
    """List the files below a folder, up to the limit."""
    count = 0
    for place, folders, found in os.walk(folder):
        folders[:] = sorted(set(folders) - {".git"})
        linked = [name for name in folders if (Path(place) / name).is_symlink()]
        for name in (*found, *linked):
            count += 1
            yield (Path(place) / name).relative_to(root).as_posix()
            if count > MAX_FILES:
                return


def _is_copied(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def require_links_inside(root: Path, files: Iterable[str]) -> None:
    """Check that no symlink points outside the tree.

    Raises:
        UsageError: one does.
    """
    for each in files:
        if (root / each).is_symlink():
            link_target_in_copy(root, each)


def link_target_in_copy(root: Path, name: str) -> str:
    """Return the target of a symlink in the copy: unchanged if it stays inside, otherwise a relative path.

    Raises:
        UsageError: the link points outside the tree or to itself.
    """
    link = root / name
    text = os.readlink(link)  # noqa: PTH115 - the raw text; a Path would normalize it
    place = _resolve_link(link)
    if place is None or not place.is_relative_to(root):
        found = "a link to itself" if place is None else f"a link to {place}"
        message = (
            f"{name}: expected a symlink that stays inside {root}, got {found}: tests of a fix could write to your "
            "files through it. Remove the link, or add it to .gitignore."
        )
        raise UsageError(message)
    if os.path.isabs(text) or not _stays_inside(name, text):  # noqa: PTH117 - as above
        return os.path.relpath(place, link.parent.resolve())
    return text


def _resolve_link(link: Path) -> Path | None:
    try:
        return link.resolve()
    except (OSError, RuntimeError):
        return None


def _stays_inside(name: str, text: str) -> bool:
    """Return whether a relative link never leaves the root on the way."""
    depth = name.count("/")
    for part in text.split("/"):
        depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
        if depth < 0:
            return False
    return True


_NAMES_SHOWN = 3


def require_utf8(option: str, value: str) -> None:
    """Check that an option value is valid text for JSON and for process arguments.

    Raises:
        UsageError: it is not.
    """
    if not is_utf8(value):
        message = f"{option}: expected UTF-8 text, got {value!r}. Rename it."
        raise UsageError(message)
    if "\0" in value:
        message = f"{option}: expected text without null bytes, got {value!r}."
        raise UsageError(message)


def non_utf8_warnings(files: Iterable[str]) -> tuple[str, ...]:
    """Return a warning if there are file names that are not UTF-8."""
    found = [repr(each) for each in files if not is_utf8(each)]
    if not found:
        return ()
    shown = ", ".join(found[:_NAMES_SHOWN]) + (", …" if len(found) > _NAMES_SHOWN else "")
    return (f"{pluralize(len(found), 'file')} with a non-UTF-8 name cannot be shown to the model: {shown}",)
