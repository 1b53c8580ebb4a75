"""What one replay showed, with the documents behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from eikon_engine.outcome.outcomes import ReplayOutcome
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.dom import PageSnapshot
    from eikon_engine.trace.observation import PageObservation
    from eikon_engine.trace.target import Identity

ActionKey: TypeAlias = tuple[str, int]
"""Id of the subgoal attempt, and sequence in it."""
PageKey: TypeAlias = tuple[tuple[str, str], ...]
"""Path and digest of each frame: equal pages are kept once."""
Gallery: TypeAlias = Mapping[PageKey, "PageSnapshot"]
"""Snapshots of observed pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """The elements an action hit."""

    first: Identity | None = None
    second: Identity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSeen:
    """One replay that came to its end."""

    outcome: ReplayOutcome
    hits: Mapping[ActionKey, Hit] = field(default_factory=dict)
    gallery: Gallery = field(default_factory=dict)


class RunMany(Protocol):
    """Replay a bundle some times, each time in a fresh session; how is for the implementation to choose."""

    async def __call__(self, bundle: Bundle, runs: int) -> tuple[RunSeen, ...]:
        """Return what each run showed; a divergence is no error."""


def page_key(page: PageObservation) -> PageKey:
    """Name an observed page by what it shows."""
    return tuple((frame.path, frame.digest) for frame in page.frames)
