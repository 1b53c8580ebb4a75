"""Requests of a live site that got no answer, where one was recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.outcome.outcomes import ResponseChange, ValueChange
    from eikon_engine.trace.observation import DocumentLoad


def no_answer(change: ResponseChange, value: ValueChange) -> str | None:
    """Say that a request got no answer, with the browser's word for it; None if it did."""
    if value.part != "ending" or not value.live.startswith("net::"):
        return None
    return f"{change.key} got no answer: {value.live}"


def no_answer_for(load: DocumentLoad, comparison: Comparison) -> str | None:
    """Say which request that led to a recorded document got no answer in the action that is compared; None if none."""
    urls = {url.partition("#")[0] for url in (load.url, *(hop.url for hop in load.hops))}
    place = comparison.place
    for change in comparison.response_changes:
        is_here = (change.subgoal, change.sequence) == (place.subgoal, place.sequence)
        if not is_here or change.key.split(" ")[1] not in urls:
            continue
        for value in change.what:
            said = no_answer(change, value)
            if said is not None:
                return said
    return None
