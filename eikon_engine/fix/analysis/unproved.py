"""Earlier failures that a report does not show as fixed, because the test was not run or was skipped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eikon_engine.fix.analysis.pytest_xml import JUnitReport

_MODULES_WITHOUT_TESTS: Final = ("__init__.py", "conftest.py")
"""Modules that can fail to import and have no tests of their own."""
_SHOWN: Final = 3


def unproved_failures(failed: Iterable[str], report: JUnitReport) -> tuple[str, ...]:
    """Return the ids without proof, sorted.

    A test must have passed. For a module that could not be imported, one of its tests must have passed; for anything
    else, e.g. an aborted run, any test.
    """
    return tuple(sorted(each for each in failed if not _is_proven(each, report.passed)))


def unproved_summary(failed: tuple[str, ...], report: JUnitReport | None) -> str:
    """Return one line about what a run with exit status 0 does not prove."""
    if report is None:
        return "exit status 0, but pytest wrote no report: the run was cut short"
    names = [f"{each} (skipped)" if each in report.skipped else each for each in failed[:_SHOWN]]
    more = f" and {len(failed) - _SHOWN} more" if len(failed) > _SHOWN else ""
    return f"exit status 0, but tests that failed before did not run and pass: {', '.join(names)}{more}"


def _is_proven(failed: str, passed: frozenset[str]) -> bool:
    if "::" in failed:
        return failed in passed
    if failed.endswith(".py") and not failed.endswith(_MODULES_WITHOUT_TESTS):
        return any(each.startswith(f"{failed}::") for each in passed)
    return bool(passed)
