"""Tell the events of a run: what is called, answered, asked and done, until a gate is exceeded."""

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
    """Write events at the place in the mission where they happen; it reads the calls of tools and of models."""

    def __init__(self, log: EventLog) -> None:
        """Begin outside of any subgoal."""
        self.log = log
        self.subgoal = ""
        """Id of the attempt under way."""
        self.sequence = 0
        """Number of the step under way in its subgoal."""

    def take(self, event: Event) -> None:
        """Write an event of any kind."""
        self.log.take(event)

    def demand_within_limits(self) -> None:
        """Make sure that no gate is exceeded.

        Raises:
            GateFailedError: one is; the run is to stop.
        """
        if self.log.stop_reason is not None:
            raise GateFailedError(f"{self.log.stop_reason}; the run is stopped")

    def begin_subgoal(self, number: int, subgoal: str, subgoal_id: str, description: str, steps: int) -> None:
        """Begin a subgoal; its steps are counted from 1."""
        self.subgoal, self.sequence = subgoal, 0
        self.take(SubgoalStart(number=number, id=subgoal, subgoal_id=subgoal_id, description=description, steps=steps))

    def end_subgoal(self, number: int, status: MissionStatus) -> None:
        """End the subgoal under way."""
        self.take(SubgoalEnd(number=number, id=self.subgoal, status=status))

    def note(self, text: str) -> None:
        """Say something."""
        self.take(Note(text=text))

    def called(self, made: CallMade) -> None:
        """Tell of a tool call that is about to be made.

        Raises:
            GateFailedError: it is one too many.
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
        """Tell of the answer of a tool."""
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
        """Tell of the answer of a model."""
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
