"""Re-run the skills of a recording on current pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from eikon_engine.completions import ReplayClient
from eikon_engine.completions.folder import RESPONSES_FOLDER, read_complete_folder
from eikon_engine.errors import CompletionError, SkillError, UsageError
from eikon_engine.trace.bundle_path import resolve_inside
from eikon_engine.trace.execution import Failed
from eikon_engine.trace.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from eikon_engine.completions import CompletionClient
    from eikon_engine.record.recorder import MissionRecorder
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import SkillUsage
    from eikon_engine.trace.observation import Observation


async def rerun_skill(
    mission: MissionRecorder, usage: SkillUsage, last_observation: Observation | None, secrets: Mapping[str, str]
) -> None:
    """Re-run a skill on the page it was used on; `seen` is the last observation recorded before it.

    A skill that was recorded as failed may fail again.

    Raises:
        UnknownSkillError: it is not installed.
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
