"""Breakpoints: stop conditions, their patterns and syntax, and the table of a session's breakpoints.

All values are immutable; a change returns a new table. A regular expression can take exponential time (`(a+)+$`):
searches are limited, and an undecided search is reported, never treated as "no match".
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from enum import Enum
from typing import TYPE_CHECKING, Final, Self, TypeAlias, assert_never, get_args

import regex

from eikon_engine.debug.commands import BreakpointAdd
from eikon_engine.errors import UsageError
from eikon_engine.files.models import FileModel
from eikon_engine.files.patterns import compile_pattern, has_verbose_flag
from eikon_engine.files.text import pluralize, read_digits
from eikon_engine.network.keys import BODY_MARK
from eikon_engine.outcome.debug_events import BreakpointRef, BreakpointType
from eikon_engine.trace.actions import Action

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eikon_engine.replay.plan import Plan


@dataclass(frozen=True, slots=True)
class AtTool:
    """Stop before an action of this type or a skill of this name."""

    name: str
    condition: TextPattern | None = None
    """Pattern that the step's input must match as well."""


@dataclass(frozen=True, slots=True)
class AtIteration:
    """Stop before the step with this number."""

    number: int


@dataclass(frozen=True, slots=True)
class AtPattern:
    """Stop before a step whose input, page URL or recorded requests match a pattern."""

    pattern: TextPattern


@dataclass(frozen=True, slots=True)
class AtError:
    """Stop after a failed step."""


@dataclass(frozen=True, slots=True)
class AtDivergence:
    """Stop after a step that diverged."""


@dataclass(frozen=True, slots=True)
class AtSubgoal:
    """Stop before the first step of a subgoal: of all its attempts, or of one."""

    id: str


@dataclass(frozen=True, slots=True)
class AtRequest:
    """Stop before a step that made a matching request when recorded, and after a step that makes a new one."""

    pattern: RequestPattern


@dataclass(frozen=True, slots=True)
class AtSelector:
    """Stop after a step that changed which elements match a selector."""

    selector: str


StopCondition: TypeAlias = (
    AtTool | AtIteration | AtPattern | AtError | AtDivergence | AtSubgoal | AtRequest | AtSelector
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakpoint:
    """One breakpoint of a session."""

    id: str
    condition: StopCondition
    is_enabled: bool = True
    hit_count: int = 0
    """How often it stopped the session."""

    @property
    def type(self) -> BreakpointType:
        """Return its type."""
        return _describe(self.condition)[0]

    @property
    def event_reference(self) -> BreakpointRef:
        """Return the reference that events use."""
        kind, condition = _describe(self.condition)
        return BreakpointRef(id=self.id, type=kind, condition=condition)

    @property
    def listing(self) -> ListedBreakpoint:
        """Return its list entry."""
        kind, condition = _describe(self.condition)
        return ListedBreakpoint(
            id=self.id, type=kind, condition=condition, is_enabled=self.is_enabled, hit_count=self.hit_count
        )


class ListedBreakpoint(FileModel):
    """One breakpoint, as `eikon debug breakpoint list --json` prints it."""

    id: str
    type: BreakpointType
    condition: str | int | None = None
    is_enabled: bool
    hit_count: int

    def __str__(self) -> str:
        """Format as a line of a list."""
        condition = "" if self.condition is None else f" {self.condition}"
        disabled = "" if self.is_enabled else ", disabled"
        hits = "1 hit" if self.hit_count == 1 else f"{self.hit_count} hits"
        return f"{self.id}  {self.type}{condition}  ({hits}{disabled})"


@dataclass(frozen=True, slots=True)
class BreakpointTable:
    """The breakpoints of a session, in the order they were added."""

    breakpoints: tuple[Breakpoint, ...] = ()
    added_count: int = 0
    """How many were ever added; ids are not reused."""

    @property
    def enabled(self) -> tuple[Breakpoint, ...]:
        """Return the enabled breakpoints."""
        return tuple(each for each in self.breakpoints if each.is_enabled)

    @property
    def selectors(self) -> tuple[str, ...]:
        """Return the selectors to check after each step."""
        stops = (each.condition for each in self.enabled)
        return tuple(dict.fromkeys(stop.selector for stop in stops if isinstance(stop, AtSelector)))

    def add(self, condition: StopCondition) -> tuple[BreakpointTable, Breakpoint]:
        """Return the table with a new breakpoint, and that breakpoint.

        Raises:
            UsageError: an equal breakpoint exists.
        """
        for each in self.breakpoints:
            if each.condition == condition:
                advice = "" if each.is_enabled else f"; enable it: eikon debug breakpoint enable {each.id}"
                message = f"breakpoint add: the same breakpoint already exists: {each.listing}{advice}"
                raise UsageError(message, code="breakpoint")
        new = Breakpoint(id=f"bp-{self.added_count + 1}", condition=condition)
        return BreakpointTable((*self.breakpoints, new), self.added_count + 1), new

    def remove(self, breakpoint_id: str) -> BreakpointTable:
        """Return the table without a breakpoint.

        Raises:
            UsageError: unknown id.
        """
        removed = self.get(breakpoint_id)
        return replace(self, breakpoints=tuple(each for each in self.breakpoints if each is not removed))

    def clear(self) -> BreakpointTable:
        """Return an empty table; ids continue."""
        return replace(self, breakpoints=())

    def enable(self, breakpoint_id: str) -> BreakpointTable:
        """Return the table with a breakpoint enabled.

        Raises:
            UsageError: unknown id.
        """
        return self.with_updated((replace(self.get(breakpoint_id), is_enabled=True),))

    def disable(self, breakpoint_id: str) -> BreakpointTable:
        """Return the table with a breakpoint disabled.

        Raises:
            UsageError: unknown id.
        """
        return self.with_updated((replace(self.get(breakpoint_id), is_enabled=False),))

    def get(self, breakpoint_id: str) -> Breakpoint:
        """Return a breakpoint by id.

        Raises:
            UsageError: unknown id.
        """
        for each in self.breakpoints:
            if each.id == breakpoint_id:
                return each
        known = f"available: {', '.join(each.id for each in self.breakpoints) or 'none'}"
        message = f"breakpoint: no breakpoint with id {breakpoint_id!r}; {known}"
        raise UsageError(message, code="breakpoint")

    def with_updated(self, changed: Iterable[Breakpoint]) -> BreakpointTable:
        """Return the table with some breakpoints replaced, matched by id."""
        by_id = {each.id: each for each in changed}
        return replace(self, breakpoints=tuple(by_id.get(each.id, each) for each in self.breakpoints))


def _describe(stop_condition: StopCondition) -> tuple[BreakpointType, str | int | None]:  # noqa: PLR0911 - one case a kind
    match stop_condition:
        case AtTool(name=name, condition=condition):
            return "tool", name if condition is None else f"{name} --condition {condition.source}"
        case AtIteration(number=number):
            return "iteration", number
        case AtPattern(pattern=pattern):
            return "pattern", pattern.source
        case AtError():
            return "error", None
        case AtDivergence():
            return "divergence", None
        case AtSubgoal(id=name):
            return "subgoal", name
        case AtRequest(pattern=request):
            return "request", request.source
        case AtSelector(selector=selector):
            return "selector", selector
        case _:
            assert_never(stop_condition)


SEARCH_TIMEOUT_S: Final = 0.05
"""Processor time for all texts of a step; the load of the machine does not change results."""
MIN_SEARCH_S: Final = 0.001
"""Minimum time per text."""
MAX_PATTERN_LENGTH: Final = 2_000
"""In characters."""


class SearchResult(Enum):
    """Result of a search."""

    YES = "yes"
    NO = "no"
    UNDECIDED = "undecided"
    """Aborted after `SEARCH_TIMEOUT_S`."""


@dataclass(frozen=True, slots=True)
class TextPattern:
    """A case-insensitive regular expression, searched anywhere in a text."""

    source: str
    _compiled: regex.Pattern[str] = field(compare=False, repr=False)

    @classmethod
    def parse(cls, source: str, name: str) -> Self:
        """Parse the syntax of Python's `re`; `what` names the pattern in messages.

        Raises:
            UsageError: empty, too long, or not a regular expression.
        """
        _require_length(source, name)
        if has_verbose_flag(source):
            message = f"{name}: verbose patterns are not supported, got {source!r}; remove the flag x"
            raise UsageError(message, code="breakpoint")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # deprecated syntax
                re.compile(source, re.IGNORECASE)
            return cls(source, compile_pattern(source, re.IGNORECASE))
        except (re.error, regex.error, OverflowError, RecursionError) as error:
            message = f"{name}: expected a regular expression, got {source!r} ({error}); escape literal characters"
            raise UsageError(message, code="breakpoint") from error

    def search(self, text: str, timeout_s: float = SEARCH_TIMEOUT_S) -> SearchResult:
        """Search a text."""
        try:
            return SearchResult.NO if self._compiled.search(text, timeout=timeout_s) is None else SearchResult.YES
        except TimeoutError:
            return SearchResult.UNDECIDED


@dataclass(frozen=True, slots=True)
class RequestPattern:
    """A URL with `*` for any text, optionally preceded by a method: `*/api/*`, `POST */cart`."""

    source: str
    _method: str
    _pieces: tuple[str, ...]
    """Literal parts between the stars."""

    @classmethod
    def parse(cls, source: str) -> Self:
        """Parse a pattern; it must match the whole URL with its query, without its fragment.

        Raises:
            UsageError: empty, too long, or contains a misplaced space.
        """
        method, _, url = source.rpartition(" ")
        if not url or method != method.strip() or " " in method:
            message = f"request: expected a URL such as '*/api/*' or 'POST */cart', got {source!r}"
            raise UsageError(message, code="breakpoint")
        _require_length(source, "request")
        return cls(source, method.upper(), tuple(url.split("*")))

    def search(self, key: str, _timeout_s: float = SEARCH_TIMEOUT_S) -> SearchResult:
        """Match a request key; never undecided."""
        method, _, url = key.partition(BODY_MARK)[0].partition(" ")
        if self._method and method.upper() != self._method:
            return SearchResult.NO
        return SearchResult.YES if self._matches_url(url) else SearchResult.NO

    def _matches_url(self, url: str) -> bool:
        first, *between = self._pieces
        if not between:
            return url == first
        *between, last = between
        start, end = len(first), len(url) - len(last)
        if start > end or not url.startswith(first) or not url.endswith(last):
            return False
        for piece in between:
            found = url.find(piece, start, end)
            if found < 0:
                return False
            start = found + len(piece)
        return True


def search_texts(pattern: TextPattern | RequestPattern, texts: Sequence[str]) -> tuple[SearchResult, str]:
    """Search texts in order within `SEARCH_TIMEOUT_S`; return the result, with the deciding text."""
    each_s = max(SEARCH_TIMEOUT_S / max(len(texts), 1), MIN_SEARCH_S)
    for text in texts:
        found = pattern.search(text, each_s)
        if found is not SearchResult.NO:
            return found, text
    return SearchResult.NO, ""


def _require_length(source: str, what: str) -> None:
    if not 1 <= len(source) <= MAX_PATTERN_LENGTH:
        message = f"{what}: expected a pattern of 1 to {MAX_PATTERN_LENGTH} characters, got {len(source)}"
        raise UsageError(message, code="breakpoint")


BREAKPOINT_TYPES: Final[tuple[BreakpointType, ...]] = get_args(BreakpointType)
ACTION_TYPES: Final = tuple(sorted(each.model_fields["type"].default for each in get_args(get_args(Action)[0])))


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakpointTargets:
    """What the breakpoints of a mission may refer to."""

    tools: tuple[str, ...]
    """Action types and skill names."""
    iterations: int
    """Number of steps."""
    subgoals: tuple[str, ...]
    """Ids of the subgoals that have steps, and of their attempts."""

    @classmethod
    def from_plan(cls, plan: Plan, skills: Iterable[str]) -> BreakpointTargets:
        """Collect the targets of a plan; `skills` are the names of the installed skills."""
        attempts = [each.subgoal for each in plan.subgoals if each.steps]
        names = [name for attempt in attempts for name in (attempt.subgoal_id, attempt.id)]
        return cls(
            tools=(*ACTION_TYPES, *sorted(skills)),
            iterations=plan.step_count,
            subgoals=tuple(dict.fromkeys(names)),
        )


def parse_breakpoint(text: str) -> BreakpointAdd:
    """Parse the value of `--break`: a type, or a type and a value such as `tool:click`.

    Raises:
        UsageError: unknown breakpoint type.
    """
    kind, colon, value = text.partition(":")
    return BreakpointAdd(on=require_breakpoint_type(kind), value=value if colon else None)


def require_breakpoint_type(name: str) -> BreakpointType:
    """Return a breakpoint type by name.

    Raises:
        UsageError: unknown breakpoint type.
    """
    if name not in BREAKPOINT_TYPES:
        message = f"breakpoint type: expected one of {', '.join(BREAKPOINT_TYPES)}, got {name!r}"
        raise UsageError(message, code="breakpoint")
    return name


def parse_condition(command: BreakpointAdd, targets: BreakpointTargets) -> StopCondition:  # noqa: PLR0911 - one case a kind
    """Build the stop condition of a breakpoint command.

    Does not check that a selector is valid; only the browser can (`require_selector`).

    Raises:
        UsageError: the value is missing, superfluous, or refers to something the mission does not have.
    """
    if command.condition is not None and command.on != "tool":
        message = f"{command.on}: only tool breakpoints take --condition, got {command.condition!r}; remove it"
        raise UsageError(message, code="breakpoint")
    match command.on:
        case "tool":
            condition = None if command.condition is None else TextPattern.parse(command.condition, "--condition")
            name = _require_known(
                _required_value(command), targets.tools, "tool", "an action type or the name of a skill"
            )
            return AtTool(name, condition)
        case "iteration":
            return AtIteration(_parse_iteration(command, targets))
        case "pattern":
            return AtPattern(TextPattern.parse(_required_value(command), "pattern"))
        case "error":
            _require_no_value(command)
            return AtError()
        case "divergence":
            _require_no_value(command)
            return AtDivergence()
        case "subgoal":
            return AtSubgoal(
                _require_known(
                    _required_value(command), targets.subgoals, "subgoal", "the id of a subgoal that has steps"
                )
            )
        case "request":
            return AtRequest(RequestPattern.parse(_required_value(command)))
        case "selector":
            return AtSelector(_required_value(command))
        case _:
            assert_never(command.on)


def _required_value(command: BreakpointAdd) -> str:
    value = "" if command.value is None else str(command.value)
    if not value.strip():
        usage = f"eikon debug breakpoint add {command.on} {_VALUE_SYNTAX[command.on]}"
        message = f"{command.on}: missing value; write {usage}"
        raise UsageError(message, code="breakpoint")
    return value


def _parse_iteration(command: BreakpointAdd, targets: BreakpointTargets) -> int:
    text = _required_value(command)
    number = read_digits(text) if _is_number(text) else 0
    if not 1 <= number <= targets.iterations:
        message = (
            f"iteration: expected a step number from 1 to {targets.iterations}, got {text!r}; "
            f"the mission has {pluralize(targets.iterations, 'step')}"
        )
        raise UsageError(message, code="breakpoint")
    return number


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < _MAX_DIGITS


def _require_known(name: str, known: tuple[str, ...], kind: str, expected: str) -> str:
    if name in known:
        return name
    near = get_close_matches(name, known, n=1)
    advice = f"did you mean {near[0]!r}?" if near else f"available: {', '.join(known) or 'none'}"
    message = f"{kind}: expected {expected}, got {name!r}; {advice}"
    raise UsageError(message, code="breakpoint")


def _require_no_value(command: BreakpointAdd) -> None:
    if command.value is not None:
        message = f"{command.on}: takes no value because it stops at every {command.on}, got {str(command.value)!r}"
        raise UsageError(message, code="breakpoint")


_MAX_DIGITS: Final = 10
_VALUE_SYNTAX: Final = {
    "tool": "NAME",
    "iteration": "N",
    "pattern": "REGEX",
    "subgoal": "ID",
    "request": "URL-PATTERN",
    "selector": "CSS",
}
