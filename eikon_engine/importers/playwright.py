"""Import Playwright traces: the `trace.zip` of `tracing.stop`, or of the test runner.

A context is a file `NAME.trace` with `NAME.network`; the test runner writes one for each context, and its own steps
into `test.trace`. `playwright_trace_file` describes the lines.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ForeignFormatError, UsageError
from eikon_engine.importers.imported_mission import (
    ActionTime,
    ImportedEnvironment,
    ImportedMission,
    ImportedSubgoal,
    MissionBuilder,
)
from eikon_engine.importers.playwright_calls import SET_VIEWPORT_SIZE, CallConverter, is_page_call
from eikon_engine.importers.playwright_network import read_trace_network
from eikon_engine.importers.playwright_trace_file import NEW_PAGE, get_number, get_text, read_trace_lines
from eikon_engine.trace.actions import AnswerDialog, Assert, Expect, Read, Screenshot

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import JsonValue

    from eikon_engine.importers.foreign_file import Archive, ForeignFile
    from eikon_engine.importers.playwright_trace_file import Call, TraceContents, TraceHeader

_TRACING_GROUP: Final = "Tracing.tracingGroup"
_TEST_STEP: Final = "test.step"
_SEPARATOR: Final = " / "


class CallGroups:
    """Finds the groups of a call."""

    def __init__(self, lines: TraceContents, steps: TraceContents | None) -> None:
        """Read one context, and the steps of its test if the test runner wrote them."""
        self.title = steps.head.title if steps is not None else ""
        """Title of the test."""
        self._steps: dict[str, Call] = dict(steps.calls) if steps is not None else {}
        self._own: dict[str, Call] = {}
        for key, call in lines.calls.items():
            self._own[key] = call
            if call.step is not None:
                self._own[call.step] = call
        self._ids = {id(call): key for key, call in lines.calls.items()}

    def title_of(self, call: Call) -> str:
        """Return the titles of the groups around a call, outermost first; empty if there are none."""
        titles: list[str] = []
        above: str | None = call.parent
        if above is None:
            step = self._steps.get(call.step or self._ids[id(call)])
            above = step.parent if step is not None else None
        seen: set[str] = set()
        while above is not None and above not in seen:
            seen.add(above)
            group = self._steps.get(above) or self._own.get(above)
            if group is None:
                break
            if group.name == _TRACING_GROUP or group.name.endswith(_TEST_STEP):
                titles.insert(0, group.title)
            above = group.parent
        return _SEPARATOR.join(each for each in titles if each)


_DEFAULT_VIEWPORT: Final = (1280, 720)
_IMPORTED_OPTIONS: Final = frozenset(
    (
        *("viewport", "deviceScaleFactor", "isMobile", "hasTouch", "userAgent", "locale", "timezoneId", "colorScheme"),
        "baseURL",
    )
)
_IRRELEVANT_OPTIONS: Final = frozenset(
    (
        *("noDefaultViewport", "acceptDownloads", "strictSelectors", "recordVideo", "recordHar"),
        *("selectorEngines", "testIdAttributeName", "ignoreHTTPSErrors", "sdkLanguage"),
    )
)
"""Options that do not affect pages, or that a sealed replay does not need."""


def read_environment(head: TraceHeader, calls: Iterable[Call], gathered: MissionBuilder) -> ImportedEnvironment:
    """Return the environment, and note options that are not imported."""
    options = head.options
    width, height = _read_viewport(options.get("viewport"), calls, gathered)
    for name, value in options.items():
        if name not in _IMPORTED_OPTIONS | _IRRELEVANT_OPTIONS and value not in (None, False, "", [], {}):
            gathered.notes.append(f"context option {name} ignored")
    if head.browser_name not in {"", "chromium"}:
        gathered.notes.append(f"recorded in {head.browser_name}, replayed in chromium")
    if not options.get("timezoneId"):
        gathered.notes.append("the trace has no time zone; UTC is used")
    scheme = get_text(options, "colorScheme")
    return ImportedEnvironment(
        width=width,
        height=height,
        device_scale_factor=get_number(options, "deviceScaleFactor") or 1.0,
        is_mobile=options.get("isMobile") is True,
        has_touch=options.get("hasTouch") is True,
        user_agent=get_text(options, "userAgent"),
        locale=get_text(options, "locale") or "en-US",
        timezone=get_text(options, "timezoneId") or "UTC",
        color_scheme="dark" if scheme == "dark" else "no-preference" if scheme == "no-preference" else "light",
        clock_start_ms=int(head.wall_ms) or None,
    )


def _read_viewport(viewport: JsonValue, calls: Iterable[Call], gathered: MissionBuilder) -> tuple[int, int]:
    """Return the viewport of the context, or the one set before the first action."""
    sizes = [viewport]
    for call in calls:
        if call.name == SET_VIEWPORT_SIZE:
            sizes.append(call.params.get("viewportSize"))
        elif is_page_call(call.name):
            break
    for size in reversed(sizes):
        if isinstance(size, dict):
            width, height = get_number(size, "width"), get_number(size, "height")
            if width and height and min(width, height) >= 1:
                return int(width), int(height)
    gathered.notes.append(f"the trace has no viewport; {_DEFAULT_VIEWPORT[0]} x {_DEFAULT_VIEWPORT[1]} is used")
    return _DEFAULT_VIEWPORT


SOURCE: Final = "playwright"
TRACE_SUFFIX: Final = ".trace"
TEST_TRACE: Final = "test.trace"
SETTLE_MS: Final = 500.0
"""Page time after an action without recorded timing; see `Environment.settle_ms`."""
_UNKNOWN_PAGE: Final = "the trace does not say on which of the open pages it was called"
_INSTANT_ACTIONS: Final = (AnswerDialog, Assert, Expect, Read, Screenshot)
"""Actions that take no page time."""


def is_playwright_trace(file: ForeignFile) -> bool:
    """Whether a file is an archive with Playwright traces."""
    return file.archive is not None and any(name.endswith(TRACE_SUFFIX) for name in file.archive.names)


def import_playwright(file: ForeignFile, chosen: str | None) -> ImportedMission:
    """Import one context of a trace; `chosen` selects one of several, e.g. `0-trace`.

    Raises:
        ForeignFormatError: the file is not a trace, has an unknown version, or is damaged.
        UsageError: `chosen` is missing or names no context.
    """
    archive = file.archive
    if archive is None:
        message = f"{file.path}: expected a zip archive. Pass the trace.zip itself."
        raise ForeignFormatError(message)
    name, lines = _choose_context(file, archive, chosen)
    steps = _read_trace(file, archive, TEST_TRACE) if archive.contains(TEST_TRACE) else None
    return _ContextConverter(lines, CallGroups(lines, steps)).convert(file, archive, name)


def _choose_context(file: ForeignFile, archive: Archive, chosen: str | None) -> tuple[str, TraceContents]:
    """Return the chosen context, or the only one with actions on pages."""
    names = [
        each.removesuffix(TRACE_SUFFIX) for each in archive.names if each.endswith(TRACE_SUFFIX) and each != TEST_TRACE
    ]
    if chosen is not None and chosen not in names:
        message = f"{file.path}: expected the context {chosen}, got {', '.join(names) or 'none'}. Pass one with --test."
        raise UsageError(message)
    expected = names if chosen is None else [chosen]
    contexts = {name: _read_trace(file, archive, name + TRACE_SUFFIX) for name in expected}
    used = [name for name, each in contexts.items() if _count_page_calls(each)] or expected
    if len(used) != 1:
        shown = ", ".join(f"{name} ({_count_page_calls(contexts[name])} calls)" for name in used) or "none"
        message = f"{file.path}: expected a trace of one context, got {shown}. Pass one with --test."
        raise UsageError(message) if used else ForeignFormatError(message)
    return used[0], contexts[used[0]]


def _read_trace(file: ForeignFile, archive: Archive, name: str) -> TraceContents:
    with closing(archive.lines(name)) as lines:
        return read_trace_lines(lines, f"{file.path}/{name}")


def _count_page_calls(lines: TraceContents) -> int:
    return sum(is_page_call(call.name) for call in lines.calls.values())


class _ContextConverter:
    """Converts one context to a mission."""

    def __init__(self, lines: TraceContents, groups: CallGroups) -> None:
        self._lines = lines
        self._groups = groups
        self._builder = MissionBuilder()
        self._calls = CallConverter(self._builder, lines, get_text(lines.head.options, "baseURL"))
        self._pages = _page_ordinals(lines)
        self._visited_pages = {0}
        self._groups_of_actions: list[str] = []
        """The group of each action."""
        self._errors: dict[int, str] = {}

    def convert(self, file: ForeignFile, archive: Archive, name: str) -> ImportedMission:
        screen = read_environment(self._lines.head, self._lines.calls.values(), self._builder)
        for step, call in enumerate(self._lines.calls.values(), start=1):
            self._convert_call(step, call)
        self._add_notes()
        text = self._groups.title or self._lines.head.title or file.path.stem
        network = read_trace_network(file, archive, name)
        if network is not None and network.language and not self._lines.head.options.get("locale"):
            screen = replace(screen, locale=network.language)
        return ImportedMission(
            source=SOURCE,
            text=text,
            subgoals=self._subgoals(text),
            environment=screen,
            unsupported=tuple(self._builder.unsupported),
            notes=(*self._builder.notes, *(network.notes if network is not None else ())),
            network=None if network is None else network.network,
            action_times=self._action_times(),
            files=tuple(self._calls.files),
        )

    def _convert_call(self, step: int, call: Call) -> None:
        before = len(self._builder.actions)
        group = self._groups.title_of(call)
        page = self._page_of(call)
        if page is None:
            self._builder.add_unsupported(
                step, call.name, "it acts on a page from new_page(), and the trace does not say which call opened it"
            )
            return
        if self._is_page_uncertain(call) and self._calls.skip_read(step, call, _UNKNOWN_PAGE):
            return
        if is_page_call(call.name):
            self._enter_page(step, call, page)
        elif call.name == NEW_PAGE:
            self._visited_pages.add(page)
        self._calls.convert(step, call, page, group=group)
        count = len(self._builder.actions) - before
        self._groups_of_actions += [group] * count
        if call.error is not None and count:
            self._errors[len(self._builder.actions) - 1] = call.error

    def _enter_page(self, step: int, call: Call, page: int) -> None:
        """Navigate to the initial document, or switch to a page that opened since the last action."""
        url = self._lines.first_url
        if not self._builder.actions and call.name != "Frame.goto" and url.startswith(("http:", "https:", "file:")):
            self._calls.add_initial_navigation(step, url, call.start_ms)
        if page not in self._visited_pages and call.name != "Page.bringToFront":
            self._calls.add_page_switch(step, page)
        self._visited_pages.add(page)

    def _page_of(self, call: Call) -> int | None:
        if call.opened_page is not None:
            return self._pages.get(call.opened_page)
        if not is_page_call(call.name) or (call.page is None and len(self._pages) <= 1):
            return 0
        page = call.page or call.only_page
        if page is None:
            return max(self._visited_pages)
        return self._pages.get(page)

    def _is_page_uncertain(self, call: Call) -> bool:
        """Whether the trace does not say on which of several pages a call was made."""
        return is_page_call(call.name) and (call.page or call.only_page) is None and len(self._pages) > 1

    def _add_notes(self) -> None:
        for kind, count in self._lines.unknown.items():
            self._builder.notes.append(f"{count} lines of unknown type {kind!r} ignored")
        for step, call in enumerate(self._lines.calls.values(), start=1):
            if call.end_ms is None and is_page_call(call.name):
                self._builder.add_note(step, f"{call.name} had not finished when the recording ended")

    def _action_times(self) -> tuple[ActionTime, ...]:
        """Return when each action acted on its page; actions that only wait or read cause no events."""
        head = self._lines.head
        acts: list[ActionTime] = []
        page_ms, latest = 0.0, 0.0
        for place, (action, at_ms) in enumerate(zip(self._builder.actions, self._calls.action_times, strict=True)):
            if at_ms is not None:
                latest = max(latest, head.wall_ms + at_ms - head.monotonic_ms)
                acts.append(ActionTime(at_ms=latest, phase=2 * place + 1, page_ms=page_ms))
            page_ms += 0.0 if isinstance(action, _INSTANT_ACTIONS) else SETTLE_MS
        return tuple(acts)

    def _subgoals(self, text: str) -> tuple[ImportedSubgoal, ...]:
        found = []
        numbered = list(enumerate(zip(self._builder.actions, self._groups_of_actions, strict=True)))
        for group, members in groupby(numbered, key=lambda each: each[1][1]):
            places = [place for place, _ in members]
            found.append(
                ImportedSubgoal(
                    description=group or text,
                    actions=tuple(self._builder.actions[place] for place in places),
                    errors={place - places[0]: self._errors[place] for place in places if place in self._errors},
                )
            )
        return tuple(found)


def _page_ordinals(lines: TraceContents) -> dict[str, int]:
    """Return the ordinals of the pages that a replay also has: the first one, those of `newPage`, and their popups."""
    found: dict[str, int] = {}
    new_pages = [call.opened_page for call in lines.calls.values() if call.name == NEW_PAGE]
    for page, opener in lines.pages.items():
        if not found or opener in found or page in new_pages or (opener is None and len(new_pages) <= 1):
            found[page] = len(found)
    return found
