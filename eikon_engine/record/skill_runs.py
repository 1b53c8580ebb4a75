"""Run skills while a mission is recorded, and record their use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from anyio import to_thread

from eikon_engine.errors import CompletionError, SkillError, UsageError
from eikon_engine.skills.protocol import SkillInput
from eikon_engine.trace.dom import render_plain_html
from eikon_engine.trace.execution import Failed, SkillInputRef, SkillUsage, Succeeded

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import JsonValue

    from eikon_engine.completions import CompletionClient
    from eikon_engine.record.attempt import Attempt
    from eikon_engine.record.attempts import Attempts
    from eikon_engine.record.write import BundleWriter
    from eikon_engine.skills.protocol import Skill
    from eikon_engine.trace.dom import FrameSnapshot, PageSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillCall:
    """One call of a skill, as a mission makes it."""

    skill: Skill
    page: int = 0
    frame: str = ""
    parameters: dict[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRuns:
    """Runs the skills of one recording."""

    writer: BundleWriter
    attempts: Attempts
    ask: CompletionClient | None
    """What answers skills that ask a model."""
    clean: Callable[[str], str]
    """Puts the names of secrets in the place of their values."""
    clean_value: Callable[[JsonValue], JsonValue]
    """Does so in all texts of a value."""

    async def run(self, attempt: Attempt, snapshot: PageSnapshot, call: SkillCall) -> JsonValue:
        """Run a skill on a page, beside the loop: the model that it asks may take minutes.

        Raises:
            SkillError: it failed; the failure is recorded.
            CompletionError: it asked a model, which failed; that is recorded too.
            UsageError: the page has no such frame, or the attempt ended meanwhile.
        """
        document = document_of(snapshot, call.page, call.frame)
        sequence = attempt.next_sequence()
        usage = SkillUsage(
            id=f"{attempt.id}_skill_{sequence:03d}",
            sequence=sequence,
            skill=call.skill.name,
            version=call.skill.version,
            parameters=cast("dict[str, JsonValue]", self.clean_value(dict(call.parameters))),
            source=SkillInputRef(snapshot=self.writer.store_snapshot(snapshot), frame=call.frame, url=document.url),
            result=Succeeded(),
        )
        page = SkillInput(html=render_plain_html(document), url=document.url, parameters=call.parameters, ask=self.ask)
        try:
            output = await to_thread.run_sync(call.skill.run, page, abandon_on_cancel=True)
        except (CompletionError, SkillError) as error:
            failed = Failed(code=error.code, message=self.clean(error.message))
            self._add(attempt, usage.model_copy(update={"result": failed, "output_recorded": False}))
            raise
        self._add(attempt, usage.model_copy(update={"output": self.clean_value(output)}))
        return output

    def _add(self, attempt: Attempt, usage: SkillUsage) -> None:
        if self.attempts.current is not attempt:
            message = (
                f"skill {usage.skill}: wanted its end inside of subgoal {attempt.subgoal_id}, which has ended; "
                "await the skill before that. It is not in the recording"
            )
            raise UsageError(message)
        self.writer.add_skill(attempt, usage)


def document_of(snapshot: PageSnapshot, page: int, frame: str) -> FrameSnapshot:
    """Return the document of a frame.

    Raises:
        UsageError: the page has no such frame.
    """
    document = next((each for each in snapshot.frames if each.path == frame), None)
    if document is None:
        listing = ", ".join(repr(each.path) for each in snapshot.frames)
        message = f"wanted frame {frame!r} of page {page}, found frames: {listing}"
        raise UsageError(message)
    return document
