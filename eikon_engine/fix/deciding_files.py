"""Files that decide what a test run says, beside those that are known by their names as tests.

A fix that changes what the test command runs, or puts a module in the place of one that the runner imports, can make
every test pass. So it takes a target file to let it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from posixpath import normpath
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import PatchRejectedError
from eikon_engine.fix.appliers.bounds import is_test
from eikon_engine.fix.named_modules import modules_run
from eikon_engine.fix.shadowed import shadowed

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from eikon_engine.fix.programs import Programs

_INSTALLED: Final = frozenset({"node_modules", "site-packages", "dist-packages"})
_WORD_END: Final = re.compile(r"""[\s"'`;&|()<>{}=$:,]+""")
_SETTINGS: Final = re.compile(r".*\.conf(?:ig)?\.[cm]?[jt]s")
"""What programs of Node look for. New ones alone are meant: one that is there, `app.config.ts`, may be code."""
_MOVES: Final = frozenset({"cd", "pushd", "-C", "--chdir", "--directory"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectAtFirst:
    """What a fix without target files is held against."""

    command: str
    cwd: str
    """Where the command runs, relative to the tree."""
    programs: Programs


def demand_undecided(
    changed: Sequence[str], made: Collection[str], missing: Collection[str], project: ProjectAtFirst
) -> None:
    """Make sure that a fix without target files leaves alone what decides about it.

    `made` are those of the changed files that were not there before; `missing` the modules that tests looked for, and
    that are nowhere.

    Raises:
        PatchRejectedError: it does not.
    """
    programs = project.programs
    for file in changed:
        path = PurePosixPath(file)
        if is_test(path):
            raise _rejected(file, "a test")
        if _is_named(path, project.command, project.cwd):
            raise _rejected(file, "one that the test command names")
        if file in made and _SETTINGS.fullmatch(path.name):
            raise _rejected(file, "new settings, which a test runner may read")
        if _INSTALLED.intersection(path.parts):
            raise _rejected(file, "one of an installed package")
        other = next(shadowed(file, made, programs.files, programs.outside - set(missing)), None)
        if other is not None:
            raise _rejected(file, f"one that takes the place of the module {other}")
        role = programs.role(file)
        if role is not None:
            raise _rejected(file, role)


def _is_named(path: PurePosixPath, command: str, cwd: str) -> bool:
    """Say whether a command names a file: by its path, by a pattern, or as a module behind `-m`."""
    words = [each for each in _WORD_END.split(command) if each]
    named = [normpath(f"{cwd}/{each}") for each in (*words, *modules_run(command))]
    if any(fnmatchcase(path.as_posix(), each) for each in named):
        return True
    if _MOVES.isdisjoint(words):
        return False
    return any(path.match(each) for each in (normpath(word).lstrip("/.") for word in words) if each)


def _rejected(file: str, found: str) -> PatchRejectedError:
    return PatchRejectedError(
        f"fix for {file!r}: wanted a file that does not decide whether the tests pass, found {found}; name it as a "
        "target file to let a fix change it"
    )
