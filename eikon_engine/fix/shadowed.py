"""Detect Python files that shadow a module of the test runner, the standard library or an installed package."""

from __future__ import annotations

import re
import sys
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.appliers.bounds import is_test_file
from eikon_engine.fix.python_imports import find_imports

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from eikon_engine.fix.failure import Analysis

_TEST_RUNNERS: Final = frozenset(
    {"_pytest", "doctest", "iniconfig", "nose", "nose2", "pluggy", "pytest", "testtools", "tox", "unittest", "xdist"}
)
"""Modules of Python test runners and their dependencies; names starting with `pytest_` count, too."""
_AMBIGUOUS_RUNNERS: Final = frozenset({"coverage", "exceptiongroup", "green", "hypothesis", "py", "robot"})
"""Further such modules whose names are common: an existing file of that name belongs to the project."""
_MISSING_MODULE: Final = re.compile(r"No module named '(\w+)'")


def shadowed_modules(
    file: str, created: Collection[str], files: Collection[str], external: Collection[str]
) -> Iterator[str]:
    """Yield the modules that a file would shadow.

    `made` are the files that a fix creates, `files` those that existed before; `outside` are modules that the project
    imports but does not contain. A module inside a package shadows nothing.
    """
    path = PurePosixPath(file)
    new_packages = {each.parent for each in map(PurePosixPath, created) if each.name.partition(".")[0] == "__init__"}
    for number, name in enumerate(_module_names(path)):
        if number and (PurePosixPath(*path.parts[:number]) / "__init__.py").as_posix() in files:
            continue
        is_file = number == len(path.parts) - 1
        is_new = file in created if is_file else PurePosixPath(*path.parts[: number + 1]) in new_packages
        is_taken = name in _AMBIGUOUS_RUNNERS or name in sys.stdlib_module_names or name in external
        if name in _TEST_RUNNERS or name.startswith("pytest_") or (is_new and is_taken):
            yield name


def external_imports(texts: Mapping[str, str]) -> frozenset[str]:
    """Return the modules that Python files import and that the project, tests excluded, does not contain."""
    wanted = {each.module.partition(".")[0] for text in texts.values() for each in find_imports(text) if not each.level}
    own = {
        name
        for path in map(PurePosixPath, texts)
        if not is_test_file(path)
        for number, name in enumerate(_module_names(path))
        if not number or (PurePosixPath(*path.parts[:number]) / "__init__.py").as_posix() not in texts
    }
    return frozenset(wanted - own)


def missing_modules(analysis: Analysis | None) -> frozenset[str]:
    """Return the modules that tests failed to import: creating one of them shadows nothing."""
    failures = () if analysis is None else analysis.failures
    return frozenset(name for each in failures for name in _MISSING_MODULE.findall(f"{each.message}\n{each.excerpt}"))


def _module_names(path: PurePosixPath) -> Iterator[str]:
    """Yield the module names of a file and of the folders around it."""
    if path.suffix in {".py", ".pyc", ".so"}:
        yield from path.parts[:-1]
        yield path.name.partition(".")[0]
