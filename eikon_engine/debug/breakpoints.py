"""Breakpoints: stop conditions, and the table of a session's breakpoints. Immutable; a change returns a new table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, assert_never

from eikon_engine.errors import BreakpointError
from eikon_engine.outcome.debug_events import BreakpointRef, BreakpointType
from eikon_engine.trace.record import FileModel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eikon_engine.debug.stop_patterns import RequestPattern, TextPattern


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
            BreakpointError: an equal breakpoint exists.
        """
        for each in self.breakpoints:
            if each.condition == condition:
                advice = "" if each.is_enabled else f"; enable it: eikon debug breakpoint enable {each.id}"
                message = f"breakpoint add: the same breakpoint already exists: {each.listing}{advice}"
                raise BreakpointError(message)
        new = Breakpoint(id=f"bp-{self.added_count + 1}", condition=condition)
        return BreakpointTable((*self.breakpoints, new), self.added_count + 1), new

    def remove(self, breakpoint_id: str) -> BreakpointTable:
        """Return the table without a breakpoint.

        Raises:
            BreakpointError: unknown id.
        """
        gone = self.get(breakpoint_id)
        return replace(self, breakpoints=tuple(each for each in self.breakpoints if each is not gone))

    def clear(self) -> BreakpointTable:
        """Return an empty table; ids continue."""
        return replace(self, breakpoints=())

    def enable(self, breakpoint_id: str) -> BreakpointTable:
        """Return the table with a breakpoint enabled.

        Raises:
            BreakpointError: unknown id.
        """
        return self.with_updated((replace(self.get(breakpoint_id), is_enabled=True),))

    def disable(self, breakpoint_id: str) -> BreakpointTable:
        """Return the table with a breakpoint disabled.

        Raises:
            BreakpointError: unknown id.
        """
        return self.with_updated((replace(self.get(breakpoint_id), is_enabled=False),))

    def get(self, breakpoint_id: str) -> Breakpoint:
        """Return a breakpoint by id.

        Raises:
            BreakpointError: unknown id.
        """
        for each in self.breakpoints:
            if each.id == breakpoint_id:
                return each
        known = f"available: {', '.join(each.id for each in self.breakpoints) or 'none'}"
        message = f"breakpoint: no breakpoint with id {breakpoint_id!r}; {known}"
        raise BreakpointError(message)

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
