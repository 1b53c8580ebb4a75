"""Exclude masked requests, cookies and storage items from a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.trace.mask import RequestPart, StoragePart

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eikon_engine.outcome.outcomes import NetworkMiss, ResponseChange
    from eikon_engine.trace.mask import Mask
    from eikon_engine.trace.observation import Observation


def remove_masked_requests(
    sides: tuple[Observation, Observation], misses: tuple[NetworkMiss, ...], masks: Sequence[Mask], names: set[str]
) -> tuple[Observation, Observation, tuple[NetworkMiss, ...]]:
    """Remove masked requests from both sides if they differ, and from the requests without a recorded response.

    The names of the masks that matched are added to `names`.
    """
    parts = [(mask.name, mask.part) for mask in masks if isinstance(mask.part, RequestPart)]
    before, after = sides
    if not parts or (before.requests == after.requests and before.writes == after.writes and not misses):
        return before, after, misses

    def is_compared(key: str) -> bool:
        found = {name for name, part in parts if part.matches(key)}
        names.update(found)
        return not found

    def compared(side: Observation) -> Observation:
        writes = None if side.writes is None else tuple(filter(is_compared, side.writes))
        return side.model_copy(update={"requests": tuple(filter(is_compared, side.requests)), "writes": writes})

    left, right = compared(before), compared(after)
    return left, right, tuple(miss for miss in misses if is_compared(miss.key))


def unmasked_misses(misses: tuple[NetworkMiss, ...], masks: Sequence[Mask]) -> tuple[NetworkMiss, ...]:
    """Return the requests without a recorded response that no mask matches."""
    parts = [mask.part for mask in masks if isinstance(mask.part, RequestPart)]
    return tuple(miss for miss in misses if not any(part.matches(miss.key) for part in parts))


def unmasked_keys(keys: Iterable[str], masks: Sequence[Mask]) -> tuple[str, ...]:
    """Return the request keys that no mask matches."""
    parts = [mask.part for mask in masks if isinstance(mask.part, RequestPart)]
    return tuple(key for key in keys if not any(part.matches(key) for part in parts))


def unmasked_changes(changes: Iterable[ResponseChange], masks: Sequence[Mask]) -> tuple[ResponseChange, ...]:
    """Return the changed responses to requests that no mask matches."""
    parts = [mask.part for mask in masks if isinstance(mask.part, RequestPart)]
    return tuple(change for change in changes if not any(part.matches(change.key) for part in parts))


def remove_masked_storage(observation: Observation, masks: Sequence[Mask], names: set[str]) -> Observation:
    """Remove masked cookies and storage items; add the names of the masks that matched to `names`."""
    parts = [(mask.name, mask.part) for mask in masks if isinstance(mask.part, StoragePart)]
    if not parts or observation.storage is None:
        return observation
    kept = []
    for item in observation.storage:
        found = {name for name, part in parts if part.matches(item.name)}
        names |= found
        if not found:
            kept.append(item)
    return observation.model_copy(update={"storage": tuple(kept)})
