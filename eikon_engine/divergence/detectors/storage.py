"""Detect different cookies and storage items after an action; later actions and visits depend on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.trace.observation import Observation, StoredItem

_Key: TypeAlias = "tuple[str, str, int, str]"
_ITEM_NAMES = {"cookie": "cookie", "local": "localStorage item", "session": "sessionStorage item"}


def detect_storage(comparison: Comparison) -> Iterator[Divergence]:
    """Compare names, and values that do not depend on time; items that expire soon are ignored."""
    before, after = comparison.recorded.observation, comparison.observed
    if not comparison.is_sealed or before is None or after is None:
        return
    if before.storage is None or after.storage is None or before.storage == after.storage:
        return
    recorded, observed = _by_name(before), _by_name(after)
    brief = {_key(each) for each in (*before.storage, *after.storage) if each.is_brief}
    for key in sorted((recorded.keys() | observed.keys()) - brief):
        then, now = recorded.get(key), observed.get(key)
        if then is None or now is None:
            code = "storage-missing" if now is None else "storage-unexpected"
            message = "is missing" if now is None else "is not in the recording"
        elif then.digest != now.digest and comparison.compares_stored_values:
            code, message = "storage-changed", "has a different value"
        else:
            continue
        yield comparison.make_divergence(
            "storage",
            code,
            expected=_item_with_digest(then),
            observed=_item_with_digest(now),
            message=f"The {_describe_item(recorded.get(key) or observed[key])} {message}.",
        )


def _by_name(observation: Observation) -> dict[_Key, StoredItem]:
    return {_key(each): each for each in observation.storage or ()}


def _key(item: StoredItem) -> _Key:
    return item.kind, item.place, -1 if item.page is None else item.page, item.name


def _describe_item(item: StoredItem) -> str:
    page = "" if item.page is None else f", page {item.page}"
    return f"{_ITEM_NAMES[item.kind]} {item.name!r} of {item.place}{page}"


def _item_with_digest(item: StoredItem | None) -> str:
    return "nothing" if item is None else f"{item.kind} {item.name!r} (value SHA-256 {item.digest[:12]})"
