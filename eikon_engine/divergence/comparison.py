"""One action as recorded and as replayed, side by side: what every detector is given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eikon_engine.outcome.divergence import Divergence

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.outcome.divergence import Layer
    from eikon_engine.outcome.outcomes import NetworkMiss, ResponseChange
    from eikon_engine.trace.dom import PageSnapshot
    from eikon_engine.trace.execution import ActionTrace, Result
    from eikon_engine.trace.observation import Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where in the mission something is compared."""

    subgoal: str
    """Id of the subgoal attempt."""
    subgoal_id: str
    sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """PNG files of one page."""

    recorded: bytes = field(repr=False)
    observed: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Everything known of one action."""

    place: Place
    recorded: ActionTrace
    result: Result
    observed: Observation | None
    misses: tuple[NetworkMiss, ...] = ()
    """Requests of this action that the bundle had no answer for."""
    response_changes: tuple[ResponseChange, ...] = ()
    """Live answers up to this action that differ from the recorded ones."""
    recorded_dom: Callable[[int], PageSnapshot | None] = field(default=lambda _page: None)
    """DOM of a page after the action, as recorded."""
    observed_dom: Callable[[int], PageSnapshot | None] = field(default=lambda _page: None)

    is_sealed: bool = False
    """Whether nothing but the recording answers: only then are the order of requests, and what the browser keeps,
    the page's own."""
    compares_stored_values: bool = False
    """Whether their values are, too: not where a recording by the natural clock may have kept times, and not where
    another recording answers, which has sessions of its own."""
    pictures: Pictures | None = None
    """What a screenshot showed, where both were taken in one environment."""

    def diverged(
        self, layer: Layer, code: str, *, expected: str, observed: str, message: str, detail: str = ""
    ) -> Divergence:
        """Make a finding at this action."""
        return Divergence(
            code=code,
            layer=layer,
            subgoal=self.place.subgoal,
            subgoal_id=self.place.subgoal_id,
            sequence=self.place.sequence,
            expected=expected,
            observed=observed,
            message=message,
            detail=detail,
        )
