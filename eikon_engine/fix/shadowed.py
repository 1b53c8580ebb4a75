"""Modules that a file of Python takes the place of: of the test runner, of Python itself, and what is installed."""

from __future__ import annotations

import re
import sys
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.appliers.bounds import is_test
from eikon_engine.fix.python_imports import imports_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from eikon_engine.fix.failure import Analysis

_RUNNERS: Final = frozenset(
    {"_pytest", "doctest", "iniconfig", "nose", "nose2", "pluggy", "pytest", "testtools", "tox", "unittest", "xdist"}
)
"""Modules of Python's test runners, and what they import; beside them all that begin with `pytest_`."""
_ORDINARY: Final = frozenset({"coverage", "exceptiongroup", "green", "hypothesis", "py", "robot"})
"""More of them, whose names others have as well: what is there under such a name is the project's."""
_MISSING: Final = re.compile(r"No module named '(\w+)'")


def shadowed(file: str, made: Collection[str], files: Collection[str], outside: Collection[str]) -> Iterator[str]:
    """Yield the modules that a file is taken for.

    `made` are the files that a fix makes, `files` those that were there before; `outside` are modules that the project
    imports and does not have. A module of a package is imported by the name of its package, and takes no other's place.
    """
    path = PurePosixPath(file)
    new_packages = {each.parent for each in map(PurePosixPath, made) if each.name.partition(".")[0] == "__init__"}
    for number, name in enumerate(_modules(path)):
        if number and (PurePosixPath(*path.parts[:number]) / "__init__.py").as_posix() in files:
            continue
        is_file = number == len(path.parts) - 1
        is_new = file in made if is_file else PurePosixPath(*path.parts[: number + 1]) in new_packages
        is_taken = name in _ORDINARY or name in sys.stdlib_module_names or name in outside
        if name in _RUNNERS or name.startswith("pytest_") or (is_new and is_taken):
            yield name


def imported_from_outside(texts: Mapping[str, str]) -> frozenset[str]:
    """Return the modules that files of Python import, and that the project has no module for beside its tests."""
    wanted = {each.module.partition(".")[0] for text in texts.values() for each in imports_of(text) if not each.level}
    own = {
        name
        for path in map(PurePosixPath, texts)
        if not is_test(path)
        for number, name in enumerate(_modules(path))
        if not number or (PurePosixPath(*path.parts[:number]) / "__init__.py").as_posix() not in texts
    }
    return frozenset(wanted - own)


def missing_modules(analysis: Analysis | None) -> frozenset[str]:
    """Return the modules that the tests looked for, and that are nowhere: whoever makes them takes no other's place."""
    failures = () if analysis is None else analysis.failures
    return frozenset(name for each in failures for name in _MISSING.findall(f"{each.message}\n{each.excerpt}"))


def _modules(path: PurePosixPath) -> Iterator[str]:
    """Yield what Python would call a file and the folders around it."""
    if path.suffix in {".py", ".pyc", ".so"}:
        yield from path.parts[:-1]
        yield path.name.partition(".")[0]
