"""The input of every detector: one action as recorded and as replayed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eikon_engine.outcome.divergence import Divergence

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.divergence.clock_gap import ClockGap
    from eikon_engine.dom import PageSnapshot
    from eikon_engine.outcome.divergence import Layer
    from eikon_engine.outcome.outcomes import NetworkMiss, ResponseChange
    from eikon_engine.trace.execution import ActionTrace, Result
    from eikon_engine.trace.observation import DocumentLoad, Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPosition:
    """Position in the mission of the step that is compared."""

    subgoal: str
    """Id of the subgoal attempt."""
    subgoal_id: str
    sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Screenshots:
    """Recorded and replayed screenshot of one page, as PNG."""

    recorded: bytes = field(repr=False)
    observed: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Everything known about one action, recorded and replayed."""

    position: StepPosition
    recorded: ActionTrace
    result: Result
    observed: Observation | None
    misses: tuple[NetworkMiss, ...] = ()
    """Requests of this action without a recorded response."""
    response_changes: tuple[ResponseChange, ...] = ()
    """Live responses up to this action that differ from the recorded ones."""
    recorded_dom: Callable[[int], PageSnapshot | None] = field(default=lambda _page: None)
    """Recorded DOM of a page (by ordinal) after the action."""
    observed_dom: Callable[[int], PageSnapshot | None] = field(default=lambda _page: None)

    optional_requests: tuple[str, ...] = ()
    """Keys of recorded requests that a live replay need not send in this action."""
    known_requests: tuple[str, ...] = ()
    """Keys of requests that a live replay may send in this action, though they were recorded in another one."""
    later_values: frozenset[tuple[str, str]] = frozenset()
    """Recorded texts, with those in their places in the responses to later polls than the recording has."""
    clock_gap: ClockGap | None = None
    """By how much pages are behind their server, in a live replay."""
    changed_requests: tuple[NetworkMiss, ...] = ()
    """Live requests so far that are not in the recording, but resemble a recorded one."""
    passive_requests: frozenset[str] = frozenset()
    """Keys of safe requests of this action for pictures and the like, on which nothing else of a page depends."""
    paired_documents: tuple[tuple[DocumentLoad, DocumentLoad], ...] = ()
    """Documents, recorded and now, of an action without a baseline."""
    new_page_errors: tuple[str, ...] = ()
    """Uncaught errors of scripts that the recording does not have, of a live action without a baseline."""
    new_console_errors: tuple[str, ...] = ()
    """Console errors that the recording does not have, of a live action without a baseline."""
    unsent_requests: tuple[str, ...] = ()
    """Keys of recorded requests that the pages did not send, of a live action without a baseline."""
    is_sealed: bool = False
    """Whether all responses come from the recording. Only then are request order and browser storage compared."""
    compares_stored_values: bool = False
    """Whether the values of cookies and storage items are compared as well. False for recordings with the natural
    clock, whose values may contain times, and if another recording serves the responses, with sessions of its own."""
    waited_ms: float | None = None
    """Page time after which the condition of a wait held; None if it did not, and for other actions."""
    read_texts: tuple[str, str] | None = field(default=None, repr=False)
    """JSON texts of what was read, recorded and now, if both are long."""
    screenshots: Screenshots | None = None
    """Screenshots, if both were taken in comparable environments."""

    def make_divergence(
        self, layer: Layer, code: str, *, expected: str, observed: str, message: str, detail: str = ""
    ) -> Divergence:
        """Create a divergence at this action."""
        return Divergence(
            code=code,
            layer=layer,
            subgoal=self.position.subgoal,
            subgoal_id=self.position.subgoal_id,
            sequence=self.position.sequence,
            expected=expected,
            observed=observed,
            message=message,
            detail=detail,
        )
