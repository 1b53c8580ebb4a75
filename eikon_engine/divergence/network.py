"""Network: the requests an action issued, against those it issued when it was recorded."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.outcome.outcomes import NetworkMiss


def detect_network(comparison: Comparison) -> Iterator[Divergence]:
    """Find requests without a recorded answer, and requests that are missing or too many."""
    before = comparison.recorded.observation
    missed: Counter[str] = Counter()
    for miss in _new_misses(comparison):
        missed[miss.key] += 1
        yield comparison.diverged(
            "network",
            "request-not-recorded",
            expected=f"a recorded request, nearest {miss.nearest}" if miss.nearest else "no such request",
            observed=miss.key,
            message=f"The page asked for something the recording has no answer to ({miss.reason}); it was blocked.",
            detail="\n".join(miss.differences),
        )
    if comparison.observed is None or before is None:
        return
    recorded = Counter(before.requests)
    observed = Counter(comparison.observed.requests)
    for key, count in sorted((recorded - observed).items()):
        yield comparison.diverged(
            "network",
            "request-missing",
            expected=f"{key} ({recorded[key]} times)" if recorded[key] > 1 else key,
            observed=f"{observed[key]} times" if observed[key] else "no such request",
            message=f"A request of the recording was not made ({count} missing).",
        )
    for key, count in sorted((observed - recorded - missed).items()):
        yield comparison.diverged(
            "network",
            "request-unexpected",
            expected=f"{recorded[key]} times" if recorded[key] else "no such request",
            observed=f"{key} ({observed[key]} times)" if observed[key] > 1 else key,
            message=f"The page made a request that the recording does not have here ({count} too many).",
        )
    yield from _order(comparison, before.writes, comparison.observed.writes)


def _new_misses(comparison: Comparison) -> Iterator[NetworkMiss]:
    """Yield what has no answer now alone: a request that was blocked when the step was recorded is blocked again."""
    before = comparison.recorded.observation
    blocked = Counter(() if before is None else before.unanswered)
    for miss in comparison.misses:
        if blocked[miss.key] > 0:
            blocked[miss.key] -= 1
        else:
            yield miss


def _order(
    comparison: Comparison, recorded: tuple[str, ...] | None, observed: tuple[str, ...] | None
) -> Iterator[Divergence]:
    """Compare in which order a page sent what changes something; others than these overtake each other."""
    if not comparison.is_sealed or recorded is None or observed is None or Counter(recorded) != Counter(observed):
        return
    for place, (before, after) in enumerate(zip(recorded, observed, strict=True), start=1):
        if before != after:
            yield comparison.diverged(
                "network",
                "request-order-changed",
                expected=f"{before} as number {place} of {len(recorded)}",
                observed=f"{after} in its place",
                message="The page sent what changes something in another order.",
                detail="\n".join(f"{number}. {key}" for number, key in enumerate(observed, start=1)),
            )
            return
