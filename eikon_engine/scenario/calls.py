"""What answers the calls of tools: the tools themselves, a recorder around them, or a recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from eikon_engine.errors import ToolError
    from eikon_engine.scenario.fixture import Failure
    from eikon_engine.scenario.stored_result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class CallMade:
    """A tool is about to be called; secrets are hidden."""

    call_id: str
    """Unique in the run."""
    tool: str
    args: dict[str, JsonValue]
    args_hash: str
    occurrence: int
    """Which of the calls with these arguments it is, from 1."""
    order: int
    """Its place among all calls of the run, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallAnswered:
    """A tool has answered, or a recording in its place; secrets are hidden."""

    made: CallMade
    source: Literal["executed", "fixture"]
    result: JsonValue
    """As a fixture holds it."""
    error: Failure | None
    latency_ms: float


class Reader(Protocol):
    """Be told of calls; what it raises ends the call."""

    def called(self, made: CallMade) -> None:
        """Hear of a call before anything is executed."""

    def answered(self, answered: CallAnswered) -> None:
        """Hear of its answer."""


class SilentReader:
    """Tell nobody."""

    def called(self, made: CallMade) -> None:
        """Do nothing."""

    def answered(self, answered: CallAnswered) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """An answer out of a recording."""

    result: Result = None
    error: ToolError | None = None

    def give(self) -> Result:
        """Return the result, or raise what the tool raised."""
        if self.error is not None:
            raise self.error
        return self.result


class CallUnderWay(Protocol):
    """One call that is executed now."""

    def succeed(self, result: Result) -> Result:
        """Keep what the tool returned, and return what the agent is given.

        Raises:
            ResultNotStorableError: it cannot be kept.
        """

    def fail(self, error: BaseException) -> ToolError:
        """Keep what the tool raised, and return what is raised instead."""


class Calls(Protocol):
    """Answer the calls of one run, from any number of threads at a time."""

    def begin(self, tool: str, args: Mapping[str, JsonValue]) -> Recorded | CallUnderWay:
        """Begin a call of a tool that is allowed.

        Raises:
            ToolArgumentsError: the arguments cannot be written.
            FixtureMissingError: answers come from a recording, which has none for this call.
        """

    @property
    def is_replay(self) -> bool:
        """Say whether answers come from a recording, so that no tool has to be here."""
