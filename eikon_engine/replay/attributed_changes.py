"""Attribute the changed responses of a replay to the steps during which they arrived."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from eikon_engine.outcome.outcomes import ResponseChange
    from eikon_engine.replay.plan import PlannedStep


@dataclass(frozen=True, slots=True)
class _AttributedChange:
    """A changed response and its step."""

    source: ResponseChange
    """As the session has it."""
    planned: PlannedStep
    shown: ResponseChange
    """As the outcome has it."""


class AttributedChanges:
    """The changed responses of one replay; mutable.

    What a session stores of a response may change later, so that an earlier step gets other values.
    """

    def __init__(self, adapt: Callable[[ResponseChange, PlannedStep], ResponseChange]) -> None:
        """`adapt` removes from a response to a step what is no difference."""
        self._adapt = adapt
        self._attributed: tuple[_AttributedChange, ...] = ()
        self._missing: list[ResponseChange] = []

    def until(self, planned: PlannedStep, found: Sequence[ResponseChange]) -> tuple[ResponseChange, ...]:
        """Return what a session has found by now; what is new is attributed to this step."""
        return tuple(each.shown for each in self._attribute(planned, found))

    def end_step(self, planned: PlannedStep, found: Sequence[ResponseChange]) -> None:
        """Attribute what a session has found by now; what comes later belongs to the next step."""
        self._attributed = self._attribute(planned, found)

    def keep_missing(self, change: ResponseChange) -> None:
        """Keep a message that a server has not sent and that explains a divergence, once."""
        if not any(_message_of(change) == _message_of(each) for each in self._missing):
            self._missing.append(change)

    def for_outcome(self, found: Sequence[ResponseChange]) -> tuple[ResponseChange, ...]:
        """Return all changes that have values: those with a step, later ones, and messages that are missing."""
        changes = (*(each.shown for each in self._refresh(found)), *found[len(self._attributed) :])
        return (*(each for each in changes if each.what or each.more), *self._missing)

    def _attribute(self, planned: PlannedStep, found: Sequence[ResponseChange]) -> tuple[_AttributedChange, ...]:
        new = (self._attributed_to(planned, change) for change in found[len(self._attributed) :])
        return (*self._refresh(found), *new)

    def _refresh(self, found: Sequence[ResponseChange]) -> Iterator[_AttributedChange]:
        """Yield what is attributed already, with the present values."""
        for each, change in zip(self._attributed, found, strict=False):
            is_same = each.source is change or each.source == change
            yield each if is_same else self._attributed_to(each.planned, change)

    def _attributed_to(self, planned: PlannedStep, change: ResponseChange) -> _AttributedChange:
        return _AttributedChange(change, planned, self._adapt(received_at(planned, change), planned))


def received_at(planned: PlannedStep, change: ResponseChange) -> ResponseChange:
    """Attribute a changed response to a step."""
    return change.model_copy(update={"subgoal": planned.subgoal.id, "sequence": planned.step.sequence})


def _message_of(change: ResponseChange) -> tuple[str, int, tuple[str, ...]]:
    return change.key, change.occurrence, tuple(each.part for each in change.what)
