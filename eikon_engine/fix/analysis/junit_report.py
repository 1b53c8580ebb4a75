"""Failures from pytest's JUnit report, and earlier failures that it does not show as fixed.

Source of the format: https://docs.pytest.org/en/stable/how-to/output.html#creating-junitxml-format-files
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.analysis.normalize import normalize
from eikon_engine.fix.analysis.pytest_output import read_pytest_failure

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from xml.etree.ElementTree import Element

    from eikon_engine.fix.analysis.normalize import RunPaths
    from eikon_engine.fix.models import TestFailure

MAX_REPORT_BYTES: Final = 64 << 20
_FAILURE_TAGS: Final = ("failure", "error")
_GENERIC_MESSAGE: Final = re.compile(r'^(?:collection failure|failed on (?:setup|teardown) with ".*)$', re.DOTALL)
"""Generic messages; the text below is more precise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JUnitReport:
    """Content of a report."""

    failures: tuple[TestFailure, ...]
    """In execution order."""
    others: tuple[str, ...]
    """Ids of the tests that passed or were skipped."""
    skipped: frozenset[str] = frozenset()
    """The subset of `others` that was skipped or failed as expected."""

    @property
    def passed(self) -> frozenset[str]:
        """Return the ids of the tests that ran and passed."""
        return frozenset(self.others) - self.skipped


def read_junit_report(path: Path, places: RunPaths) -> JUnitReport | None:
    """Read a report; None if it is missing or truncated."""
    from defusedxml import ElementTree  # noqa: PLC0415 - an extra, and only some runs have a report
    from defusedxml.common import DefusedXmlException  # noqa: PLC0415 - as above

    try:
        if path.stat().st_size > MAX_REPORT_BYTES:
            return None
        root = ElementTree.fromstring(path.read_bytes(), forbid_dtd=True)
    except (OSError, ValueError, LookupError, ElementTree.ParseError, DefusedXmlException):
        return None
    cases = tuple((case, [found for found in case if found.tag in _FAILURE_TAGS]) for case in root.iter("testcase"))
    failures = tuple(_failure(case, each, places) for case, found in cases for each in found)
    names = dict.fromkeys(normalize(_node_id(case, places), places) for case, found in cases if not found)
    failing = {each.id for each in failures}
    others = tuple(name for name in names if name not in failing)
    skipped = frozenset(
        normalize(_node_id(case, places), places) for case, _ in cases if case.find("skipped") is not None
    )
    return JUnitReport(failures=failures, others=others, skipped=skipped.intersection(others))


def _failure(case: Element, found: Element, places: RunPaths) -> TestFailure:
    message = normalize(found.get("message") or "", places)
    text = normalize(found.text or "", places)
    file = case.get("file")
    name = normalize(_node_id(case, places), places)
    shown = "" if _GENERIC_MESSAGE.match(message) else message
    return read_pytest_failure(name, text, places, message=shown, file=file)


def _node_id(case: Element, places: RunPaths) -> str:
    """Return the node id of a test: file, classes, name with parameters.

    `classname` is the file without extension and the classes, joined by dots; a module with a collection error has its
    own name as test name, and no class.
    """
    file, parts, name = case.get("file"), case.get("classname", "").split("."), case.get("name", "")
    if parts == [""]:
        return file or _module(name.replace(".", "/"), places) or name or "collection"
    if file is not None:
        stem = re.sub(r"\.\w+$", "", file).replace("\\", "/").split("/")
        return "::".join((file, *parts[len(stem) :], name))
    for length in range(len(parts), 0, -1):
        module = _module("/".join(parts[:length]), places)
        if module is not None:
            return "::".join((module, *parts[length:], name))
    return "::".join((".".join(parts), name))


def _module(stem: str, places: RunPaths) -> str | None:
    return f"{stem}.py" if places.relative_file(f"{stem}.py") is not None else None


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
