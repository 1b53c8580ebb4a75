"""Convert an imported mission to a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ForeignStepError
from eikon_engine.trace.environment import Environment, Viewport
from eikon_engine.trace.execution import ActionTrace, ExecutionTrace, Failed, SubgoalTrace, Succeeded

if TYPE_CHECKING:
    from datetime import datetime

    from eikon_engine.importers.mission import ImportedEnvironment, ImportedMission, ImportedSubgoal

UNKNOWN_ERROR_CODE: Final = "unknown"
MAX_SHOWN: Final = 3
"""Maximum number of steps in a message."""


def build_trace(
    mission: ImportedMission, *, now: datetime, trace_id: str, mission_id: str, partial: bool
) -> ExecutionTrace:
    """Build a trace without observations.

    Raises:
        ForeignStepError: a step cannot be imported and `partial` is False, or no step can be imported.
    """
    if mission.unsupported and not partial:
        shown = "; ".join(mission.unsupported[:MAX_SHOWN])
        more = f"; and {len(mission.unsupported) - MAX_SHOWN} more" if len(mission.unsupported) > MAX_SHOWN else ""
        raise ForeignStepError(f"these steps cannot be imported: {shown}{more}. Import the others with --partial.")
    if not any(subgoal.actions for subgoal in mission.subgoals):
        raise ForeignStepError("no step can be imported; nothing was written")
    then = "recorded" if mission.network is None and mission.har is None else "certified"
    return ExecutionTrace(
        id=trace_id,
        mission_id=mission_id,
        mission_text=mission.text,
        started_at=now,
        status="complete",
        environment=None if mission.environment is None else _environment(mission.environment, now),
        subgoal_traces=tuple(_subgoal(number, each) for number, each in enumerate(mission.subgoals, start=1)),
        warnings=(
            f"imported from {mission.source}: the mission has no observations until it is {then}",
            *(f"not imported: {line}" for line in mission.unsupported),
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
    """Expect any failure: other tools have no comparable error codes."""
    return Succeeded() if error is None else Failed(code=UNKNOWN_ERROR_CODE, message=error)


def _environment(screen: ImportedEnvironment, now: datetime) -> Environment:
    """Build the environment from the recording; unknown values are empty."""
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
