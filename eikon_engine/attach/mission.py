"""The API an agent can use while `record_mission` records it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, cast

from eikon_engine.browser.attached.page import take_snapshot
from eikon_engine.record.skill_runs import SkillCall
from eikon_engine.trace.execution import (
    CompletionUsage,
    Failed,
    Succeeded,
    ToolUsage,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from pydantic import JsonValue

    from eikon_engine.attach.recording import AgentRecording
    from eikon_engine.certify.certification import CertificationReport
    from eikon_engine.record.attempt import Attempt
    from eikon_engine.trace.execution import MissionStatus, Result


class AgentMission:
    """Add what actions do not show: subgoals, skills, tools, completions, extractions. All of it is optional."""

    def __init__(self, recording: AgentRecording) -> None:
        """Wrap a recording; created by `record_mission`."""
        self._recording = recording
        self.report: CertificationReport | None = None
        """The certification report, after the block; None if certifying was skipped or failed."""

    def subgoal(self, description: str, *, subgoal_id: str | None = None) -> Subgoal:
        """Group the steps of the block, `with` or `async with`, as one attempt at a subgoal.

        An exception that leaves the block is recorded as the failure of the attempt and re-raised.
        """
        return Subgoal(self._recording, description, subgoal_id)

    def skill(
        self, name: str, *, page: int = 0, frame: str = "", parameters: Mapping[str, JsonValue] | None = None
    ) -> Any:  # noqa: ANN401 - its output, or where it will be
        """Run a skill on the current DOM of a page and record its use; asynchronous agents await the output.

        Raises:
            UnknownSkillError: there is no such skill.
            SkillError: it failed; the failure is recorded.
            CompletionError: the model it asked failed; the failure is recorded.
            UsageError: the page, or the frame, is not open, or the subgoal ended before the skill did.
        """
        return self._recording.run(self._skill(name, page, frame, dict(parameters or {})))

    def tool(
        self, name: str, arguments: Mapping[str, JsonValue] | None = None, *, result: JsonValue = None, error: str = ""
    ) -> None:
        """Record a tool call with its result or error."""
        attempt, clean = self._current_attempt(), self._recording.redact_value
        sequence = attempt.next_sequence()
        usage = ToolUsage(
            id=f"{attempt.id}_tool_{sequence:03d}",
            sequence=sequence,
            tool=name,
            arguments=cast("dict[str, JsonValue]", clean(dict(arguments or {}))),
            result=self._result("tool-failed", error),
            output=clean(result),
        )
        self._recording.writer.add_tool(attempt, usage)

    def completion(
        self, *, prompt: JsonValue, response: JsonValue = None, model: str | None = None, error: str = ""
    ) -> None:
        """Record the prompt and the response, or error, of a language model."""
        attempt, clean = self._current_attempt(), self._recording.redact_value
        sequence = attempt.next_sequence()
        usage = CompletionUsage(
            id=f"{attempt.id}_completion_{sequence:03d}",
            sequence=sequence,
            model=model,
            prompt=clean(prompt),
            response=clean(response),
            result=self._result("completion-failed", error),
        )
        self._recording.writer.add_completion(attempt, usage)

    def extraction(self, name: str, value: JsonValue) -> None:
        """Record extracted data."""
        self._recording.writer.add_extraction(self._recording.redact(name), self._recording.redact_value(value))

    def warn(self, text: str) -> None:
        """Add a warning to the recording."""
        self._recording.writer.warn(self._recording.redact(text))

    def finish(self, status: MissionStatus) -> None:
        """Set the mission status explicitly instead of deriving it from subgoals and errors."""
        self._recording.attempts.set_status(status)

    def _current_attempt(self) -> Attempt:
        return self._recording.current_attempt()

    def _result(self, code: str, error: str) -> Result:
        return Failed(code=code, message=self._recording.redact(error)) if error else Succeeded()

    async def _skill(self, name: str, page: int, frame: str, parameters: dict[str, JsonValue]) -> JsonValue:
        call = SkillCall(skill=self._recording.skills.get(name), page=page, frame=frame, parameters=parameters)
        snapshot = await take_snapshot(self._recording.session, page)
        return await self._recording.skill_runner.run(self._current_attempt(), snapshot, call)


class Subgoal:
    """Context manager for one attempt at a subgoal, synchronous and asynchronous."""

    def __init__(self, recording: AgentRecording, description: str, subgoal_id: str | None) -> None:
        """Start the attempt when the block is entered."""
        self._recording = recording
        self._description = description
        self._subgoal_id = subgoal_id

    def __enter__(self) -> Self:
        self._recording.start_subgoal(self._description, self._subgoal_id)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._recording.end_subgoal(error)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)
