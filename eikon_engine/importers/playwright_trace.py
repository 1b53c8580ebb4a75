"""Read traces of Playwright: the `trace.zip` of `tracing.stop`, or of the test runner.

Shape: see `playwright_lines`. A context is a file `NAME.trace` with `NAME.network`; the test runner writes one for each
context, and its own steps into `test.trace`.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ForeignFormatError, UsageError
from eikon_engine.importers.mission import Act, Gathering, ImportedMission, ImportedSubgoal
from eikon_engine.importers.playwright_calls import Calls
from eikon_engine.importers.playwright_groups import Groups
from eikon_engine.importers.playwright_lines import read_lines
from eikon_engine.importers.playwright_network import read_trace_network
from eikon_engine.importers.playwright_screen import screen_of
from eikon_engine.trace.actions import AnswerDialog, Assert, Screenshot

if TYPE_CHECKING:
    from eikon_engine.importers.archive import Archive
    from eikon_engine.importers.foreign_file import ForeignFile
    from eikon_engine.importers.playwright_lines import Call, TraceLines

SOURCE: Final = "playwright"
SUFFIX: Final = ".trace"
TEST_TRACE: Final = "test.trace"
SETTLE_MS: Final = 500.0
"""Page time that a replay lets pass after an action of which nothing is recorded; see `Environment.settle_ms`."""
_TIMELESS: Final = (AnswerDialog, Assert, Screenshot)
"""Actions after which none passes."""
_ACTING: Final = ("Frame.", "Page.")


def looks_like_playwright(file: ForeignFile) -> bool:
    """Recognize an archive with traces."""
    return file.archive is not None and any(name.endswith(SUFFIX) for name in file.archive.names)


def read_playwright(file: ForeignFile, chosen: str | None) -> ImportedMission:
    """Read one context of a trace; `chosen` names it where there are several, `0-trace`.

    Raises:
        ForeignFormatError: it is none, of another version, or damaged.
        UsageError: `chosen` names nothing, or is needed.
    """
    archive = file.archive
    if archive is None:
        message = f"{file.path}: wanted the zip archive of a trace, found none; name the trace.zip itself"
        raise ForeignFormatError(message)
    name, lines = _choose(file, archive, chosen)
    steps = _read(file, archive, TEST_TRACE) if archive.has(TEST_TRACE) else None
    return _Mission(lines, Groups(lines, steps)).read(file, archive, name)


def _choose(file: ForeignFile, archive: Archive, chosen: str | None) -> tuple[str, TraceLines]:
    """Return the context that is meant: the one whose pages something was done to."""
    names = [each.removesuffix(SUFFIX) for each in archive.names if each.endswith(SUFFIX) and each != TEST_TRACE]
    if chosen is not None and chosen not in names:
        message = f"{file.path}: wanted the context {chosen}, found {', '.join(names) or 'none'}; name one with --test"
        raise UsageError(message)
    wanted = names if chosen is None else [chosen]
    contexts = {name: _read(file, archive, name + SUFFIX) for name in wanted}
    used = [name for name, each in contexts.items() if _acts(each)] or wanted
    if len(used) != 1:
        shown = ", ".join(f"{name} ({_acts(contexts[name])} calls)" for name in used) or "none"
        message = f"{file.path}: wanted a trace of one context, found {shown}; name one with --test"
        raise UsageError(message) if used else ForeignFormatError(message)
    return used[0], contexts[used[0]]


def _read(file: ForeignFile, archive: Archive, name: str) -> TraceLines:
    with closing(archive.lines(name)) as lines:
        return read_lines(lines, f"{file.path}/{name}")


def _acts(lines: TraceLines) -> int:
    return sum(call.name.startswith(_ACTING) for call in lines.calls.values())


class _Mission:
    """A context that is being read."""

    def __init__(self, lines: TraceLines, groups: Groups) -> None:
        self._lines = lines
        self._groups = groups
        self._gathered = Gathering()
        self._calls = Calls(self._gathered, lines.frames)
        self._pages = _ordinals(lines)
        self._seen = {0}
        self._places: list[str] = []
        """For each action, the group that it stands in."""
        self._errors: dict[int, str] = {}

    def read(self, file: ForeignFile, archive: Archive, name: str) -> ImportedMission:
        screen = screen_of(self._lines.head, self._lines.calls.values(), self._gathered)
        for step, call in enumerate(self._lines.calls.values(), start=1):
            self._carry(step, call)
        self._remark()
        text = self._groups.title or self._lines.head.title or file.path.stem
        network = read_trace_network(file, archive, name)
        if network is not None and network.language and not self._lines.head.options.get("locale"):
            screen = replace(screen, locale=network.language)
        return ImportedMission(
            source=SOURCE,
            text=text,
            subgoals=self._subgoals(text),
            screen=screen,
            lost=tuple(self._gathered.lost),
            notes=(*self._gathered.notes, *(network.notes if network is not None else ())),
            network=None if network is None else network.network,
            acts=self._acts(),
            files=tuple(self._calls.files),
        )

    def _carry(self, step: int, call: Call) -> None:
        before = len(self._gathered.actions)
        group = self._groups.of(call)
        page = self._page_of(call)
        if page is None:
            self._gathered.lose(step, call.name, "it acts on a page that the test opened itself, as ours cannot")
            return
        if call.name.startswith(_ACTING):
            self._arrive(step, call, page)
        self._calls.carry(step, call, page)
        count = len(self._gathered.actions) - before
        self._places += [group] * count
        if call.error is not None and count:
            self._errors[len(self._gathered.actions) - 1] = call.error

    def _arrive(self, step: int, call: Call, page: int) -> None:
        """Be on the page: load what was there at the beginning, and wait for one that was opened meanwhile."""
        url = self._lines.first_url
        if not self._gathered.actions and call.name != "Frame.goto" and url.startswith(("http:", "https:", "file:")):
            self._calls.go_to(step, url, call.start_ms)
        if page not in self._seen and call.name != "Page.bringToFront":
            self._calls.switch_to(step, page)
        self._seen.add(page)

    def _page_of(self, call: Call) -> int | None:
        if not call.name.startswith(_ACTING) or (call.page is None and len(self._pages) <= 1):
            return 0
        if call.page is None:
            return max(self._seen)
        return self._pages.get(call.page)

    def _remark(self) -> None:
        for kind, count in self._lines.unknown.items():
            self._gathered.notes.append(f"{count} lines of the unknown type {kind!r} were left out")
        for key in self._calls.held:
            self._gathered.notes.append(f"the key {key} was still held at the end, and was not carried over")
        for step, call in enumerate(self._lines.calls.values(), start=1):
            if call.end_ms is None and call.name.startswith(_ACTING):
                self._gathered.note(step, f"{call.name} was not over when recording ended")

    def _acts(self) -> tuple[Act, ...]:
        """Say when each action touched its page; what only waits or looks has no part in what comes."""
        head = self._lines.head
        acts: list[Act] = []
        page_ms, latest = 0.0, 0.0
        for place, (action, at_ms) in enumerate(zip(self._gathered.actions, self._calls.acted, strict=True)):
            if at_ms is not None:
                latest = max(latest, head.wall_ms + at_ms - head.monotonic_ms)
                acts.append(Act(at_ms=latest, phase=2 * place + 1, page_ms=page_ms))
            page_ms += 0.0 if isinstance(action, _TIMELESS) else SETTLE_MS
        return tuple(acts)

    def _subgoals(self, text: str) -> tuple[ImportedSubgoal, ...]:
        found = []
        numbered = list(enumerate(zip(self._gathered.actions, self._places, strict=True)))
        for group, members in groupby(numbered, key=lambda each: each[1][1]):
            places = [place for place, _ in members]
            found.append(
                ImportedSubgoal(
                    description=group or text,
                    actions=tuple(self._gathered.actions[place] for place in places),
                    errors={place - places[0]: self._errors[place] for place in places if place in self._errors},
                )
            )
        return tuple(found)


def _ordinals(lines: TraceLines) -> dict[str, int]:
    """Return the places of the pages that a replay has, too: the first one, and those that pages opened."""
    found: dict[str, int] = {}
    opened = sum(call.name == "BrowserContext.newPage" for call in lines.calls.values()) > 1
    for page, opener in lines.pages.items():
        if not found or opener in found or (opener is None and not opened):
            found[page] = len(found)
    return found
