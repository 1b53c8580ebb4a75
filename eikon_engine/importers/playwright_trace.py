"""Import Playwright traces: the `trace.zip` of `tracing.stop`, or of the test runner.

A context is a file `NAME.trace` with `NAME.network`; the test runner writes one for each context, and its own steps
into `test.trace`.
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
"""Page time after an action without recorded timing; see `Environment.settle_ms`."""
_TIMELESS: Final = (AnswerDialog, Assert, Screenshot)
"""Actions that take no page time."""
_ACTING: Final = ("Frame.", "Page.")


def looks_like_playwright(file: ForeignFile) -> bool:
    """Whether a file is an archive with Playwright traces."""
    return file.archive is not None and any(name.endswith(SUFFIX) for name in file.archive.names)


def read_playwright(file: ForeignFile, chosen: str | None) -> ImportedMission:
    """Import one context of a trace; `chosen` selects one of several, e.g. `0-trace`.

    Raises:
        ForeignFormatError: the file is not a trace, has an unknown version, or is damaged.
        UsageError: `chosen` is missing or names no context.
    """
    archive = file.archive
    if archive is None:
        message = f"{file.path}: expected a zip archive. Pass the trace.zip itself."
        raise ForeignFormatError(message)
    name, lines = _choose(file, archive, chosen)
    steps = _read(file, archive, TEST_TRACE) if archive.has(TEST_TRACE) else None
    return _Mission(lines, Groups(lines, steps)).read(file, archive, name)


def _choose(file: ForeignFile, archive: Archive, chosen: str | None) -> tuple[str, TraceLines]:
    """Return the chosen context, or the only one with actions on pages."""
    names = [each.removesuffix(SUFFIX) for each in archive.names if each.endswith(SUFFIX) and each != TEST_TRACE]
    if chosen is not None and chosen not in names:
        message = f"{file.path}: expected the context {chosen}, got {', '.join(names) or 'none'}. Pass one with --test."
        raise UsageError(message)
    wanted = names if chosen is None else [chosen]
    contexts = {name: _read(file, archive, name + SUFFIX) for name in wanted}
    used = [name for name, each in contexts.items() if _acts(each)] or wanted
    if len(used) != 1:
        shown = ", ".join(f"{name} ({_acts(contexts[name])} calls)" for name in used) or "none"
        message = f"{file.path}: expected a trace of one context, got {shown}. Pass one with --test."
        raise UsageError(message) if used else ForeignFormatError(message)
    return used[0], contexts[used[0]]


def _read(file: ForeignFile, archive: Archive, name: str) -> TraceLines:
    with closing(archive.lines(name)) as lines:
        return read_lines(lines, f"{file.path}/{name}")


def _acts(lines: TraceLines) -> int:
    return sum(call.name.startswith(_ACTING) for call in lines.calls.values())


class _Mission:
    """Converts one context to a mission."""

    def __init__(self, lines: TraceLines, groups: Groups) -> None:
        self._lines = lines
        self._groups = groups
        self._gathered = Gathering()
        self._calls = Calls(self._gathered, lines.frames)
        self._pages = _ordinals(lines)
        self._seen = {0}
        self._places: list[str] = []
        """The group of each action."""
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
            self._gathered.lose(step, call.name, "it acts on a page from new_page(), which is not imported yet")
            return
        if call.name.startswith(_ACTING):
            self._arrive(step, call, page)
        self._calls.carry(step, call, page)
        count = len(self._gathered.actions) - before
        self._places += [group] * count
        if call.error is not None and count:
            self._errors[len(self._gathered.actions) - 1] = call.error

    def _arrive(self, step: int, call: Call, page: int) -> None:
        """Navigate to the initial document, or switch to a page that opened since the last action."""
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
            self._gathered.notes.append(f"{count} lines of unknown type {kind!r} ignored")
        for key in self._calls.held:
            self._gathered.notes.append(f"the key {key} was still held at the end and is not imported")
        for step, call in enumerate(self._lines.calls.values(), start=1):
            if call.end_ms is None and call.name.startswith(_ACTING):
                self._gathered.note(step, f"{call.name} had not finished when the recording ended")

    def _acts(self) -> tuple[Act, ...]:
        """Return when each action acted on its page; actions that only wait or read cause no events."""
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
    """Return the ordinals of the pages that a replay also has: the first one and its popups."""
    found: dict[str, int] = {}
    opened = sum(call.name == "BrowserContext.newPage" for call in lines.calls.values()) > 1
    for page, opener in lines.pages.items():
        if not found or opener in found or (opener is None and not opened):
            found[page] = len(found)
    return found
