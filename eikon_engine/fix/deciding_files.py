"""Reject fixes of files that decide whether the tests pass.

A fix that changes what the test command runs, or shadows a module that the test runner imports, can make every test
pass. Such files can only be changed when they are named as target files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from posixpath import normpath
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import PatchRejectedError
from eikon_engine.fix.appliers.bounds import is_test_file
from eikon_engine.fix.named_modules import modules_run
from eikon_engine.fix.shadowed import shadowed_modules

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from eikon_engine.fix.programs import ProjectFiles

_PACKAGE_FOLDERS: Final = frozenset({"node_modules", "site-packages", "dist-packages"})
_WORD_BREAK: Final = re.compile(r"""[\s"'`;&|()<>{}=$:,]+""")
_CONFIG_MODULE: Final = re.compile(r".*\.conf(?:ig)?\.[cm]?[jt]s")
"""Configuration modules that Node tools look for. Only new ones are rejected: an existing `app.config.ts` may be code.
"""
_CD_WORDS: Final = frozenset({"cd", "pushd", "-C", "--chdir", "--directory"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginalProject:
    """The unmodified project, against which a fix without target files is checked."""

    command: str
    cwd: str
    """Working directory of the command, relative to the tree."""
    files: ProjectFiles


def require_unprotected(
    changed: Sequence[str], created: Collection[str], missing: Collection[str], project: OriginalProject
) -> None:
    """Check that a fix without target files changes no file that decides whether the tests pass.

    `made` are the changed files that are new; `missing` are modules that the tests failed to import.

    Raises:
        PatchRejectedError: the fix changes such a file.
    """
    programs = project.files
    for file in changed:
        path = PurePosixPath(file)
        if is_test_file(path):
            raise _rejected(file, "a test")
        if _is_in_command(path, project.command, project.cwd):
            raise _rejected(file, "a file that the test command names")
        if file in created and _CONFIG_MODULE.fullmatch(path.name):
            raise _rejected(file, "a new configuration file, which a test runner may read")
        if _PACKAGE_FOLDERS.intersection(path.parts):
            raise _rejected(file, "a file of an installed package")
        other = next(shadowed_modules(file, created, programs.files, programs.external_modules - set(missing)), None)
        if other is not None:
            raise _rejected(file, f"a file that shadows the module {other}")
        role = programs.protection_reason(file)
        if role is not None:
            raise _rejected(file, role)


def _is_in_command(path: PurePosixPath, command: str, cwd: str) -> bool:
    """Return whether a command names a file: by path, by glob pattern, or as a module after `-m`."""
    words = [each for each in _WORD_BREAK.split(command) if each]
    named = [normpath(f"{cwd}/{each}") for each in (*words, *modules_run(command))]
    if any(fnmatchcase(path.as_posix(), each) for each in named):
        return True
    if _CD_WORDS.isdisjoint(words):
        return False
    return any(path.match(each) for each in (normpath(word).lstrip("/.") for word in words) if each)


def _rejected(file: str, found: str) -> PatchRejectedError:
    return PatchRejectedError(
        f"fix for {file!r}: expected a file that does not decide whether the tests pass, got {found}. To let a fix "
        "change it, name it with --target-file."
    )
