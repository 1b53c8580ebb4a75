"""Emit the events of a run, and stop it when a gate is exceeded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.errors import GateExceededError
from eikon_engine.outcome.events import (
    CompletionReceived,
    Note,
    SubgoalEnd,
    SubgoalStart,
    TokenUsage,
    ToolCall,
    ToolFailure,
    ToolResult,
)
from eikon_engine.outcome.stored import InlineValue

if TYPE_CHECKING:
    from eikon_engine.completions import ServedResponse
    from eikon_engine.outcome.event_log import EventLog
    from eikon_engine.outcome.events import Event
    from eikon_engine.scenario.calls import ToolCallEnd, ToolCallStart
    from eikon_engine.trace.execution import MissionStatus


class RunEvents:
    """Write events with their position in the mission; observes the calls of tools and models."""

    def __init__(self, log: EventLog) -> None:
        """Start outside any subgoal."""
        self.log = log
        self.subgoal = ""
        """Id of the current attempt."""
        self.sequence = 0
        """Number of the current step in its subgoal."""

    def emit(self, event: Event) -> None:
        """Write an event."""
        self.log.append(event)

    def require_within_limits(self) -> None:
        """Check that no gate is exceeded.

        Raises:
            GateExceededError: one is, so the run must stop.
        """
        if self.log.stop_reason is not None:
            raise GateExceededError(f"{self.log.stop_reason}; the run stops")

    def start_subgoal(self, number: int, subgoal: str, subgoal_id: str, description: str, steps: int) -> None:
        """Start a subgoal; its steps are numbered from 1."""
        self.subgoal, self.sequence = subgoal, 0
        self.emit(SubgoalStart(number=number, id=subgoal, subgoal_id=subgoal_id, description=description, steps=steps))

    def end_subgoal(self, number: int, status: MissionStatus) -> None:
        """End the current subgoal."""
        self.emit(SubgoalEnd(number=number, id=self.subgoal, status=status))

    def note(self, text: str) -> None:
        """Write a note."""
        self.emit(Note(text=text))

    def on_call_started(self, made: ToolCallStart) -> None:
        """Write the start of a tool call.

        Raises:
            GateExceededError: it exceeds a limit.
        """
        self.emit(
            ToolCall(
                subgoal=self.subgoal,
                sequence=self.sequence,
                call_id=made.call_id,
                tool=made.tool,
                args=InlineValue(value=made.args),
                args_hash=made.args_hash,
                occurrence=made.occurrence,
            )
        )
        self.require_within_limits()

    def on_call_finished(self, answered: ToolCallEnd) -> None:
        """Write the end of a tool call."""
        error = answered.error
        self.emit(
            ToolResult(
                subgoal=self.subgoal,
                sequence=self.sequence,
                call_id=answered.start.call_id,
                tool=answered.start.tool,
                source=answered.source,
                result=None if error is not None else InlineValue(value=answered.result),
                error=None if error is None else ToolFailure(kind=error.type, message=error.message),
                latency_ms=answered.latency_ms,
            )
        )

    def on_completion(self, answered: ServedResponse) -> None:
        """Write the response of a model."""
        response = answered.response
        self.emit(
            CompletionReceived(
                subgoal=self.subgoal,
                sequence=self.sequence,
                metric_id=response.metric_id,
                model=response.answered_by or response.model,
                prompt_digest=response.prompt_digest,
                source=answered.source,
                response=None if response.response is None else InlineValue(value=response.response),
                error=None if response.error is None else f"{response.error.code}: {response.error.message}",
                usage=TokenUsage(**dict(response.usage)),
                latency_ms=answered.latency_seconds * 1000,
            )
        )
