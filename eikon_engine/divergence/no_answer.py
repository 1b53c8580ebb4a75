"""Find live requests that got no response although the recording has one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.outcome.outcomes import ResponseChange, ValueChange
    from eikon_engine.trace.observation import DocumentLoad


def describe_missing_response(change: ResponseChange, value: ValueChange) -> str | None:
    """Describe a request that got no response, with the browser's error; None if it got one."""
    if value.part != "ending" or not value.live.startswith("net::"):
        return None
    return f"{change.key} got no response: {value.live}"


def describe_missing_document(load: DocumentLoad, comparison: Comparison) -> str | None:
    """Describe the request for a recorded document that got no response in the compared action; None if all did."""
    urls = {url.partition("#")[0] for url in (load.url, *(hop.url for hop in load.hops))}
    place = comparison.position
    for change in comparison.response_changes:
        is_here = (change.subgoal, change.sequence) == (place.subgoal, place.sequence)
        if not is_here or change.key.split(" ")[1] not in urls:
            continue
        for value in change.what:
            reason = describe_missing_response(change, value)
            if reason is not None:
                return reason
    return None
