"""Failures from pytest's terminal output, if there is no JUnit report."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.analysis.frames import pytest_frames
from eikon_engine.fix.analysis.pytest_entry import read_pytest_failure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eikon_engine.fix.analysis.places import TestPaths
    from eikon_engine.fix.failure import TestFailure

STOPPED_EARLY: Final = re.compile(r"^!+ (?:[\w.]*Interrupted: .+|stopping after \d+ failures?) !+$", re.MULTILINE)
"""What pytest prints if it did not run all tests: `-x`, `--maxfail`, or a collection error."""
_BAR: Final = re.compile(r"^={2,} (?P<title>.+?) ={2,}$")
_ENTRY: Final = re.compile(r"^_{2,} (?P<title>.+?) _{2,}$")
_SUMMARY: Final = re.compile(r"^(?:FAILED|ERROR) (?P<id>\S+?\.\w+(?:::.+?)?)(?: - (?P<message>.*))?$")
_STAGE: Final = re.compile(r"^ERROR (?:at (?:setup|teardown) of|collecting) ")
_BLOCKS: Final = ("FAILURES", "ERRORS")


def read_pytest_output(text: str, places: TestPaths) -> tuple[TestFailure, ...]:
    """Return the failures in output order; empty if it is not pytest output."""
    summed = dict(_summary(text))
    titled = _by_title(summed)
    entries = [_entry(title, body, summed, titled, places) for title, body in _entries(text)]
    told = {each.id for each in entries}
    rest = (
        read_pytest_failure(name, message, places, message=message, file=name.partition("::")[0])
        for name, message in summed.items()
        if name not in told
    )
    return (*entries, *rest)


def _summary(text: str) -> Iterator[tuple[str, str]]:
    """Yield node id and message of the lines below `short test summary info`."""
    is_summary = False
    for line in text.split("\n"):
        bar = _BAR.match(line)
        if bar is not None:
            is_summary = bar["title"] == "short test summary info"
        elif is_summary and (found := _SUMMARY.match(line)) is not None:
            yield found["id"], found["message"] or ""


def _entries(text: str) -> Iterator[tuple[str, str]]:
    """Yield title and text of each detailed failure."""
    is_block, title = False, ""
    body: list[str] = []
    for line in text.split("\n"):
        bar, entry = _BAR.match(line), _ENTRY.match(line)
        if bar is None and (entry is None or not is_block):
            body.append(line)
            continue
        if title:
            yield title, "\n".join(body).strip("\n")
        is_block = bar["title"] in _BLOCKS if bar is not None else is_block
        title, body = entry["title"] if entry is not None and bar is None else "", []


def _by_title(summed: Mapping[str, str]) -> Mapping[str, list[str]]:
    """Return node ids by the titles that their failures may have."""
    titled: dict[str, list[str]] = {}
    for name in summed:
        for title in {name, _as_title(name)}:
            titled.setdefault(title, []).append(name)
    return titled


def _entry(
    title: str, body: str, summed: Mapping[str, str], titled: Mapping[str, list[str]], places: TestPaths
) -> TestFailure:
    """Return a failure under the node id of the summary that matches its title and file."""
    plain = _STAGE.sub("", title)
    files = {each.file for each in pytest_frames(body, places)}
    fitting = titled.get(plain, [])
    near = [name for name in fitting if (places.relative_file(name.partition("::")[0]) or name) in files]
    name = (near or fitting or [plain])[0]
    message = summed.get(name, "")
    return read_pytest_failure(
        name, body, places, message="" if message.endswith("...") else message, file=name.partition("::")[0]
    )


def _as_title(name: str) -> str:
    """Return the title of a node id's failure: classes and test joined by dots, without the file."""
    head, bracket, parameters = name.partition("::")[2].partition("[")
    return head.replace("::", ".") + bracket + parameters
