"""Parse breakpoints as the user writes them, and reject those that can never be hit."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, assert_never, get_args

from eikon_engine.debug.breakpoints import (
    AtDivergence,
    AtError,
    AtIteration,
    AtPattern,
    AtRequest,
    AtSelector,
    AtSubgoal,
    AtTool,
)
from eikon_engine.debug.commands import BreakpointAdd
from eikon_engine.debug.stop_patterns import RequestPattern, TextPattern
from eikon_engine.errors import BreakpointError
from eikon_engine.outcome.debug_events import BreakpointType
from eikon_engine.trace.actions import Action
from eikon_engine.trace.wording import pluralize

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eikon_engine.debug.breakpoints import StopCondition
    from eikon_engine.replay.plan import Plan

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
        BreakpointError: unknown breakpoint type.
    """
    kind, colon, value = text.partition(":")
    return BreakpointAdd(on=require_breakpoint_type(kind), value=value if colon else None)


def require_breakpoint_type(name: str) -> BreakpointType:
    """Return a breakpoint type by name.

    Raises:
        BreakpointError: unknown breakpoint type.
    """
    if name not in BREAKPOINT_TYPES:
        message = f"breakpoint type: expected one of {', '.join(BREAKPOINT_TYPES)}, got {name!r}"
        raise BreakpointError(message)
    return name


def parse_condition(command: BreakpointAdd, targets: BreakpointTargets) -> StopCondition:  # noqa: PLR0911 - one case a kind
    """Build the stop condition of a breakpoint command.

    Does not check that a selector is valid; only the browser can (`require_selector`).

    Raises:
        BreakpointError: the value is missing, superfluous, or refers to something the mission does not have.
    """
    if command.condition is not None and command.on != "tool":
        message = f"{command.on}: only tool breakpoints take --condition, got {command.condition!r}; remove it"
        raise BreakpointError(message)
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
        raise BreakpointError(message)
    return value


def _parse_iteration(command: BreakpointAdd, targets: BreakpointTargets) -> int:
    text = _required_value(command)
    number = int(text) if _is_number(text) else 0
    if not 1 <= number <= targets.iterations:
        message = (
            f"iteration: expected a step number from 1 to {targets.iterations}, got {text!r}; "
            f"the mission has {pluralize(targets.iterations, 'step')}"
        )
        raise BreakpointError(message)
    return number


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < _MAX_DIGITS


def _require_known(name: str, known: tuple[str, ...], kind: str, expected: str) -> str:
    if name in known:
        return name
    near = get_close_matches(name, known, n=1)
    advice = f"did you mean {near[0]!r}?" if near else f"available: {', '.join(known) or 'none'}"
    message = f"{kind}: expected {expected}, got {name!r}; {advice}"
    raise BreakpointError(message)


def _require_no_value(command: BreakpointAdd) -> None:
    if command.value is not None:
        message = f"{command.on}: takes no value because it stops at every {command.on}, got {str(command.value)!r}"
        raise BreakpointError(message)


_MAX_DIGITS: Final = 10
_VALUE_SYNTAX: Final = {
    "tool": "NAME",
    "iteration": "N",
    "pattern": "REGEX",
    "subgoal": "ID",
    "request": "URL-PATTERN",
    "selector": "CSS",
}
