"""Which failures of before a report does not show to be mended, because a test did not run, or was skipped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eikon_engine.fix.analysis.pytest_xml import Report

_NO_TESTS: Final = ("__init__.py", "conftest.py")
"""Modules that can fail to be read, and have no tests of their own."""
_SHOWN: Final = 3


def unproved(failed: Iterable[str], report: Report) -> tuple[str, ...]:
    """Return the ids without proof, in their order.

    A test has to be told as passed. Of a module that could not be read, a test of its own has to be; of what is no
    test and no module - a run that broke off - any test.
    """
    return tuple(sorted(each for each in failed if not _is_proved(each, report.passed)))


def told(failed: tuple[str, ...], report: Report | None) -> str:
    """Say in a line what a run with exit status 0 does not prove."""
    if report is None:
        return "exit status 0, but pytest left no report: the run did not come to its end"
    names = [f"{each} (skipped)" if each in report.skipped else each for each in failed[:_SHOWN]]
    more = f" and {len(failed) - _SHOWN} more" if len(failed) > _SHOWN else ""
    return f"exit status 0, but what failed before did not run and pass: {', '.join(names)}{more}"


def _is_proved(failed: str, passed: frozenset[str]) -> bool:
    if "::" in failed:
        return failed in passed
    if failed.endswith(".py") and not failed.endswith(_NO_TESTS):
        return any(each.startswith(f"{failed}::") for each in passed)
    return bool(passed)
