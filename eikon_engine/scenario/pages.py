"""The pages of a scenario: driven and recorded, or replayed in lockstep with the scenario."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final, Protocol

from eikon_engine.errors import ActionError, CompletionError, EikonError, InternalError, ReplayError, SkillError
from eikon_engine.outcome.events import (
    ActionPerformed,
    ActionStart,
    DivergenceFound,
    ObservationMade,
    RecordedAction,
    RecordedSkill,
    SkillRun,
)
from eikon_engine.outcome.stored_values import InlineValue
from eikon_engine.replay.options import Halt, Proceed
from eikon_engine.scenario.mismatch import action_difference, skill_difference
from eikon_engine.scenario.tools.browser import BROWSER_TOOL as BROWSER
from eikon_engine.trace.execution import ActionTrace, Failed, SkillUsage, Succeeded
from eikon_engine.trace.labels import action_label, step_label

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine
    from contextlib import AbstractAsyncContextManager
    from typing import Any

    from pydantic import JsonValue

    from eikon_engine.llm import ServedResponse
    from eikon_engine.outcome.events import EventLine
    from eikon_engine.outcome.outcomes import ReplayOutcome
    from eikon_engine.record.recorder import MissionRecorder
    from eikon_engine.replay.options import Decision
    from eikon_engine.replay.plan import PlannedStep
    from eikon_engine.scenario.calls import ToolCallEnd, ToolCallStart
    from eikon_engine.scenario.model import SkillStep
    from eikon_engine.scenario.run_folder import RunEvents
    from eikon_engine.secrets.redaction import Redactor
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.execution import Result
    from eikon_engine.trace.observation import Observation


class Pages(Protocol):
    """The pages of a mission."""

    def subgoal(self, description: str, subgoal_id: str) -> AbstractAsyncContextManager[None]:
        """Group the steps inside the block as one attempt."""

    async def run(self, action: Action) -> Observation:
        """Perform an action, emit its events, and return the observation.

        Raises:
            ActionError: it failed.
            ReplayError: in a replay, the step differs from the recording.
        """

    async def skill(self, step: SkillStep, parameters: dict[str, JsonValue]) -> JsonValue:
        """Run a skill on a page, emit its events, and return its output.

        Raises:
            SkillError: it failed.
            ReplayError: in a replay, the step differs from the recording.
        """

    async def replay_tool_action(self, action: Action) -> None:
        """In a replay, replay the action that a tool performed in the recording.

        Raises:
            ReplayError: the action differs from the recording.
        """

    async def finish(self) -> None:
        """End the mission.

        Raises:
            ReplayError: in a replay, recorded steps are left over, or something differs.
        """


class NoPages:
    """The pages of a scenario without page steps; every use fails."""

    def subgoal(self, description: str, subgoal_id: str) -> AbstractAsyncContextManager[None]:
        """Fail: the scenario has no page steps."""
        raise self._error(f"subgoal {subgoal_id}: {description}")

    async def run(self, action: Action) -> Observation:
        """Fail: the scenario has no page steps."""
        raise self._error(action.type)

    async def skill(self, step: SkillStep, parameters: dict[str, JsonValue]) -> JsonValue:  # noqa: ARG002 - as Pages
        """Fail: the scenario has no page steps."""
        raise self._error(step.skill)

    async def replay_tool_action(self, action: Action) -> None:
        """Fail: the scenario has no page steps."""
        raise self._error(action.type)

    async def finish(self) -> None:
        """Do nothing."""

    def _error(self, what: str) -> InternalError:
        return InternalError(f"the scenario runs without a browser, but needs one for {what}")


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
            return await self._recorder.perform(action)
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


_FORWARDED_EVENTS: Final = (ActionStart, ObservationMade, ActionPerformed, SkillRun, DivergenceFound)
"""Events of the replay that are forwarded; the scenario emits the others itself."""


class LockstepController:
    """A controller that holds each step of a replay until the scenario reaches it."""

    def __init__(self) -> None:
        """Start with no pending step."""
        self._pending_steps: asyncio.Queue[PlannedStep] = asyncio.Queue()
        self._decisions: asyncio.Queue[Decision] = asyncio.Queue()

    async def decide(self, step: PlannedStep) -> Decision:
        """Offer the next step, and wait for the decision of the scenario."""
        self._pending_steps.put_nowait(step)
        return await self._decisions.get()

    async def next_step(self, replay: asyncio.Task[ReplayOutcome]) -> PlannedStep | None:
        """Wait until the replay reaches its next step and return it; None if the replay has ended."""
        if self._pending_steps.empty():
            offered = asyncio.ensure_future(self._pending_steps.get())
            await asyncio.wait({offered, replay}, return_when=asyncio.FIRST_COMPLETED)
            if offered.done():
                return offered.result()
            offered.cancel()
            return None
        return self._pending_steps.get_nowait()

    def decide_pending(self, decision: Decision) -> None:
        """Decide on the offered step."""
        self._decisions.put_nowait(decision)


class ReplayedPages:
    """The pages of a recorded mission."""

    def __init__(
        self,
        run: Callable[[LockstepController], Coroutine[Any, Any, ReplayOutcome]],
        events: RunEvents,
        redactor: Redactor,
    ) -> None:
        """Replay with `run`, started at the first step; `redactor` is that of the recording."""
        self._run = run
        self._events = events
        self._redactor = redactor
        self._controller = LockstepController()
        self._replay: asyncio.Task[ReplayOutcome] | None = None
        self._next: PlannedStep | None = None
        self.outcome: ReplayOutcome | None = None
        """Outcome of the replay; None before its end."""

    def forward(self, line: EventLine) -> None:
        """Forward events of the replay to the run."""
        if isinstance(line.event, _FORWARDED_EVENTS):
            self._events.emit(line.event)

    @asynccontextmanager
    async def subgoal(self, description: str, subgoal_id: str) -> AsyncIterator[None]:  # noqa: ARG002 - as Pages
        """Do nothing: the recording has its own subgoals."""
        yield

    async def run(self, action: Action) -> Observation:
        """Replay the next recorded step, which must be this action.

        Raises:
            ActionError: it failed in the recording and again.
            ReplayError: the recorded step differs.
            ReplayDivergenceError: the page diverged.
        """
        recorded = await self._next_recorded(action_label(action))
        if not isinstance(recorded, ActionTrace):
            raise await self._diverged(recorded, action_label(action), "")
        different = action_difference(recorded.action, action, self._redactor)
        if different is not None:
            raise await self._diverged(recorded, action_label(action), different)
        await self._replay_next()
        if isinstance(recorded.result, Failed):
            raise error_from_recording(ActionError, recorded.result)
        if recorded.observation is None:
            message = f"{recorded.id} was recorded without an observation. Record the scenario again."
            raise ReplayError(message, code="scenario-diverged")
        return recorded.observation

    async def skill(self, step: SkillStep, parameters: dict[str, JsonValue]) -> JsonValue:
        """Replay the next recorded step, which must be this skill use.

        Raises:
            SkillError: it failed in the recording and again.
            CompletionError: the model it called failed in the recording.
            ReplayError: the recorded step differs.
            ReplayDivergenceError: the output of the skill differs.
        """
        attempted = f"skill {step.skill}"
        recorded = await self._next_recorded(attempted)
        if not isinstance(recorded, SkillUsage):
            raise await self._diverged(recorded, attempted, "")
        different = skill_difference(recorded, step, parameters, self._redactor)
        if different is not None:
            raise await self._diverged(recorded, attempted, different)
        await self._replay_next()
        if isinstance(recorded.result, Failed):
            kind = CompletionError if recorded.result.code.startswith("completion-") else SkillError
            raise error_from_recording(kind, recorded.result)
        return recorded.output

    async def replay_tool_action(self, action: Action) -> None:
        """Replay the next recorded step, which must be this action; its result is in the fixture of the tool.

        Raises:
            ReplayError: the recorded step differs.
            ReplayDivergenceError: the page diverged.
        """
        with suppress(ActionError):
            await self.run(action)

    async def finish(self) -> None:
        """End the replay, and check that no recorded step is left.

        Raises:
            ReplayError: recorded steps are left.
            ReplayDivergenceError: something diverged after the last step.
            EikonError: the replay failed.
        """
        replay = self._ensure_started()
        left = self._next or await self._controller.next_step(replay)
        if left is not None:
            await self._halt("the scenario ended")
            message = (
                f"the scenario ended before recorded step {left.step.id} ({step_label(left.step)}). "
                "Run the scenario that was recorded, or record again."
            )
            raise ReplayError(message, code="scenario-diverged")
        self.outcome = await replay

    async def cancel(self) -> None:
        """Stop the replay if the scenario failed."""
        if self._replay is not None and not self._replay.done():
            await self._halt("the scenario stopped")

    def _ensure_started(self) -> asyncio.Task[ReplayOutcome]:
        if self._replay is None:
            self._replay = asyncio.ensure_future(self._run(self._controller))
        return self._replay

    async def _next_recorded(self, step_text: str) -> ActionTrace | SkillUsage:
        """Return the next recorded step."""
        replay = self._ensure_started()
        if self._next is None:
            self._next = await self._controller.next_step(replay)
        if self._next is None:
            await replay
            message = f"no recorded step left for {step_text}. Run the scenario that was recorded, or record again."
            raise ReplayError(message, code="scenario-diverged")
        return self._next.step

    async def _replay_next(self) -> None:
        """Let the replay perform the step, and wait until its events are forwarded."""
        replay = self._ensure_started()
        self._controller.decide_pending(Proceed())
        self._next = await self._controller.next_step(replay)
        if self._next is None:
            self.outcome = await replay

    async def _diverged(self, recorded: ActionTrace | SkillUsage, step_text: str, different: str) -> ReplayError:
        await self._halt("the scenario diverged from the recording")
        reason = (
            f"{step_text} differs: {different}" if different else f"expected {step_label(recorded)}, got {step_text}"
        )
        return ReplayError(
            f"{recorded.id}: {reason}. Run the scenario that was recorded, or record again.", code="scenario-diverged"
        )

    async def _halt(self, reason: str) -> None:
        """Halt the replay so that its artifacts are written; its findings are in its own files."""
        replay = self._ensure_started()
        self._controller.decide_pending(Halt(reason))
        self._next = None
        with suppress(EikonError):
            await replay


def error_from_recording(kind: type[EikonError], failed: Failed) -> EikonError:
    """Return the error for a recorded failure."""
    message = failed.message or failed.code
    if failed.code in kind.codes:
        return kind(message, code=failed.code)
    for known in (kind, *kind.__subclasses__()):
        if known.code == failed.code:
            return known(message)
    return kind(f"{failed.code}: {failed.message}")
