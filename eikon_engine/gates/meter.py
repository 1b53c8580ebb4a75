"""What the gates have in common: a meter that follows a run, and what it found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from eikon_engine.outcome.events import ActionTaken, ObservationMade, RecordedAction, RunEnd, RunStart
from eikon_engine.trace.execution import Blocked
from eikon_engine.trace.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import JsonValue

    from eikon_engine.outcome.events import Event, JournalLine, RunKind
    from eikon_engine.outcome.outcomes import ActionOutcome
    from eikon_engine.outcome.stored import Stored

    ValueOf = Callable[[Stored], JsonValue]
    """Finds the value of an event, which may lie in a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a meter shows."""

    passed: bool | None
    """None where it cannot be known."""
    observed: JsonValue
    message: str


class Meter(Protocol):
    """Measure one thing of a run, line by line."""

    def note(self, line: JournalLine) -> None:
        """Take the next line of the run."""

    def found(self) -> Found:
        """Say what is known so far; a limit that is exceeded stays so, whatever comes."""


@dataclass(slots=True)
class Run:
    """What the events say of the run as a whole, while they come."""

    kind: RunKind | None = None
    end: RunEnd | None = None

    def note(self, event: Event) -> None:
        """Take the next event."""
        if isinstance(event, RunStart):
            self.kind = event.kind
        elif isinstance(event, RunEnd):
            self.end = event

    @property
    def calls_nothing(self) -> bool:
        """Say whether it is the replay of a bundle, which calls no tools and asks no models."""
        return self.kind == "bundle_replay"


@dataclass(slots=True)
class Unseen:
    """Count the actions after which the pages were not looked at, so that nothing is known of what they did."""

    count: int = 0
    seen: set[tuple[str, int]] = field(default_factory=set)

    def note(self, event: Event) -> None:
        """Take the next event."""
        if isinstance(event, ObservationMade) and event.observation.settled:
            self.seen.add((event.subgoal, event.sequence))
        elif isinstance(event, ActionTaken) and was_performed(event.outcome):
            self.count += (event.subgoal, event.outcome.sequence) not in self.seen

    def __str__(self) -> str:
        """Read as a reason."""
        return f"the pages were not observed after {counted(self.count, 'action')}"


def was_performed(outcome: ActionOutcome | RecordedAction) -> bool:
    """Say whether an action was performed at all."""
    return outcome.result is not None and not isinstance(outcome.result, Blocked)
