"""Failures, and tests that ran, from pytest's terminal output."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.files.text import read_digits
from eikon_engine.fix.analysis.normalize import shorten
from eikon_engine.fix.analysis.tracebacks import innermost_own_frame, pytest_frames, without_captured
from eikon_engine.fix.models import TestFailure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eikon_engine.fix.analysis.normalize import RunPaths

EXCERPT_LINES: Final = 80
_NO_MESSAGE: Final = "failed without a message"
_ERROR_LINE: Final = re.compile(r"^E {1,3}(?P<text>.*)$", re.MULTILINE)


def read_pytest_failure(
    name: str, text: str, places: RunPaths, *, message: str = "", file: str | None = None
) -> TestFailure:
    """Return the failure of a normalized text; `file` is used if no frame is in the project."""
    frames = tuple(pytest_frames(text, places))
    shown = innermost_own_frame(frames, places)
    return TestFailure(
        id=name,
        kind="pytest",
        message=_first_line(message) or _first_line(_error_text(text)) or _NO_MESSAGE,
        file=shown.file if shown is not None else places.relative_file(file or ""),
        line=shown.line if shown is not None else None,
        frames=frames,
        excerpt=shorten(text, EXCERPT_LINES),
    )


def _error_text(text: str) -> str:
    """Return the text of the first `E` line, or else the last non-empty line."""
    output = without_captured(text)
    found = _ERROR_LINE.search(output)
    if found is not None:
        return found["text"]
    return next((line for line in reversed(output.split("\n")) if line.strip()), "")


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].strip()


STOPPED_EARLY: Final = re.compile(r"^!+ (?:[\w.]*Interrupted: .+|stopping after \d+ failures?) !+$", re.MULTILINE)
"""What pytest prints if it did not run all tests: `-x`, `--maxfail`, or a collection error."""
_BAR: Final = re.compile(r"^={2,} (?P<title>.+?) ={2,}$")
_ENTRY: Final = re.compile(r"^_{2,} (?P<title>.+?) _{2,}$")
_SUMMARY: Final = re.compile(r"^(?:FAILED|ERROR) (?P<id>\S+?\.\w+(?:::.+?)?)(?: - (?P<message>.*))?$")
_STAGE: Final = re.compile(r"^ERROR (?:at (?:setup|teardown) of|collecting) ")
_BLOCKS: Final = ("FAILURES", "ERRORS")


def read_pytest_output(text: str, places: RunPaths) -> tuple[TestFailure, ...]:
    """Return the failures in output order; empty if it is not pytest output."""
    summed = dict(_summary(text))
    titled = _by_title(summed)
    entries = [_entry(title, body, summed, titled, places) for title, body in _entries(text)]
    known = {each.id for each in entries}
    rest = (
        read_pytest_failure(name, message, places, message=message, file=name.partition("::")[0])
        for name, message in summed.items()
        if name not in known
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
    title: str, body: str, summed: Mapping[str, str], titled: Mapping[str, list[str]], places: RunPaths
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


_OUTCOMES: Final = {
    "PASSED": "passed",
    "FAILED": "failed",
    "ERROR": "error",
    "SKIPPED": "skipped",
    "XFAIL": "xfailed",
    "XPASS": "xpassed",
}
"""Words of the result lines, with their names in the final counts; `error` may be plural there."""
_NOT_FAILED: Final = frozenset({"PASSED", "SKIPPED", "XFAIL", "XPASS"})
_RESULT: Final = re.compile(
    rf"^(?P<id>\S+?\.\w+::.+) (?P<outcome>{'|'.join(_OUTCOMES)})(?: \([^\n]*\))?(?: +\[ *(?:\d+%|\d+/\d+)\])?$",
    re.MULTILINE,
)
_FINAL_COUNTS: Final = re.compile(r"^(?:=+ )?(?P<counts>\d+ [a-z]+(?:, \d+ [a-z]+)*)(?: =+)?$", re.MULTILINE)
_COUNT: Final = re.compile(r"(\d+) ([a-z]+)")


def verbose_results(text: str) -> tuple[str, ...] | None:
    """Return the ids of the tests that ran and did not fail; None if the output is not complete.

    The result lines must match the final counts exactly.
    """
    ended = _FINAL_COUNTS.findall(text)
    if len(ended) != 1:
        return None
    results = [(found["id"], found["outcome"]) for found in _RESULT.finditer(text)]
    counts = dict.fromkeys(_OUTCOMES.values(), 0)
    for number, word in _COUNT.findall(ended[0]):
        name = "error" if word == "errors" else word
        if name in counts:
            counts[name] = read_digits(number)
    if any(sum(outcome == word for _, outcome in results) != counts[name] for word, name in _OUTCOMES.items()):
        return None
    failing = {name for name, outcome in results if outcome not in _NOT_FAILED}
    return tuple(dict.fromkeys(name for name, _ in results if name not in failing))
