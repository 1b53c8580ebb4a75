"""Perform the page steps of a scenario and record them as a mission."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from eikon_engine.errors import CompletionError, SkillError
from eikon_engine.outcome.events import (
    ActionPerformed,
    ActionStart,
    ObservationMade,
    RecordedAction,
    RecordedSkill,
    SkillRun,
)
from eikon_engine.outcome.stored import InlineValue
from eikon_engine.replay.label import action_label
from eikon_engine.scenario.tools.browser import BROWSER_TOOL as BROWSER
from eikon_engine.trace.execution import Failed, Succeeded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pydantic import JsonValue

    from eikon_engine.completions import ServedResponse
    from eikon_engine.record.recorder import MissionRecorder
    from eikon_engine.scenario.calls import ToolCallEnd, ToolCallStart
    from eikon_engine.scenario.model import SkillStep
    from eikon_engine.scenario.run_events import RunEvents
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.execution import ActionTrace, Result
    from eikon_engine.trace.observation import Observation


class RecordingPages:
    """Drive a recorder and emit its events."""

    def __init__(self, recorder: MissionRecorder, events: RunEvents) -> None:
        """Record with `recorder`."""
        self._recorder = recorder
        self._events = events
        self._is_in_subgoal = False
        self._reported_failures = 0

    @asynccontextmanager
    async def subgoal(self, description: str, subgoal_id: str) -> AsyncIterator[None]:
        """Group the steps inside the block as one attempt."""
        async with self._recorder.subgoal(description, subgoal_id=subgoal_id):
            self._is_in_subgoal = True
            try:
                yield
            finally:
                self._is_in_subgoal = False

    def on_call_started(self, made: ToolCallStart) -> None:
        """Do nothing: a tool call is noted with its result."""

    def on_call_finished(self, answered: ToolCallEnd) -> None:
        """Note a tool call among the actions of the mission; those of `browser` are actions themselves."""
        if self._is_in_subgoal and answered.start.tool != BROWSER:
            error = "" if answered.error is None else f"{answered.error.type}: {answered.error.message}"
            self._recorder.tool(answered.start.tool, answered.start.args, result=answered.result, error=error)

    def on_completion(self, answered: ServedResponse) -> None:
        """Note a model response among the actions of the mission."""
        if self._is_in_subgoal:
            self._recorder.completion(answered.response)

    async def run(self, action: Action) -> Observation:
        """Perform one action.

        Raises:
            ActionError: it failed.
            GateExceededError: it exceeds a limit.
        """
        events = self._events
        text = self._recorder.redact_text(action_label(action))
        events.emit(ActionStart(subgoal=events.subgoal, sequence=events.sequence, action=action.type, label=text))
        events.require_within_limits()
        before = self._recorder.last_action
        try:
            return await self._recorder.run(action)
        finally:
            done = self._recorder.last_action
            if done is not None and done is not before:
                self._emit_action(done, text)

    async def skill(self, step: SkillStep, parameters: dict[str, JsonValue]) -> JsonValue:
        """Run a skill; its output is redacted, as in a replay.

        Raises:
            SkillError: it failed.
            CompletionError: the model it called failed.
        """
        began = time.perf_counter()
        try:
            output = await self._recorder.skill(step.skill, page=step.page, frame=step.frame, parameters=parameters)
        except (SkillError, CompletionError) as error:
            failed = Failed(code=error.code, message=self._recorder.redact_text(error.message))
            self._emit_skill(step, parameters, failed, None, began)
            raise
        clean = self._recorder.redact_value(output)
        self._emit_skill(step, parameters, Succeeded(), clean, began)
        return clean

    async def replay_tool_action(self, action: Action) -> None:
        """Do nothing: the tool performs it."""

    async def finish(self) -> None:
        """Do nothing: the recorder ends with its block."""

    def _emit_action(self, done: ActionTrace, text: str) -> None:
        events = self._events
        if done.observation is not None:
            failed = self._recorder.failed_requests
            begin, self._reported_failures = self._reported_failures, len(failed or ())
            events.emit(
                ObservationMade(
                    subgoal=events.subgoal,
                    sequence=done.sequence,
                    observation=done.observation,
                    failed=None if failed is None else failed[begin:],
                )
            )
        began, ended = done.started_at, done.ended_at
        outcome = RecordedAction(
            id=done.id,
            sequence=done.sequence,
            type=done.action.type,
            label=text,
            result=done.result,
            duration_ms=None if began is None or ended is None else (ended - began).total_seconds() * 1000,
            artifacts=done.artifacts,
        )
        events.emit(ActionPerformed(subgoal=events.subgoal, outcome=outcome))

    def _emit_skill(
        self, step: SkillStep, parameters: dict[str, JsonValue], result: Result, output: JsonValue, began: float
    ) -> None:
        events = self._events
        outcome = RecordedSkill(
            id=f"{events.subgoal}_skill_{events.sequence:03d}",
            sequence=events.sequence,
            skill=step.skill,
            parameters={name: self._recorder.redact_value(each) for name, each in parameters.items()},
            result=result,
            duration_ms=(time.perf_counter() - began) * 1000,
        )
        events.emit(SkillRun(subgoal=events.subgoal, outcome=outcome, output=InlineValue(value=output)))
