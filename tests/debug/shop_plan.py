"""The steps of a bundled shop mission, as breakpoint targets."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from eikon_engine.debug.breakpoints import BreakpointTable, BreakpointTargets, parse_condition
from eikon_engine.debug.commands import BreakpointAdd
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.replay.plan import plan_replay
from eikon_engine.trace.bundle import open_bundle

if TYPE_CHECKING:
    from eikon_engine.outcome.debug_events import BreakpointType
    from eikon_engine.replay.plan import Plan, PlannedStep

SHOP = Path(__file__).parents[1] / "data" / "traces" / "shop_passing"


@cache
def shop_steps() -> tuple[PlannedStep, ...]:
    """Return the steps of the mission, in order."""
    return tuple(step for subgoal in _plan().subgoals for step in subgoal.steps)


@cache
def shop_targets() -> BreakpointTargets:
    """Return what breakpoints may refer to there."""
    return BreakpointTargets.from_plan(_plan(), ReplayOptions().skills.names)


def step_of(kind: str, nth: int = 1) -> PlannedStep:
    """Return the nth step with an action of this type."""
    found = [each for each in shop_steps() if getattr(getattr(each.step, "action", None), "type", None) == kind]
    return found[nth - 1]


def table(*commands: BreakpointAdd) -> BreakpointTable:
    """Return a table of breakpoints."""
    breakpoints = BreakpointTable()
    for each in commands:
        breakpoints, _ = breakpoints.add(parse_condition(each, shop_targets()))
    return breakpoints


def stop_at(on: BreakpointType, value: str | int | None = None, condition: str | None = None) -> BreakpointTable:
    """Return a table of one breakpoint."""
    return table(BreakpointAdd(on=on, value=value, condition=condition))


@cache
def _plan() -> Plan:
    return plan_replay(open_bundle(SHOP), ReplayOptions(secrets={"PASSWORD": "x"}))
