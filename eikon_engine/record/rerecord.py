"""Record a bundle again by performing its actions once, live."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ActionError
from eikon_engine.record.open_recorder import open_recorder
from eikon_engine.record.skills_again import find_skill_page, recorded_completions, rerun_skill
from eikon_engine.trace.actions import SetInputFiles
from eikon_engine.trace.execution import Blocked, Failed, SkillUsage
from eikon_engine.trace.located import iter_steps
from eikon_engine.trace.patch import EDIT_WARNING_PREFIX, apply_patch, variables_patch
from eikon_engine.trace.serializer import TRACE_FILE, read_trace, write_trace
from eikon_engine.trace.variables import require_values, used_variables
from eikon_engine.trace.wording import pluralize

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eikon_engine.record.options import RecordOptions
    from eikon_engine.record.recorder import MissionRecorder
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import ActionTrace, ExecutionTrace
    from eikon_engine.trace.observation import Observation

OMITTED_PREFIX: Final = "not recorded again: "
"""Prefix of warnings about parts of the older recording that the new one does not have."""


async def rerecord(bundle: Bundle, directory: Path, options: RecordOptions) -> None:
    """Perform the actions of a bundle, run its skills on current pages, and record everything.

    An action recorded as failed may fail again. Variables stay variables, with the values of this run. Warnings about
    edits are dropped, because the new recording has no edits. Masks and rules are copied. Tool calls and other steps
    that only the mission itself can make are reported as warnings. For the environment see `with_recorded_environment`.

    Raises:
        UsageError: the page of a skill is ambiguous, or no action uses a given variable.
        UnknownSkillError: a skill is not installed here.
        VariableMissingError: a variable of the trace has no value.
        ActionError: an action failed; the recording is complete up to it.
        SkillError: a skill failed, unlike in the recording.
        OutputError: a recording exists already, or the folder cannot be written.
    """
    require_values(bundle.trace, options.variables)
    trace = apply_patch(bundle.trace, variables_patch(bundle.trace, options.variables))
    _require_skill_pages(trace)
    options = replace(
        options,
        variables=_used_values(trace),
        completion_client=options.completion_client or recorded_completions(bundle, options.secrets),
    )
    recorder = open_recorder(directory, mission_text=trace.mission_text, mission_id=trace.mission_id, options=options)
    async with recorder as mission:
        for warning in trace.warnings:
            if not warning.startswith((EDIT_WARNING_PREFIX, OMITTED_PREFIX)):
                mission.warn(warning)
        for left_out in _omitted_parts(trace):
            mission.warn(f"{OMITTED_PREFIX}{left_out}")
        await _perform_all(mission, replace(bundle, trace=trace), options)
    _copy_masks_and_rules(trace, directory)


async def _perform_all(mission: MissionRecorder, bundle: Bundle, options: RecordOptions) -> None:
    seen: Observation | None = None
    for subgoal in bundle.trace.subgoal_traces:
        async with mission.subgoal(subgoal.description, subgoal_id=subgoal.subgoal_id):
            for step in subgoal.steps:
                if isinstance(step, SkillUsage):
                    await rerun_skill(mission, step, seen, options.secrets)
                elif not isinstance(step.result, Blocked):
                    await _perform(mission, step, bundle)
                    seen = step.observation or seen


def _require_skill_pages(trace: ExecutionTrace) -> None:
    """Check the page of each skill before anything is performed."""
    seen: Observation | None = None
    for _, step in iter_steps(trace):
        if isinstance(step, SkillUsage):
            find_skill_page(step, seen)
        else:
            seen = step.observation or seen


def _omitted_parts(trace: ExecutionTrace) -> Iterator[str]:
    """Yield the parts of the older recording that cannot be recorded again."""
    kinds = (
        ("tool call", sum(len(each.tools_used) for each in trace.subgoal_traces)),
        ("model response", sum(len(each.completions) for each in trace.subgoal_traces)),
        ("extraction", len(trace.extractions)),
    )
    for kind, count in kinds:
        if count:
            yield f"{pluralize(count, kind)} of the older recording, which only the mission itself can make"


def _copy_masks_and_rules(trace: ExecutionTrace, directory: Path) -> None:
    recorded = read_trace(directory)
    network = recorded.network
    if network is not None and trace.network is not None:
        network = network.model_copy(update={"rules": trace.network.rules})
    if trace.masks or network != recorded.network:
        kept = recorded.model_copy(update={"masks": trace.masks, "network": network})
        write_trace(kept, directory / TRACE_FILE)


def _used_values(trace: ExecutionTrace) -> dict[str, str]:
    """Return the values of the used variables; all of them have one by now."""
    return {name: value for name in used_variables(trace) if (value := trace.variables[name]) is not None}


async def _perform(mission: MissionRecorder, step: ActionTrace, bundle: Bundle) -> None:
    try:
        await mission.run(_with_files(mission, step.action, bundle))
    except ActionError:
        if not isinstance(step.result, Failed):
            raise


def _with_files(mission: MissionRecorder, action: Action, bundle: Bundle) -> Action:
    """Copy the files of an upload into the new bundle."""
    if not isinstance(action, SetInputFiles):
        return action
    files = tuple(
        mission.attach_content(each.name, each.mime_type, bundle.files.get(each.content)) for each in action.files
    )
    return action.model_copy(update={"files": files})
