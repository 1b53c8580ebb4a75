"""Emit the events of a run, and stop it when a gate is exceeded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.errors import GateFailedError
from eikon_engine.outcome.events import (
    CompletionGiven,
    Note,
    SubgoalEnd,
    SubgoalStart,
    TokensSpent,
    ToolCall,
    ToolFailure,
    ToolResult,
)
from eikon_engine.outcome.stored import InlineValue

if TYPE_CHECKING:
    from eikon_engine.completions import Answered
    from eikon_engine.outcome.event_log import EventLog
    from eikon_engine.outcome.events import Event
    from eikon_engine.scenario.calls import CallAnswered, CallMade
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

    def take(self, event: Event) -> None:
        """Write an event."""
        self.log.take(event)

    def demand_within_limits(self) -> None:
        """Check that no gate is exceeded.

        Raises:
            GateFailedError: one is, so the run must stop.
        """
        if self.log.stop_reason is not None:
            raise GateFailedError(f"{self.log.stop_reason}; the run stops")

    def begin_subgoal(self, number: int, subgoal: str, subgoal_id: str, description: str, steps: int) -> None:
        """Start a subgoal; its steps are numbered from 1."""
        self.subgoal, self.sequence = subgoal, 0
        self.take(SubgoalStart(number=number, id=subgoal, subgoal_id=subgoal_id, description=description, steps=steps))

    def end_subgoal(self, number: int, status: MissionStatus) -> None:
        """End the current subgoal."""
        self.take(SubgoalEnd(number=number, id=self.subgoal, status=status))

    def note(self, text: str) -> None:
        """Write a note."""
        self.take(Note(text=text))

    def called(self, made: CallMade) -> None:
        """Write the start of a tool call.

        Raises:
            GateFailedError: it exceeds a limit.
        """
        self.take(
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
        self.demand_within_limits()

    def answered(self, answered: CallAnswered) -> None:
        """Write the end of a tool call."""
        error = answered.error
        self.take(
            ToolResult(
                subgoal=self.subgoal,
                sequence=self.sequence,
                call_id=answered.made.call_id,
                tool=answered.made.tool,
                source=answered.source,
                result=None if error is not None else InlineValue(value=answered.result),
                error=None if error is None else ToolFailure(kind=error.type, message=error.message),
                latency_ms=answered.latency_ms,
            )
        )

    def completed(self, answered: Answered) -> None:
        """Write the response of a model."""
        response = answered.response
        self.take(
            CompletionGiven(
                subgoal=self.subgoal,
                sequence=self.sequence,
                metric_id=response.metric_id,
                model=response.answered_by or response.model,
                prompt_digest=response.prompt_digest,
                source=answered.source,
                response=None if response.response is None else InlineValue(value=response.response),
                error=None if response.error is None else f"{response.error.code}: {response.error.message}",
                usage=TokensSpent(**dict(response.usage)),
                latency_ms=answered.latency_seconds * 1000,
            )
        )
