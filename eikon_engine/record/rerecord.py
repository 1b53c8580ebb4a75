"""Record a bundle again, in its recorded environment, by performing its actions and skills once, live."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, cast

from eikon_engine.errors import ActionError, CompletionError, SkillError, UsageError
from eikon_engine.files.paths import resolve_inside
from eikon_engine.files.text import pluralize
from eikon_engine.llm import ReplayClient
from eikon_engine.llm.response_folder import RESPONSES_FOLDER, read_complete_folder
from eikon_engine.record.moved_actions import MovedActions
from eikon_engine.record.open_recorder import open_recorder
from eikon_engine.replay.permissions import require_allowed_schemes
from eikon_engine.secrets.redaction import Redactor, secret_names_in
from eikon_engine.skills import default_skills
from eikon_engine.trace.actions import Drop, SetInputFiles
from eikon_engine.trace.base_urls import BaseUrlMap, map_mask_urls
from eikon_engine.trace.execution import Blocked, Failed, SkillUsage
from eikon_engine.trace.patch import EDIT_WARNING_PREFIX, apply_patch, variables_patch
from eikon_engine.trace.steps import iter_steps
from eikon_engine.trace.trace_file import TRACE_FILE, read_trace, write_trace
from eikon_engine.trace.variables import (
    action_secret_names,
    require_secrets,
    require_values,
    resolve_trace,
    used_variables,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.llm import CompletionClient
    from eikon_engine.record.options import RecordOptions
    from eikon_engine.record.recorder import MissionRecorder
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.environment import Environment
    from eikon_engine.trace.execution import ActionTrace, ExecutionTrace
    from eikon_engine.trace.observation import Observation


async def rerun_skill(
    mission: MissionRecorder, usage: SkillUsage, last_observation: Observation | None, secrets: Mapping[str, str]
) -> None:
    """Re-run a skill on the page it was used on; `last_observation` is the last one recorded before it.

    A skill that was recorded as failed may fail again.

    Raises:
        RequirementError: it is not installed.
        SkillError: it failed, unlike in the recording.
        CompletionError: its model failed, unlike in the recording.
        NoReplayDataError: recorded completions are used, and none matches this page.
        UsageError: the page it was used on is ambiguous, or the page has no such frame any more.
    """
    frame = "" if usage.source is None else usage.source.frame
    parameters = Redactor(secrets).restore_json(usage.parameters)
    try:
        await mission.skill(
            usage.skill,
            page=find_skill_page(usage, last_observation),
            frame=frame,
            parameters=cast("dict[str, JsonValue]", parameters),
        )
    except (SkillError, CompletionError):
        if not isinstance(usage.result, Failed):
            raise


def find_skill_page(usage: SkillUsage, last_observation: Observation | None) -> int:
    """Return the ordinal of the page a skill was used on, identified by its document or else by its URL.

    Raises:
        UsageError: several pages were open and none of them is a unique match.
    """
    pages = () if last_observation is None else last_observation.pages
    source = usage.source
    if source is not None:
        found = [each.page for each in pages if each.snapshot == source.snapshot] or [
            each.page for each in pages if source.url in {each.url, *(frame.url for frame in each.frames)}
        ]
        if len(found) == 1:
            return found[0]
    if len(pages) == 1:
        return pages[0].page
    message = (
        f"cannot determine the page of skill {usage.skill} ({usage.id}): {len(pages)} pages were open, and none is a "
        "unique match; record the mission again"
    )
    raise UsageError(message)


def recorded_completions(bundle: Bundle, secrets: Mapping[str, str]) -> CompletionClient | None:
    """Return a client for the completions recorded in the bundle; None if there are none.

    Raises:
        ResponseFolderError: the recorded responses are unreadable, corrupt or incomplete.
    """
    responses = read_complete_folder(resolve_inside(bundle.root, RESPONSES_FOLDER, RESPONSES_FOLDER))
    return ReplayClient(responses, redact=Redactor(secrets).redact_text) if responses else None


NO_URL_MAP: Final = BaseUrlMap()
OMITTED_PREFIX: Final = "not recorded again: "
"""Prefix of warnings about parts of the older recording that the new one does not have."""


async def rerecord(bundle: Bundle, directory: Path, options: RecordOptions, urls: BaseUrlMap = NO_URL_MAP) -> None:
    """Perform the actions of a bundle, run its skills on current pages, and record everything.

    `urls` lead the actions to another deployment. Actions have the values that the site draws now, as far as rules name
    them. An action recorded as failed may fail again. Variables stay variables, with the values of this run. Warnings
    about edits are dropped, because the new recording has no edits.
    Masks and rules are copied. Tool calls and other steps that only the mission itself can make are reported as
    warnings. For the environment see `with_recorded_environment`.

    Raises:
        UsageError: the page of a skill is ambiguous, or no action uses a given variable.
        RequirementError: as `require_rerecordable`.
        ActionError: an action failed; the recording is complete up to it.
        SkillError: a skill failed, unlike in the recording.
        OutputError: a recording exists already, or the folder cannot be written.
    """
    trace = require_rerecordable(bundle, options)
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
        moved = MovedActions(replace(bundle, trace=trace), directory, urls)
        await _perform_all(mission, replace(bundle, trace=trace), options, moved)
    _copy_masks_and_rules(trace, directory, urls)


def require_rerecordable(bundle: Bundle, options: RecordOptions) -> ExecutionTrace:
    """Check what the steps need before any of them is performed; return the trace with the given variables.

    Raises:
        UsageError: the page of a skill is ambiguous, or no action uses a given variable.
        RequirementError: a skill is not installed here; a secret was not provided; a variable of the trace has no
            value; an action navigates to a URL that is neither http nor https.
    """
    require_values(bundle.trace, options.variables)
    trace = apply_patch(bundle.trace, variables_patch(bundle.trace, options.variables))
    _require_skill_pages(trace)
    require_allowed_schemes(resolve_trace(trace), (), advice="Remove the step with `eikon trace delete`")
    require_secrets(secret_names_in(" ".join(options.extra_http_headers.values())), options.secrets)
    skills = default_skills()
    for _, step in iter_steps(trace):
        if isinstance(step, SkillUsage):
            skills.get(step.skill)
        elif not isinstance(step.result, Blocked):
            require_secrets(action_secret_names(step.action), options.secrets)
    return trace


async def _perform_all(mission: MissionRecorder, bundle: Bundle, options: RecordOptions, moved: MovedActions) -> None:
    seen: Observation | None = None
    for subgoal in bundle.trace.subgoal_traces:
        async with mission.subgoal(subgoal.description, subgoal_id=subgoal.subgoal_id):
            for step in subgoal.steps:
                if isinstance(step, SkillUsage):
                    await rerun_skill(mission, step, seen, options.secrets)
                elif not isinstance(step.result, Blocked):
                    await _perform(mission, step, bundle, moved)
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


def _copy_masks_and_rules(trace: ExecutionTrace, directory: Path, urls: BaseUrlMap) -> None:
    recorded = read_trace(directory)
    network = recorded.network
    if network is not None and trace.network is not None:
        rules = tuple(
            each.model_copy(update={"url": urls.to_new.replace_text(each.url)}) for each in trace.network.rules
        )
        network = network.model_copy(update={"rules": rules})
    if trace.masks or network != recorded.network:
        masks = tuple(map_mask_urls(each, urls) for each in trace.masks)
        kept = recorded.model_copy(update={"masks": masks, "network": network})
        write_trace(kept, directory / TRACE_FILE)


def _used_values(trace: ExecutionTrace) -> dict[str, str]:
    """Return the values of the used variables; all of them have one by now."""
    return {name: value for name in used_variables(trace) if (value := trace.variables[name]) is not None}


async def _perform(mission: MissionRecorder, step: ActionTrace, bundle: Bundle, moved: MovedActions) -> None:
    try:
        await mission.perform(moved.move(_with_files(mission, step.action, bundle)))
    except ActionError:
        if not isinstance(step.result, Failed):
            raise


def _with_files(mission: MissionRecorder, action: Action, bundle: Bundle) -> Action:
    """Copy the files of an upload or a drop into the new bundle."""
    if not isinstance(action, Drop | SetInputFiles):
        return action
    files = tuple(
        mission.attach_content(each.name, each.mime_type, bundle.files.get(each.content)).model_copy(
            update={"last_modified_ms": each.last_modified_ms}
        )
        for each in action.files
    )
    return action.model_copy(update={"files": files})


def with_recorded_environment(bundle: Bundle, options: RecordOptions) -> RecordOptions:
    """Return options with the environment, clock, seed and storage of a bundle.

    An explicit storage state takes precedence. Headers get the values of their secrets.

    Raises:
        BundlePathError: the start state lies outside the bundle.
    """
    start = bundle.trace.start
    stored = options.storage_state
    if stored is None and start.storage_state is not None:
        stored = resolve_inside(bundle.root, start.storage_state, "start.storage_state")
    session = options.session_storage
    if session is None and start.session_storage is not None:
        session = resolve_inside(bundle.root, start.session_storage, "start.session_storage")
    options = replace(options, storage_state=stored, session_storage=session)
    environment = bundle.trace.environment
    return options if environment is None else _with_environment(options, environment)


def _with_environment(options: RecordOptions, environment: Environment) -> RecordOptions:
    return replace(
        options,
        viewport=environment.viewport,
        device_scale_factor=environment.device_scale_factor,
        locale=environment.locale,
        timezone=environment.timezone,
        color_scheme=environment.color_scheme,
        user_agent=environment.user_agent or None,
        reduced_motion=environment.reduced_motion,
        forced_colors=environment.forced_colors,
        has_touch=environment.has_touch,
        is_mobile=environment.is_mobile,
        permissions=environment.permissions,
        geolocation=environment.geolocation,
        extra_http_headers=_headers(environment, options),
        clock_start=datetime.fromtimestamp(environment.clock_start_ms / 1000, UTC),
        clock=environment.clock,
        random_seed=environment.random_seed,
        settle_ms=environment.settle_ms,
    )


def _headers(environment: Environment, options: RecordOptions) -> dict[str, str]:
    redactor = Redactor(options.secrets)
    return {
        name: redactor.restore_bytes(value.encode()).decode() for name, value in environment.extra_http_headers.items()
    }
