"""Detect requests that are not recorded, missing, unexpected or out of order."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.related_responses import describe_change
from eikon_engine.divergence.response_diff import ENDING_PARTS, FIRST_ERROR_STATUS
from eikon_engine.files.origins import split_url
from eikon_engine.files.text import pluralize, read_digits
from eikon_engine.network.exchange import PASSIVE_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.outcome.outcomes import NetworkMiss


def detect_network(comparison: Comparison) -> Iterator[Divergence]:
    """Compare the requests of an action with the recorded ones."""
    before = comparison.recorded.observation
    missed: Counter[str] = Counter()
    for miss in _new_misses(comparison):
        missed[miss.key] += 1
        yield comparison.make_divergence(
            "network",
            "request-not-recorded",
            expected=f"{miss.nearest} (nearest recorded request)" if miss.nearest else "no such request",
            observed=miss.key,
            message=f"The page sent a request without a recorded response; it was blocked ({miss.reason}).",
            detail="\n".join(miss.describe_differences()),
        )
    for key in comparison.unsent_requests:
        yield comparison.make_divergence(
            "network",
            "request-missing",
            expected=key,
            observed="no such request",
            message="The page did not send a request that it sent in the recording because of an action.",
        )
    if comparison.observed is None or before is None:
        return
    yield from _detect_requests(comparison, Counter(before.requests), Counter(comparison.observed.requests), missed)
    yield from _detect_order(comparison, before.writes, comparison.observed.writes)


def _detect_requests(
    comparison: Comparison, recorded: Counter[str], observed: Counter[str], missed: Counter[str]
) -> Iterator[Divergence]:
    missing = recorded - Counter(comparison.optional_requests) - observed
    extra = observed - recorded - missed - Counter(comparison.known_requests)
    for changed in comparison.changed_requests:
        if changed.is_same_resource and missing[changed.nearest] > 0 and extra[changed.key] > 0:
            missing[changed.nearest] -= 1
            extra[changed.key] -= 1
            yield _changed_request(comparison, changed)
    for key, count in sorted((+missing).items()):
        yield comparison.make_divergence(
            "network",
            "request-missing",
            expected=f"{key} ({recorded[key]} times)" if recorded[key] > 1 else key,
            observed=pluralize(observed[key], "time") if observed[key] else "no such request",
            message=f"The page did not send a recorded request ({count} missing).",
        )
    for key, count in sorted((+extra).items()):
        yield comparison.make_divergence(
            "network",
            "request-unexpected",
            expected=pluralize(recorded[key], "time") if recorded[key] else "no such request",
            observed=f"{key} ({observed[key]} times)" if observed[key] > 1 else key,
            message=f"The page sent a request that the recording does not have at this step ({count} extra).",
        )


def _changed_request(comparison: Comparison, changed: NetworkMiss) -> Divergence:
    """Report a request that was sent with other values; its keys may show only digests of them."""
    sides = zip(*((each.recorded_text, each.sent_text) for each in changed.differences), strict=True)
    expected, observed = (", ".join(texts) for texts in sides)
    request = " ".join(changed.nearest.split(" ")[:2])
    return comparison.make_divergence(
        "network",
        "request-changed",
        expected=f"{request} with {expected}",
        observed=f"{request} with {observed}",
        message="The page sent a recorded request with other values.",
        detail="\n".join(changed.describe_differences()),
    )


def detect_responses(comparison: Comparison) -> Iterator[Divergence]:
    """Find responses to this action that are errors now but were not in the recording, or vice versa.

    Other response differences only explain divergences. Failed documents are reported by the lifecycle detector.
    """
    place = comparison.position
    here = (place.subgoal, place.sequence)
    documents = _compared_documents(comparison)
    for change in comparison.response_changes:
        url = change.key.split(" ")[1]
        is_here = (change.subgoal, change.sequence) == here
        if not is_here or url in documents or split_url(url).path.endswith("/favicon.ico"):
            continue
        for value in change.what:
            if value.part in ENDING_PARTS and _is_error(value.recorded) != _is_error(value.live):
                found = comparison.make_divergence(
                    "network",
                    "resource-failed" if change.resource_type in _OPTIONAL_TYPES else "response-failed",
                    expected=f"{change.key} with {_describe_ending(value.recorded)}",
                    observed=f"{change.key} with {_describe_ending(value.live)}",
                    message=f"A request ended with {_describe_ending(value.live)} instead of "
                    f"{_describe_ending(value.recorded)}.",
                )
                yield found.model_copy(update={"because": (describe_change(change, value, here),)})


def _compared_documents(comparison: Comparison) -> set[str]:
    """Return the URLs of the documents that the lifecycle detector compares, those of their redirects included."""
    before, now = comparison.recorded.observation, comparison.observed
    loads = [each for pair in comparison.paired_documents for each in pair]
    if before is not None and now is not None:
        loads += (*before.documents, *now.documents)
    urls = [url for load in loads for url in (load.url, *(hop.url for hop in load.hops))]
    return {url.partition("#")[0] for url in urls}


_OPTIONAL_TYPES: Final = PASSIVE_TYPES | {"other", "ping"}
"""Types of resources on which pages seldom depend."""


def _is_error(ending: str) -> bool:
    """Return whether a request ended with an error: a status of 400 or more, or a failure of the network."""
    status = ending.removeprefix("status ")
    return not status.isdecimal() or read_digits(status) >= FIRST_ERROR_STATUS


def _describe_ending(ending: str) -> str:
    return f"status {ending}" if ending.isdecimal() else ending


def _new_misses(comparison: Comparison) -> Iterator[NetworkMiss]:
    """Yield the misses that are new: a request that was blocked in the recording as well is not reported."""
    before = comparison.recorded.observation
    blocked = Counter(() if before is None else before.unanswered)
    for miss in comparison.misses:
        if blocked[miss.key] > 0:
            blocked[miss.key] -= 1
        else:
            yield miss


def _detect_order(
    comparison: Comparison, recorded: tuple[str, ...] | None, observed: tuple[str, ...] | None
) -> Iterator[Divergence]:
    """Compare the order of state-changing requests; the order of other requests varies between equal runs."""
    if not comparison.is_sealed or recorded is None or observed is None or Counter(recorded) != Counter(observed):
        return
    for place, (before, after) in enumerate(zip(recorded, observed, strict=True), start=1):
        if before != after:
            yield comparison.make_divergence(
                "network",
                "request-order-changed",
                expected=f"{before} as request {place} of {len(recorded)}",
                observed=f"{after} instead",
                message="The page sent its state-changing requests in a different order.",
                detail="\n".join(f"{number}. {key}" for number, key in enumerate(observed, start=1)),
            )
            return
