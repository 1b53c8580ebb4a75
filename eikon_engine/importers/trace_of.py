"""A trace of ours from what another tool recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ForeignStepError
from eikon_engine.trace.environment import Environment, Viewport
from eikon_engine.trace.execution import ActionTrace, ExecutionTrace, Failed, SubgoalTrace, Succeeded

if TYPE_CHECKING:
    from datetime import datetime

    from eikon_engine.importers.mission import ImportedMission, ImportedSubgoal, Screen

UNKNOWN_CODE: Final = "unknown"
SHOWN: Final = 3
"""Steps named in a message, at most."""


def trace_of(
    mission: ImportedMission, *, now: datetime, trace_id: str, mission_id: str, partial: bool
) -> ExecutionTrace:
    """Make the trace; nothing is known of what its actions led to.

    Raises:
        ForeignStepError: steps cannot be carried over, and `partial` is not asked for; or no step was.
    """
    if mission.lost and not partial:
        shown = "; ".join(mission.lost[:SHOWN])
        more = f"; and {len(mission.lost) - SHOWN} more" if len(mission.lost) > SHOWN else ""
        raise ForeignStepError(f"these steps cannot be carried over: {shown}{more}; import the rest with --partial")
    if not any(subgoal.actions for subgoal in mission.subgoals):
        raise ForeignStepError("wanted steps that can be carried over, found none; nothing was written")
    then = "recorded" if mission.network is None and mission.har is None else "certified"
    return ExecutionTrace(
        id=trace_id,
        mission_id=mission_id,
        mission_text=mission.text,
        started_at=now,
        status="complete",
        environment=None if mission.screen is None else _environment(mission.screen, now),
        subgoal_traces=tuple(_subgoal(number, each) for number, each in enumerate(mission.subgoals, start=1)),
        warnings=(
            f"imported from {mission.source}: what its actions led to is not known until it is {then}",
            *(f"left out: {line}" for line in mission.lost),
            *mission.notes,
        ),
    )


def _subgoal(number: int, subgoal: ImportedSubgoal) -> SubgoalTrace:
    attempt = f"subgoal_{number}__attempt_1"
    return SubgoalTrace(
        id=attempt,
        subgoal_id=f"subgoal_{number}",
        description=subgoal.description,
        status="complete",
        actions_taken=tuple(
            ActionTrace(
                id=f"{attempt}_action_{place:03d}",
                sequence=place,
                action=action,
                result=_result(subgoal.errors.get(place - 1)),
            )
            for place, action in enumerate(subgoal.actions, start=1)
        ),
    )


def _result(error: str | None) -> Succeeded | Failed:
    """Other tools have codes of their own, if any: a failure is expected, whichever it was."""
    return Succeeded() if error is None else Failed(code=UNKNOWN_CODE, message=error)


def _environment(screen: Screen, now: datetime) -> Environment:
    """Say of the environment what the recording does: the rest is empty, and shown as unknown."""
    return Environment(
        browser_version="",
        playwright_version="",
        platform="",
        viewport=Viewport(width=screen.width, height=screen.height),
        device_scale_factor=screen.device_scale_factor,
        is_mobile=screen.is_mobile,
        has_touch=screen.has_touch,
        user_agent=screen.user_agent,
        locale=screen.locale,
        timezone=screen.timezone,
        color_scheme=screen.color_scheme,
        clock_start_ms=screen.clock_start_ms or int(now.timestamp() * 1000),
        random_seed=1,
    )
