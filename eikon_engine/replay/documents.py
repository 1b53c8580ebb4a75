"""Compare what is known of steps without a baseline: the documents that were loaded.

The recorder of an agent does not wait for its pages, so a document may belong to a later step than in a replay, which
does wait. A replay may also load a document that the agent left before it arrived. What remains is the order in which
each page loaded the documents that both have requested.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from eikon_engine.divergence.response_diff import FIRST_ERROR_STATUS
from eikon_engine.trace.execution import ActionTrace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eikon_engine.replay.plan import Plan
    from eikon_engine.trace.observation import DocumentLoad, Observation

_Pair: TypeAlias = "tuple[DocumentLoad, DocumentLoad]"


@dataclass(frozen=True, slots=True)
class _Unpaired:
    """Documents of one page after the last pair."""

    recorded: tuple[DocumentLoad, ...] = ()
    observed: tuple[DocumentLoad, ...] = ()


class DocumentComparer:
    """Pairs the documents of a recording with those of one replay, step by step; mutable."""

    def __init__(self, plan: Plan) -> None:
        """Start before the first step of a plan."""
        steps = [each.step for subgoal in plan.subgoals for each in subgoal.steps]
        seen = [each.observation for each in steps if isinstance(each, ActionTrace) and each.observation is not None]
        self._recorded_urls = frozenset(_requested_url(load) for each in seen for load in each.documents)
        self._unpaired: defaultdict[int, _Unpaired] = defaultdict(_Unpaired)
        """By page."""

    def pair_documents(self, recorded: ActionTrace, observed: Observation | None) -> tuple[_Pair, ...]:
        """Return the documents that recording and replay have both loaded by the end of this step, and not before it.

        There are none if the step has a baseline, with which everything is compared.
        """
        if recorded.baseline is not None or recorded.observation is None or observed is None:
            return ()
        return tuple(pair for _, pairs, _ in self._pair_by_page(recorded, observed) for pair in pairs)

    def end_step(self, recorded: ActionTrace, observed: Observation | None) -> None:
        """Note what a step loaded."""
        for page, _, unpaired in tuple(self._pair_by_page(recorded, observed)):
            self._unpaired[page] = unpaired

    def _pair_by_page(
        self, recorded: ActionTrace, observed: Observation | None
    ) -> Iterator[tuple[int, list[_Pair], _Unpaired]]:
        """Yield each page that loaded documents in a step, with its new pairs and what is not paired yet."""
        before = recorded.observation.documents if recorded.observation is not None else ()
        now = observed.documents if observed is not None else ()
        for page in dict.fromkeys(each.page for each in (*before, *now)):
            earlier = self._unpaired[page]
            own = tuple(each for each in now if each.page == page)
            documents = _Unpaired(
                (*earlier.recorded, *(each for each in before if each.page == page)), (*earlier.observed, *own)
            )
            yield page, *self._pair(documents, own)

    def _pair(self, documents: _Unpaired, own: Sequence[DocumentLoad]) -> tuple[list[_Pair], _Unpaired]:
        """Pair the documents of one page in order; `own` are those that the replay loaded in this step.

        What only one side has loaded is skipped as soon as a later document is paired.
        """
        pairs: list[_Pair] = []
        left = documents
        for place, load in enumerate(documents.recorded):
            found = _find_request(load, left.observed)
            if found is None:
                continue
            skipped = len(documents.recorded) - len(left.recorded)
            pairs += self._pair_others(left.recorded[: place - skipped], left.observed[:found], own)
            pairs.append((load, left.observed[found]))
            left = _Unpaired(documents.recorded[place + 1 :], left.observed[found + 1 :])
        if others := self._pair_others(left.recorded, left.observed, own):
            pairs += others
            last = next(place for place, each in enumerate(left.observed) if each is others[-1][1])
            left = _Unpaired(left.recorded[len(others) :], left.observed[last + 1 :])
        return pairs, left

    def _pair_others(
        self, recorded: Sequence[DocumentLoad], observed: Sequence[DocumentLoad], own: Sequence[DocumentLoad]
    ) -> list[_Pair]:
        """Pair recorded documents that were not loaded with those that were loaded in their place.

        Those are the documents of this step, and errors, that the recording has nowhere.
        """
        new = [
            each
            for each in observed
            if _requested_url(each) not in self._recorded_urls
            and (any(each is load for load in own) or (each.status or 0) >= FIRST_ERROR_STATUS)
        ]
        return list(zip(recorded, new, strict=False))


def _requested_url(load: DocumentLoad) -> str:
    """Return the URL that a page requested, from which redirects may have led to the document."""
    return (load.hops[0].url if load.hops else load.url).partition("#")[0]


def _find_request(load: DocumentLoad, among: Sequence[DocumentLoad]) -> int | None:
    """Return the position of the first document that was requested by the same URL."""
    url = _requested_url(load)
    return next((place for place, each in enumerate(among) if _requested_url(each) == url), None)
