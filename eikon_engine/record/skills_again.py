"""Run the skills of a recording once more, on the pages of today."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from eikon_engine.completions import ReplayExecutor
from eikon_engine.completions.folder import RESPONSES_FOLDER, read_whole_folder
from eikon_engine.errors import CompletionError, SkillError, UsageError
from eikon_engine.trace.bundle_path import inside
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


async def use_again(
    mission: MissionRecorder, usage: SkillUsage, seen: Observation | None, secrets: Mapping[str, str]
) -> None:
    """Use a skill on the page on which it was used; `seen` is what was recorded last before it.

    One that was recorded as failed may fail again.

    Raises:
        UnknownSkillError: it is not installed here.
        SkillError: it failed, and had not.
        CompletionError: the model that it asked gave no answer, and had.
        NoReplayDataError: recorded answers are asked, and none is for this page.
        UsageError: nobody can tell on which page it was used, or the page has no such frame any more.
    """
    frame = "" if usage.source is None else usage.source.frame
    parameters = Redactor(secrets).restore_texts(usage.parameters)
    try:
        await mission.skill(
            usage.skill,
            page=page_of(usage, seen),
            frame=frame,
            parameters=cast("dict[str, JsonValue]", parameters),
        )
    except (SkillError, CompletionError):
        if not isinstance(usage.result, Failed):
            raise


def page_of(usage: SkillUsage, seen: Observation | None) -> int:
    """Return the ordinal of the page on which a skill was used: its document, else its address, has to name one alone.

    Raises:
        UsageError: several pages were open, and none of them is it for certain.
    """
    pages = () if seen is None else seen.pages
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
        f"skill {usage.skill} ({usage.id}): wanted the page on which it was used, found {len(pages)} open pages, none "
        "of which is it for certain; run the mission again"
    )
    raise UsageError(message)


def recorded_answers(bundle: Bundle, secrets: Mapping[str, str]) -> CompletionClient | None:
    """Return what answers skills as models did when the bundle was recorded; None where none was asked.

    Raises:
        ResponsesError: the recorded responses cannot be read, or trusted, or are not whole.
    """
    responses = read_whole_folder(inside(bundle.root, RESPONSES_FOLDER, RESPONSES_FOLDER))
    return ReplayExecutor(responses, clean=Redactor(secrets).text) if responses else None
