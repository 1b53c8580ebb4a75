"""What all gates share: a meter that follows a run, and its reading."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from eikon_engine.files.text import pluralize
from eikon_engine.outcome.events import ActionPerformed, ObservationMade, RecordedAction, RunEnd, RunStart
from eikon_engine.trace.execution import Blocked

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import JsonValue

    from eikon_engine.outcome.events import Event, EventLine, RunKind
    from eikon_engine.outcome.outcomes import ActionOutcome
    from eikon_engine.outcome.stored_values import StoredValue

    ResolveValue = Callable[[StoredValue], JsonValue]
    """Resolves the value of an event, which may be stored in a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReading:
    """The reading of a meter."""

    passed: bool | None
    """None if unknown."""
    observed: JsonValue
    message: str


class Meter(Protocol):
    """Measures one property of a run, line by line."""

    def process(self, line: EventLine) -> None:
        """Process the next line of the run."""

    def reading(self) -> GateReading:
        """Return the current reading; a limit that is exceeded stays exceeded."""


@dataclass(slots=True)
class RunState:
    """State of a run, updated by its events."""

    kind: RunKind | None = None
    end: RunEnd | None = None

    def process(self, event: Event) -> None:
        """Process the next event."""
        if isinstance(event, RunStart):
            self.kind = event.kind
        elif isinstance(event, RunEnd):
            self.end = event

    @property
    def is_bundle_replay(self) -> bool:
        """Whether the run is the replay of a bundle, which calls no tools and no models."""
        return self.kind == "bundle_replay"


@dataclass(slots=True)
class UnobservedActions:
    """Counts the actions without an observation, whose effects are unknown."""

    count: int = 0
    seen: set[tuple[str, int]] = field(default_factory=set)

    def process(self, event: Event) -> None:
        """Process the next event."""
        if isinstance(event, ObservationMade) and event.observation.settled:
            self.seen.add((event.subgoal, event.sequence))
        elif isinstance(event, ActionPerformed) and was_performed(event.outcome):
            self.count += (event.subgoal, event.outcome.sequence) not in self.seen

    def __str__(self) -> str:
        """Return the count as a reason."""
        return f"the pages were not observed after {pluralize(self.count, 'action')}"


def was_performed(outcome: ActionOutcome | RecordedAction) -> bool:
    """Return whether an action was performed at all."""
    return outcome.result is not None and not isinstance(outcome.result, Blocked)
