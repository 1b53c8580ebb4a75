"""The result of one replay, with its snapshots."""

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
"""Id of the subgoal attempt, and sequence within it."""
PageKey: TypeAlias = tuple[tuple[str, str], ...]
"""Path and digest of each frame; identical pages share one key."""
Snapshots: TypeAlias = Mapping[PageKey, "PageSnapshot"]
"""Snapshots of observed pages by key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HitElements:
    """The elements that an action hit."""

    first: Identity | None = None
    second: Identity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedRun:
    """One completed replay."""

    outcome: ReplayOutcome
    hits: Mapping[ActionKey, HitElements] = field(default_factory=dict)
    snapshots: Snapshots = field(default_factory=dict)


class RunMany(Protocol):
    """Replay a bundle several times, each in a fresh session."""

    async def __call__(self, bundle: Bundle, runs: int) -> tuple[ReplayedRun, ...]:
        """Return the result of each run; a divergence is not an error."""


def page_key(page: PageObservation) -> PageKey:
    """Return the key of an observed page."""
    return tuple((frame.path, frame.digest) for frame in page.frames)
