"""Failures from pytest's JUnit report.

Source of the form: https://docs.pytest.org/en/stable/how-to/output.html#creating-junitxml-format-files
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.analysis.pytest_entry import read_pytest_failure
from eikon_engine.fix.analysis.steady import normalize

if TYPE_CHECKING:
    from pathlib import Path
    from xml.etree.ElementTree import Element

    from eikon_engine.fix.analysis.places import TestPaths
    from eikon_engine.fix.failure import TestFailure

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


def read_junit_report(path: Path, places: TestPaths) -> JUnitReport | None:
    """Read a report; None if it is missing or truncated."""
    from defusedxml import ElementTree  # noqa: PLC0415 - an extra, and only some runs have a report
    from defusedxml.common import DefusedXmlException  # noqa: PLC0415 - as above

    try:
        if path.stat().st_size > MAX_REPORT_BYTES:
            return None
        root = ElementTree.fromstring(path.read_bytes(), forbid_dtd=True)
    except (OSError, ValueError, ElementTree.ParseError, DefusedXmlException):
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


def _failure(case: Element, found: Element, places: TestPaths) -> TestFailure:
    message = normalize(found.get("message") or "", places)
    text = normalize(found.text or "", places)
    file = case.get("file")
    name = normalize(_node_id(case, places), places)
    told = "" if _GENERIC_MESSAGE.match(message) else message
    return read_pytest_failure(name, text, places, message=told, file=file)


def _node_id(case: Element, places: TestPaths) -> str:
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


def _module(stem: str, places: TestPaths) -> str | None:
    return f"{stem}.py" if places.relative_file(f"{stem}.py") is not None else None
