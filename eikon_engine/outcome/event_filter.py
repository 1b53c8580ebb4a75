"""Filter events by field: `tool=web_fetch`, `passed=false`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, get_args

from eikon_engine.errors import UsageError
from eikon_engine.outcome.events import (
    ActionPerformed,
    ActionStart,
    CompletionReceived,
    DivergenceFound,
    Event,
    GateEvaluated,
    RunEnd,
    RunEnding,
    SkillRun,
    SubgoalEnd,
    SubgoalStart,
    ToolCall,
    ToolResult,
    verdict_of,
)
from eikon_engine.outcome.outcomes import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

_FieldReader: TypeAlias = Callable[[Event], str | None]

EVENT_TYPES: Final = tuple(sorted(event.model_fields["type"].default for event in get_args(get_args(Event)[0])))


@dataclass(frozen=True, slots=True)
class _Field:
    """A field that events can be filtered by."""

    read: _FieldReader
    """Return the field's value as filter text; None if the event does not have the field."""
    values: tuple[str, ...] | None = None
    """Allowed values; None for any value."""


def _subgoal(event: Event) -> str | None:
    match event:
        case SubgoalStart(id=name) | SubgoalEnd(id=name):
            return name
        case DivergenceFound(divergence=divergence):
            return divergence.subgoal
        case _:
            return getattr(event, "subgoal", None)


def _sequence(event: Event) -> str | None:
    match event:
        case ActionPerformed(outcome=outcome):
            return str(outcome.sequence)
        case SkillRun(outcome=outcome):
            return str(outcome.sequence)
        case DivergenceFound(divergence=divergence):
            return str(divergence.sequence)
        case _:
            found = getattr(event, "sequence", None)
            return None if found is None else str(found)


def _action(event: Event) -> str | None:
    match event:
        case ActionStart(action=action):
            return action
        case ActionPerformed(outcome=outcome):
            return outcome.type
        case _:
            return None


def _verdict(event: Event) -> str | None:
    match event:
        case SubgoalEnd(verdict=verdict):
            return verdict
        case ActionPerformed() | SkillRun():
            return verdict_of(event)
        case _:
            return None


def _source(event: Event) -> str | None:
    return event.source if isinstance(event, ToolResult | CompletionReceived) else None


_PASSED: Final = {True: "true", False: "false", None: "null"}
_FIELDS: Final[Mapping[str, _Field]] = {
    "action": _Field(_action),
    "code": _Field(lambda event: event.divergence.code if isinstance(event, DivergenceFound) else None),
    "gate": _Field(lambda event: event.gate.partition("[")[0] if isinstance(event, GateEvaluated) else None),
    "how": _Field(lambda event: event.how if isinstance(event, RunEnd) else None, get_args(RunEnding)),
    "metric": _Field(lambda event: event.metric_id if isinstance(event, CompletionReceived) else None),
    "model": _Field(lambda event: event.model if isinstance(event, CompletionReceived) else None),
    "passed": _Field(
        lambda event: _PASSED[event.passed] if isinstance(event, GateEvaluated) else None, tuple(_PASSED.values())
    ),
    "sequence": _Field(_sequence),
    "skill": _Field(lambda event: event.outcome.skill if isinstance(event, SkillRun) else None),
    "source": _Field(_source, ("captured", "executed", "fixture", "live", "replayed")),
    "subgoal": _Field(_subgoal),
    "tool": _Field(lambda event: event.tool if isinstance(event, ToolCall | ToolResult) else None),
    "type": _Field(lambda event: event.type, EVENT_TYPES),
    "verdict": _Field(_verdict, get_args(Verdict)),
}
FILTER_FIELDS: Final = tuple(_FIELDS)


@dataclass(frozen=True, slots=True)
class EventFilter:
    """One condition on an event."""

    field: str
    value: str

    def matches(self, event: Event) -> bool:
        """Return whether the event's field has this value."""
        return _FIELDS[self.field].read(event) == self.value


def parse_filters(texts: Iterable[str]) -> tuple[EventFilter, ...]:
    """Parse `FIELD=VALUE` texts.

    Raises:
        UsageError: a text is malformed, or has an unknown field or value.
    """
    return tuple(_parse_filter(text) for text in texts)


def _parse_filter(text: str) -> EventFilter:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--filter: expected FIELD=VALUE, got {text!r}. Fields: {', '.join(FILTER_FIELDS)}")
    known = _FIELDS.get(name)
    if known is None:
        raise UsageError(f"--filter: unknown field {name!r}. Fields: {', '.join(FILTER_FIELDS)}")
    if known.values is not None and value not in known.values:
        raise UsageError(f"--filter: expected one of {', '.join(known.values)} for {name}, got {value!r}")
    if name == "sequence" and not value.isdecimal():
        raise UsageError(f"--filter: expected a whole number for sequence, got {value!r}")
    return EventFilter(name, value)
