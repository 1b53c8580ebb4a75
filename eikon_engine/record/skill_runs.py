"""Run skills during a recording, capture the completions they request, and describe tool calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from anyio import to_thread

from eikon_engine.dom import render_plain_html
from eikon_engine.errors import CompletionError, SkillError, UsageError
from eikon_engine.llm.capture import CapturingClient
from eikon_engine.llm.response_folder import RESPONSES_FOLDER, ResponseWriter
from eikon_engine.skills.skill import SkillInput
from eikon_engine.trace.execution import Failed, SkillInputRef, SkillUsage, Succeeded, ToolUsage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from pydantic import JsonValue

    from eikon_engine.dom import FrameSnapshot, PageSnapshot
    from eikon_engine.llm import CompletionClient
    from eikon_engine.llm.completion import RedactText
    from eikon_engine.record.attempts import Attempts
    from eikon_engine.record.bundle_writer import Attempt, BundleWriter
    from eikon_engine.secrets.redaction import Redactor
    from eikon_engine.skills.skill import Skill


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillCall:
    """One call of a skill by the mission."""

    skill: Skill
    page: int = 0
    frame: str = ""
    parameters: dict[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRunner:
    """Runs the skills of one recording."""

    writer: BundleWriter
    attempts: Attempts
    completion_client: CompletionClient | None
    """Model client for skills."""
    redact: Callable[[str], str]
    """Replaces secret values by placeholders and stand-ins."""
    redact_value: Callable[[JsonValue], JsonValue]
    """Redacts all texts of a JSON value."""

    async def run(self, attempt: Attempt, snapshot: PageSnapshot, call: SkillCall) -> JsonValue:
        """Run a skill on a page, in a worker thread because its model may take minutes.

        Raises:
            SkillError: it failed; the failure is recorded.
            CompletionError: the model it asked failed; the failure is recorded.
            UsageError: the page has no such frame, or the attempt ended before the skill.
        """
        document = find_document(snapshot, call.page, call.frame)
        sequence = attempt.next_sequence()
        usage = SkillUsage(
            id=f"{attempt.id}_skill_{sequence:03d}",
            sequence=sequence,
            skill=call.skill.name,
            version=call.skill.version,
            parameters=cast("dict[str, JsonValue]", self.redact_value(dict(call.parameters))),
            source=SkillInputRef(snapshot=self.writer.store_snapshot(snapshot), frame=call.frame, url=document.url),
            result=Succeeded(),
        )
        page = SkillInput(
            html=render_plain_html(document),
            url=document.url,
            parameters=call.parameters,
            completion_client=self.completion_client,
        )
        try:
            output = await to_thread.run_sync(call.skill.run, page, abandon_on_cancel=True)
        except (CompletionError, SkillError) as error:
            failed = Failed(code=error.code, message=self.redact(error.message))
            self._write_usage(attempt, usage.model_copy(update={"result": failed, "output_recorded": False}))
            raise
        self._write_usage(attempt, usage.model_copy(update={"output": self.redact_value(output)}))
        return output

    def _write_usage(self, attempt: Attempt, usage: SkillUsage) -> None:
        if self.attempts.current is not attempt:
            message = (
                f"skill {usage.skill} was not recorded: subgoal {attempt.subgoal_id} ended before it did; await "
                "the skill inside the subgoal"
            )
            raise UsageError(message)
        self.writer.add_skill(attempt, usage)


def find_document(snapshot: PageSnapshot, page: int, frame: str) -> FrameSnapshot:
    """Return the document of a frame.

    Raises:
        UsageError: the page has no such frame.
    """
    document = next((each for each in snapshot.frames if each.path == frame), None)
    if document is None:
        listing = ", ".join(repr(each.path) for each in snapshot.frames)
        message = f"page {page} has no frame {frame!r}; its frames: {listing}"
        raise UsageError(message)
    return document


def tool_usage(
    attempt: Attempt,
    redactor: Redactor,
    name: str,
    arguments: Mapping[str, JsonValue] | None,
    *,
    result: JsonValue,
    error: str,
) -> ToolUsage:
    """Return the next step of an attempt: a redacted tool call with its result, or its error if there is one."""
    sequence = attempt.next_sequence()
    return ToolUsage(
        id=f"{attempt.id}_tool_{sequence:03d}",
        sequence=sequence,
        tool=name,
        arguments=cast("dict[str, JsonValue]", redactor.redact_json(dict(arguments or {}))),
        result=Failed(code="tool-failed", message=redactor.redact_text(error)) if error else Succeeded(),
        output=redactor.redact_json(result),
    )


class CompletionCapture:
    """Capture completions into the bundle until the block ends; without requests no folder is created.

    The capture is complete however the mission ends: it holds the response to every skill run in the trace. A response
    still pending at the end belongs to a cancelled skill and is dropped.
    """

    def __init__(
        self, directory: Path, ask: CompletionClient | None, redact: RedactText, new_id: Callable[[], str]
    ) -> None:
        """Capture the responses of `ask`, redacted, into the bundle at `directory`; None disables models."""
        self._writer = ResponseWriter(directory / RESPONSES_FOLDER, new_id()) if ask is not None else None
        self.client: CompletionClient | None = None
        """The client that skills use."""
        if ask is not None and self._writer is not None:
            self.client = CapturingClient(ask, self._writer, redact=redact)

    def close(self) -> None:
        """Close the capture.

        Raises:
            OutputError: the end cannot be written.
        """
        if self._writer is not None:
            self._writer.end(finished=self._writer.count > 0, ignore_pending=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
