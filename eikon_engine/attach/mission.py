"""What an agent says of its mission while it is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, cast

from eikon_engine.browser.attached.page import snapshot_of
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

    from eikon_engine.attach.recording import Recording
    from eikon_engine.certify.certification import CertificationReport
    from eikon_engine.record.attempt import Attempt
    from eikon_engine.trace.execution import MissionStatus, Result


class AgentMission:
    """Say what actions do not: subgoals, skills, tools, completions, results. Nothing has to be said."""

    def __init__(self, recording: Recording) -> None:
        """Speak of one recording; `record_mission` makes both."""
        self._recording = recording
        self.report: CertificationReport | None = None
        """What certifying gave, after the block; None where it was not asked for, or could not be done."""

    def subgoal(self, description: str, *, subgoal_id: str | None = None) -> Subgoal:
        """Group what is done inside the block, `with` or `async with`, as one attempt at one step of the plan.

        An error that leaves the block is recorded as the failure of the attempt, and goes on.
        """
        return Subgoal(self._recording, description, subgoal_id)

    def skill(
        self, name: str, *, page: int = 0, frame: str = "", parameters: Mapping[str, JsonValue] | None = None
    ) -> Any:  # noqa: ANN401 - its output, or where it will be
        """Run a skill on the DOM of a page as it is now, and record its use; an asynchronous agent awaits its output.

        Raises:
            UnknownSkillError: there is no such skill.
            SkillError: it failed; the failure is recorded.
            CompletionError: it asked a model, which failed; that is recorded too.
            UsageError: the page, or the frame, is not open, or the subgoal ended before the skill did.
        """
        return self._recording.run(self._skill(name, page, frame, dict(parameters or {})))

    def tool(
        self, name: str, arguments: Mapping[str, JsonValue] | None = None, *, result: JsonValue = None, error: str = ""
    ) -> None:
        """Note the call of a tool with what it returned, or the error that it raised."""
        attempt, clean = self._attempt(), self._recording.clean_value
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
        """Note what a language model was asked and answered, or the error that it gave."""
        attempt, clean = self._attempt(), self._recording.clean_value
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
        """Note data that the mission brought home."""
        self._recording.writer.add_extraction(self._recording.clean(name), self._recording.clean_value(value))

    def warn(self, text: str) -> None:
        """Note something that the recording could not keep."""
        self._recording.writer.warn(self._recording.clean(text))

    def finish(self, status: MissionStatus) -> None:
        """Say how the mission ended, where its subgoals and errors do not tell."""
        self._recording.attempts.say(status)

    def _attempt(self) -> Attempt:
        return self._recording.attempt()

    def _result(self, code: str, error: str) -> Result:
        return Failed(code=code, message=self._recording.clean(error)) if error else Succeeded()

    async def _skill(self, name: str, page: int, frame: str, parameters: dict[str, JsonValue]) -> JsonValue:
        call = SkillCall(skill=self._recording.skills.named(name), page=page, frame=frame, parameters=parameters)
        snapshot = await snapshot_of(self._recording.session, page)
        return await self._recording.skill_runs.run(self._attempt(), snapshot, call)


class Subgoal:
    """A block of one attempt at one step of the plan, for synchronous and asynchronous agents."""

    def __init__(self, recording: Recording, description: str, subgoal_id: str | None) -> None:
        """Begin with the block."""
        self._recording = recording
        self._description = description
        self._subgoal_id = subgoal_id

    def __enter__(self) -> Self:
        """Begin."""
        self._recording.begin_subgoal(self._description, self._subgoal_id)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        self._recording.end_subgoal(error)

    async def __aenter__(self) -> Self:
        """Begin."""
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        self.__exit__(kind, error, trace)
