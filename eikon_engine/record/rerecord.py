"""Record a mission by doing, once and live, what a trace says: for imports, which know only actions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eikon_engine.errors import ActionError, UsageError
from eikon_engine.record.open_recorder import open_recorder
from eikon_engine.trace.actions import SetInputFiles
from eikon_engine.trace.execution import ActionTrace, Blocked, Failed
from eikon_engine.trace.patch import EDITED, apply_patch, variables_patch
from eikon_engine.trace.variables import demand_values, used_variables

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.record.options import RecordOptions
    from eikon_engine.record.recorder import MissionRecorder
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import ExecutionTrace


async def rerecord(bundle: Bundle, directory: Path, options: RecordOptions) -> None:
    """Perform the actions of a bundle one after the other, and record them into `directory`.

    An action that was recorded as failed may fail again. Variables stay variables, with the values of this time. What
    is recorded is what was done, so that no warning of an edit is carried over.

    Raises:
        UsageError: the bundle holds the use of a skill, which needs its mission; or no action uses a variable that
            is given.
        VariableMissingError: a variable of the trace has no value.
        ActionError: an action failed; the recording is complete up to it.
        OutputError: a recording is there already, or the folder cannot be written.
    """
    demand_values(bundle.trace, options.variables)
    trace = apply_patch(bundle.trace, variables_patch(bundle.trace, options.variables))
    used = next((usage for subgoal in trace.subgoal_traces for usage in subgoal.skills_used), None)
    if used is not None:
        message = f"wanted a bundle of actions alone, found the skill {used.skill} ({used.id}); run its mission again"
        raise UsageError(message)
    options = replace(options, variables=_values(trace))
    recorder = open_recorder(directory, mission_text=trace.mission_text, mission_id=trace.mission_id, options=options)
    async with recorder as mission:
        for warning in trace.warnings:
            if not warning.startswith(EDITED):
                mission.warn(warning)
        for subgoal in trace.subgoal_traces:
            async with mission.subgoal(subgoal.description, subgoal_id=subgoal.subgoal_id):
                for step in subgoal.steps:
                    if isinstance(step, ActionTrace) and not isinstance(step.result, Blocked):
                        await _perform(mission, step, bundle)


def _values(trace: ExecutionTrace) -> dict[str, str]:
    """Return the values of the variables that are used; they have one, or the recording would not have begun."""
    return {name: value for name in used_variables(trace) if (value := trace.variables[name]) is not None}


async def _perform(mission: MissionRecorder, step: ActionTrace, bundle: Bundle) -> None:
    try:
        await mission.perform(_with_files(mission, step.action, bundle))
    except ActionError:
        if not isinstance(step.result, Failed):
            raise


def _with_files(mission: MissionRecorder, action: Action, bundle: Bundle) -> Action:
    """Carry the files of an upload over into the new bundle."""
    if not isinstance(action, SetInputFiles):
        return action
    files = tuple(mission.keep_file(each.name, each.mime_type, bundle.files.get(each.content)) for each in action.files)
    return action.model_copy(update={"files": files})
