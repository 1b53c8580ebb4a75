"""Render `report.html`: a replay as one page that opens from disk, with its pictures, and without network.

Nothing of a trace or a page is executed: its texts are escaped, and the policy of the page allows the one script of the
report, styles, and pictures that are part of it.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Final, assert_never
from urllib.parse import quote

from eikon_engine.divergence.next_step import next_step
from eikon_engine.divergence.response_diff import FIRST_ERROR_STATUS
from eikon_engine.errors import EventsError, TraceError
from eikon_engine.files.limits import MAX_RECORDED_VALUES, read_document, read_file
from eikon_engine.files.paths import resolve_inside
from eikon_engine.files.text import pluralize, read_digits
from eikon_engine.network.exchange import ABORTED_ERROR
from eikon_engine.outcome.event_log import EVENTS_FILE
from eikon_engine.outcome.events import ActionPerformed, SkillRun, ToolResult
from eikon_engine.outcome.outcomes import describe_network
from eikon_engine.outcome.read_events import parse_events
from eikon_engine.outcome.run_record import REPLAY_FOLDER
from eikon_engine.report.templates import page_file, page_template
from eikon_engine.trace.actions import READING_ACTIONS
from eikon_engine.trace.execution import Blocked, Failed, Succeeded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.outcome.events import EventLine
    from eikon_engine.outcome.outcomes import ReplayOutcome, RequestTime, ResponseChange, StepOutcome, SubgoalOutcome
    from eikon_engine.trace.execution import Artifact, Result

MAX_PICTURE_BYTES: Final = 4_000_000
"""Size of a picture that is part of the page; larger ones are linked."""
MAX_TEXT_LINES: Final = 400
"""Lines of a text file that are part of the page."""
MAX_REQUEST_BARS: Final = 2_000
"""Requests of a subgoal on the time axis; of more, the longest ones are shown."""
_READING_TYPES: Final = frozenset(each.model_fields["type"].default for each in READING_ACTIONS)
_EXPECTED: Final = ("page expected, differences outlined", "screenshot recorded")
_OBSERVED: Final = ("page observed, differences outlined", "screenshot")
_DIFFERENCE: Final = "difference of the screenshots"
_DOM_DIFFERENCE: Final = "DOM difference"
_MAX_LEVELS: Final = 40
"""Levels of elements in a DOM difference; deeper ones are shown beside each other."""


def render_report(outcome: ReplayOutcome, folder: Path, *, is_beside: bool = True, runs_page: str = "") -> str:
    """Render an outcome and its artifacts; files that are missing or out of the folder are named.

    Other files are links if the page `is_beside` them, in their folder; else names, since the page is sent alone.
    `runs_page` is the address of the list that it belongs to.
    """
    script = page_file("report.js")
    events, unreadable = _read_scenario_events(folder)
    subgoals = tuple(_Subgoals(outcome, folder, events))
    steps = [step for subgoal in subgoals for step in subgoal.steps]
    return page_template("report.html").render(
        outcome=outcome,
        next_step=next_step(outcome, folder),
        network=describe_network(outcome.network_mode, outcome.resume_point),
        duration_s=(outcome.ended_at - outcome.started_at).total_seconds(),
        subgoals=subgoals,
        kinds=[kind for kind in _BAR_KINDS if any(kind in subgoal.bar_kinds for subgoal in subgoals)],
        unreadable=unreadable,
        is_beside=is_beside,
        runs_page=runs_page,
        run_files=[name for name in _RUN_FILES if (folder / name).is_file()],
        first=next((step for step in steps if step.outcome.divergences), None),
        pictures=[(step, picture) for step in steps for picture in step.pictures[-1:]],
        counts={verdict: sum(step.outcome.verdict == verdict for step in steps) for verdict in _VERDICTS},
        script=script,
        script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


_RUN_FILES: Final = ("outcome.json", "events.jsonl", "replay_summary.txt")
_BAR_KINDS: Final = ("action", "read", "skill", "tool", "request")
_VERDICTS: Final = ("faithful", "diverged", "unverifiable")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Picture:
    name: str
    path: str
    url: str
    """A `data:` URL; that of the file if it is too large."""


@dataclass(slots=True)
class _Line:
    """A line of an indented text, with the lines below it."""

    text: str
    below: list[_Line] = field(default_factory=list)

    @property
    def sign(self) -> str:
        """Return `expected` for a line that starts with a minus, `observed` with a plus; else nothing."""
        return {"- ": "expected", "+ ": "observed"}.get(self.text[:2], "")


@dataclass(frozen=True, slots=True, kw_only=True)
class _RequestBar:
    """A request, and where it is on the time axis, in percent."""

    time: RequestTime
    begin: float
    width: float

    @property
    def has_failed(self) -> bool:
        """Whether it failed, or got a status of 400 or more; the page may have cancelled it."""
        what = self.time.what
        return read_digits(what) >= FIRST_ERROR_STATUS if what.isdecimal() else what not in {"", ABORTED_ERROR}

    @property
    def text(self) -> str:
        """Describe it."""
        took = "not ended" if self.time.duration_ms is None else f"{self.time.duration_ms:.0f} ms"
        return ", ".join(filter(None, (f"{self.time.method} {self.time.url}", self.time.what, took)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _ToolCall:
    """A tool call of the scenario that the replay is a part of, and where it is on the time axis, in percent."""

    result: ToolResult
    begin: float

    @property
    def text(self) -> str:
        """Describe it."""
        source = "from a fixture" if self.result.source == "fixture" else "executed"
        took = "" if self.result.latency_ms is None else f"{self.result.latency_ms:.0f} ms"
        failed = "" if self.result.error is None else f"failed: {self.result.error.kind}: {self.result.error.message}"
        return ", ".join(filter(None, (f"tool {self.result.tool}", source, took, failed)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """A step, and where it is on the time axis, in percent."""

    outcome: StepOutcome
    subgoal: SubgoalOutcome
    begin: float
    width: float
    request_bars: tuple[_RequestBar, ...]
    pictures: tuple[_Picture, ...]
    """Those that are no part of the comparison."""
    compared: tuple[_Picture, _Picture] | None
    """The expected picture and the observed one."""
    difference: _Picture | None
    """The pixels in which they differ."""
    dom_difference: tuple[_Line, ...]
    files: tuple[Artifact, ...]
    missing: tuple[Artifact, ...]

    @property
    def anchor(self) -> str:
        """Return the fragment of its URL."""
        return f"step-{self.subgoal.number}-{self.outcome.sequence}"

    @property
    def label(self) -> str:
        """Describe the action or skill."""
        return self.outcome.label if self.outcome.kind == "action" else f"skill {self.outcome.skill}"

    @property
    def type(self) -> str:
        """Return the type of the action, or `skill`."""
        return self.outcome.type if self.outcome.kind == "action" else "skill"

    @property
    def bar_kind(self) -> str:
        """Return `read`, `skill` or `action`."""
        return "read" if self.type in _READING_TYPES else self.outcome.kind

    @property
    def findings(self) -> Sequence[Divergence]:
        """Return the differences that do not count."""
        return self.outcome.findings if self.outcome.kind == "action" else ()

    @property
    def expected_result(self) -> str:
        """Describe the recorded result."""
        return _result_text(self.outcome.expected_result) if self.outcome.kind == "action" else ""

    @property
    def result(self) -> str:
        """Describe the result of the replay."""
        return "not performed" if self.outcome.result is None else _result_text(self.outcome.result)

    @property
    def console_errors(self) -> Sequence[str]:
        """Return what the pages wrote to the console."""
        seen = self.outcome.observation if self.outcome.kind == "action" else None
        return () if seen is None else (*seen.console_errors, *seen.page_errors)

    @property
    def requests(self) -> Sequence[str]:
        """Return the keys of its requests."""
        seen = self.outcome.observation if self.outcome.kind == "action" else None
        return () if seen is None else seen.requests


def _result_text(result: Result) -> str:
    match result:
        case Succeeded():
            return "succeeded"
        case Failed():
            return f"failed: {result.message or result.code}"
        case Blocked():
            return f"blocked: {result.reason}" if result.reason else "blocked"
        case _:
            assert_never(result)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subgoal:
    outcome: SubgoalOutcome
    steps: tuple[_Step, ...]
    changes: tuple[ResponseChange, ...]
    """Changed responses that its steps received."""
    tool_calls: tuple[_ToolCall, ...]

    @property
    def bar_kinds(self) -> frozenset[str]:
        """Return what is on its part of the time axis."""
        beside = {"tool": self.tool_calls, "request": self.request_bars}
        return frozenset((*(step.bar_kind for step in self.steps), *(kind for kind, drawn in beside.items() if drawn)))

    @property
    def request_bars(self) -> Sequence[_RequestBar]:
        """Return the longest ones of its steps, as many as are drawn."""
        bars = [bar for step in self.steps for bar in step.request_bars]
        is_too_many = len(bars) > MAX_REQUEST_BARS
        return sorted(bars, key=lambda bar: bar.width, reverse=True)[:MAX_REQUEST_BARS] if is_too_many else bars

    @property
    def requests(self) -> str:
        """Say how many requests there were, and how many are drawn."""
        count = sum(len(step.request_bars) for step in self.steps)
        return pluralize(count, "request") + (f", {MAX_REQUEST_BARS} shown" if count > MAX_REQUEST_BARS else "")

    @property
    def missing(self) -> str:
        """Say how many steps were not replayed; empty if all were."""
        count = max(0, self.outcome.steps_recorded - len(self.steps))
        return f"{pluralize(count, 'step')} of {self.outcome.steps_recorded} not replayed" if count else ""


class _Subgoals:
    """Arranges the subgoals of an outcome and reads the artifacts of their steps."""

    def __init__(self, outcome: ReplayOutcome, folder: Path, events: Sequence[EventLine]) -> None:
        self._outcome = outcome
        self._folder = folder
        self._events = events
        durations = [step.duration_ms for subgoal in outcome.subgoals for step in subgoal.steps]
        self._total_ms = sum(durations) or 1.0
        self._begins_ms = iter([0.0, *accumulate(durations)])

    def __iter__(self) -> Iterator[_Subgoal]:
        for each in self._outcome.subgoals:
            steps = tuple(self._step(each, step) for step in each.steps)
            changes = tuple(change for change in self._outcome.network.response_changes if change.subgoal == each.id)
            calls = tuple(self._tool_calls(each.id, steps))
            yield _Subgoal(outcome=each, steps=steps, changes=changes, tool_calls=calls)

    def _tool_calls(self, subgoal: str, steps: Sequence[_Step]) -> Iterator[_ToolCall]:
        """Yield those of a subgoal, each at the end of the step before it."""
        performed, begin = 0, steps[0].begin if steps else 0.0
        for line in self._events:
            match line.event:
                case ActionPerformed() | SkillRun() if line.event.subgoal == subgoal and performed < len(steps):
                    begin = steps[performed].begin + steps[performed].width
                    performed += 1
                case ToolResult() if line.event.subgoal == subgoal:
                    yield _ToolCall(result=line.event, begin=min(begin, 100.0))
                case _:
                    pass

    def _step(self, subgoal: SubgoalOutcome, outcome: StepOutcome) -> _Step:
        there = {each.path: path for each in outcome.artifacts if (path := self._path_of(each)) is not None}
        known = [each for each in outcome.artifacts if each.path in there]
        pictures = {
            each.name: _Picture(name=each.name, path=each.path, url=_picture_url(each, there[each.path]))
            for each in known
            if each.path.endswith(".png")
        }
        compared = _take_pair(pictures)
        difference = pictures.pop(_DIFFERENCE, None)
        dom = next((there[each.path] for each in known if each.name == _DOM_DIFFERENCE), None)
        begin_ms = next(self._begins_ms)
        return _Step(
            outcome=outcome,
            subgoal=subgoal,
            begin=100 * begin_ms / self._total_ms,
            request_bars=tuple(self._request_bars(outcome, begin_ms)),
            width=100 * outcome.duration_ms / self._total_ms,
            pictures=tuple(pictures.values()),
            compared=compared,
            difference=difference,
            dom_difference=() if dom is None else tuple(_nest(_read_lines(dom))),
            files=tuple(each for each in known if not each.path.endswith(".png")),
            missing=tuple(each for each in outcome.artifacts if each.path not in there),
        )

    def _request_bars(self, step: StepOutcome, begin_ms: float) -> Iterator[_RequestBar]:
        """Yield those of a step; one that did not end lasts until the end of the step."""
        for time in step.request_times if step.kind == "action" else ():
            sent_ms = begin_ms + time.begin_ms
            ended_ms = begin_ms + step.duration_ms if time.duration_ms is None else sent_ms + time.duration_ms
            begin, end = (100 * min(max(0.0, ms), self._total_ms) / self._total_ms for ms in (sent_ms, ended_ms))
            yield _RequestBar(time=time, begin=begin, width=max(0.0, end - begin))

    def _path_of(self, artifact: Artifact) -> Path | None:
        """Return the file of an artifact; None if it is missing, or out of the folder."""
        try:
            path = resolve_inside(self._folder, artifact.path, artifact.name)
            return path if path.is_file() else None
        except (TraceError, OSError):  # such as a name that is too long
            return None


def _read_scenario_events(folder: Path) -> tuple[Sequence[EventLine], str]:
    """Return the events of the scenario that a replay is a part of, if any, and why they cannot be read."""
    path = folder.parent / EVENTS_FILE
    if folder.name != REPLAY_FOLDER or not path.is_file() or path.is_symlink():
        return (), ""
    try:
        return parse_events(read_document(path, root=folder.parent, values=MAX_RECORDED_VALUES), EVENTS_FILE).lines, ""
    except EventsError as error:
        return (), str(error)
    except OSError as error:
        return (), f"{EVENTS_FILE}: {error.strerror}"


def _take_pair(pictures: dict[str, _Picture]) -> tuple[_Picture, _Picture] | None:
    """Take the expected and the observed picture out of those of a step; None if there are no two."""
    for before, now in zip(_EXPECTED, _OBSERVED, strict=True):
        if before in pictures and now in pictures:
            return pictures.pop(before), pictures.pop(now)
    return None


def _picture_url(artifact: Artifact, path: Path) -> str:
    data = read_file(path, root=path.parent)
    if len(data) > MAX_PICTURE_BYTES:
        return f"./{quote(artifact.path)}"
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


def _read_lines(path: Path) -> list[str]:
    lines = read_file(path, root=path.parent).decode("utf-8", "replace").splitlines()
    more = len(lines) - MAX_TEXT_LINES
    return [*lines[:MAX_TEXT_LINES], *([f"and {pluralize(more, 'more line')}"] if more > 0 else [])]


def _nest(lines: Iterable[str]) -> Iterator[_Line]:
    """Nest lines below those before them with a smaller indentation, up to some levels."""
    top = _Line("")
    levels = [(-1, top)]
    for line in lines:
        text = line.lstrip(" ")
        indent = len(line) - len(text)
        while levels[-1][0] >= indent or len(levels) > _MAX_LEVELS:
            levels.pop()
        nested = _Line(text)
        levels[-1][1].below.append(nested)
        levels.append((indent, nested))
    yield from top.below
