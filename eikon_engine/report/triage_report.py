"""Render the groups of a triage: as text, as Markdown for the page of a job, and as a page without scripts."""

from __future__ import annotations

import os
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from eikon_engine.files.text import pluralize, shorten
from eikon_engine.outcome.terminal import safe_lines
from eikon_engine.report.ci_formats import markdown_cell, markdown_text
from eikon_engine.report.replay_reports import REPORT_FILE
from eikon_engine.report.templates import page_template

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from eikon_engine.outcome.triage import Triage, TriagedRun, TriageGroup, ValueCount

SHOWN_VALUES: Final = 3
"""Values of a property in a line of text."""
SHOWN_RUNS: Final = 200
"""Runs of a group that the page lists."""
_LENGTH: Final = 300


def render_triage_text(triage: Triage) -> str:
    """Return the groups with what their runs share, in lines."""
    return safe_lines(_text(triage))


def render_triage_markdown(triage: Triage) -> str:
    """Return a table of the groups, and the suggestions."""
    return "\n".join(_markdown(triage)) + "\n"


def render_triage_page(triage: Triage, report_of: Callable[[str], str] = lambda _path: "", runs_page: str = "") -> str:
    """Return a page; nothing of a mission is executed, and nothing is loaded.

    `report_of` returns the address of the report of a run, by the path of its outcome; empty without one.
    `runs_page` is the address of the list of all runs.
    """
    return page_template("triage.html").render(
        triage=triage,
        headline=_headline(triage),
        shown_runs=SHOWN_RUNS,
        extent=partial(_extent, triage),
        report_of=report_of,
        runs_page=runs_page,
        known=_known,
        history=_history,
    )


def find_report(outcome: Path, page_folder: Path) -> str:
    """Return the address of the report beside an outcome for a page in a folder; empty without one."""
    report = outcome.with_name(REPORT_FILE)
    return quote(Path(os.path.relpath(report, page_folder)).as_posix()) if report.is_file() else ""


def _headline(triage: Triage) -> str:
    failed = triage.outcomes - triage.faithful
    causes = pluralize(len(triage.groups), "cause")
    read = f"{pluralize(triage.outcomes, 'outcome')} of {pluralize(triage.missions, 'mission')}"
    shown = sum(len(group.runs) for group in triage.groups)
    if shown < failed and len(triage.groups) == 1:
        return f"{read}: {shown} of {failed} failures have this cause"
    return f"{read}: {failed} failed with {causes}" if failed else f"{read}: all faithful"


def _text(triage: Triage) -> Iterator[str]:
    yield _headline(triage)
    every = triage.groups
    shared = every[0].shared if len(every) > 1 else ()
    common = [each for each in shared if all(each in group.shared for group in every)]
    if common:
        yield f"all causes have {', '.join(f'{each.name} {each.value}' for each in common)}"
    for number, group in enumerate(triage.groups, start=1):
        yield ""
        yield f"{number}. {group.signature} [{group.id}]"
        yield f"   {_extent(triage, group)}; confidence {group.confidence}"
        yield f"   seen {_minute(group.first_seen)} to {_minute(group.last_seen)}"
        yield f"   {shorten(_representative(group).sentence, _LENGTH)}"
        yield f"   look at: eikon report {shlex.quote(group.representative)}"
        if step := _representative(group).next_step:
            yield f"   next: {step}"
        if group.known is not None:
            yield f"   known: {_known(group)}"
        if group.history is not None:
            yield f"   history: {_history(group)}"
        own = [each for each in group.shared if each not in common]
        if own:
            yield f"   all have {', '.join(f'{each.name} {each.value}' for each in own)}"
        for each in group.varying:
            yield f"   differ in {each.name}: {_values(each.values, each.distinct)}"
        if group.settle:
            yield f"   to settle: {group.settle}"
    yield from _notes(triage)


def _notes(triage: Triage) -> Iterator[str]:
    if triage.suggestions:
        yield ""
        yield "Suggestions, none of which is done:"
        for each in triage.suggestions:
            yield f"  {each.kind} {', '.join(each.groups)}: {each.why}"
    for known in triage.expired:
        yield f"no longer known since {known.until}: {known.name}"
    for file in triage.unreadable:
        yield f"not read: {file.path}: {file.why}"


def _markdown(triage: Triage) -> Iterator[str]:
    yield f"### {markdown_text(_headline(triage))}"
    yield ""
    if triage.groups:
        yield "| runs | missions | cause | what changed | example | next | known | history |"
        yield "|---:|---:|---|---|---|---|---|---|"
    for group in triage.groups:
        change = ": ".join(filter(None, (group.signature.subject, group.signature.change)))
        cells = (
            str(len(group.runs)),
            str(len(group.missions)),
            group.signature.cause,
            f"{change} ({group.id})",
            f"{shorten(_representative(group).sentence, _LENGTH)} ({group.representative})",
            _representative(group).next_step,
            _known(group),
            _history(group),
        )
        yield f"| {' | '.join(map(markdown_cell, cells))} |"
    for line in _notes(triage):
        yield f"- {markdown_text(line.strip())}" if line else ""


def _representative(group: TriageGroup) -> TriagedRun:
    return next(run for run in group.runs if run.path == group.representative)


def _extent(triage: Triage, group: TriageGroup) -> str:
    """Return how much a cause stops."""
    runs = f"{len(group.runs)} of {pluralize(triage.outcomes, 'run')} ({len(group.runs) / triage.outcomes:.0%})"
    missions = f"{len(group.missions)} of {pluralize(triage.missions, 'mission')}"
    later = f"; {pluralize(group.consequences, 'later step')} would differ, too" if group.consequences else ""
    return f"{runs}, {missions}{later}"


def _known(group: TriageGroup) -> str:
    known = group.known
    if known is None:
        return ""
    until = f"until {known.until}" if known.until else ""
    return ", ".join(filter(None, (known.name, known.owner, known.ticket, until)))


def _history(group: TriageGroup) -> str:
    """Return what earlier runs say about a cause; empty if there is no history."""
    history = group.history
    if history is None:
        return ""
    if history.first_seen is None or history.last_seen is None:
        return "new"
    earlier = f"{pluralize(history.runs, 'earlier run')}, the last one {_minute(history.last_seen)}"
    if history.recurrence == "back":
        return f"back again: {earlier}; the mission passed after that"
    return f"known since {_minute(history.first_seen)}: {earlier}"


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"


def _values(values: tuple[ValueCount, ...], distinct: int) -> str:
    shown = ", ".join(f"{shorten(each.value, _LENGTH // 2) or 'none'} ({each.runs})" for each in values[:SHOWN_VALUES])
    more = distinct - min(len(values), SHOWN_VALUES)
    return f"{shown} and {more} more" if more > 0 else shown
