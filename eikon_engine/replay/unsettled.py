"""Compare what is known of steps without a baseline: the documents that were loaded.

The recorder of an agent does not wait for its pages, so a document may belong to a later step than in a replay, which
does wait. What remains is the order in which each page loaded its documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eikon_engine.trace.execution import ActionTrace
    from eikon_engine.trace.observation import DocumentLoad, Observation


class UnsettledComparer:
    """Pairs the documents of a recording with those of one replay, step by step; mutable."""

    def __init__(self) -> None:
        """Start before the first step."""
        self._recorded: list[DocumentLoad] = []
        self._observed: list[DocumentLoad] = []

    def pair_documents(
        self, recorded: ActionTrace, observed: Observation | None
    ) -> tuple[tuple[DocumentLoad, DocumentLoad], ...]:
        """Return the documents that recording and replay have both loaded by the end of this step, and not before it.

        There are none if the step has a baseline, with which everything is compared.
        """
        if recorded.baseline is not None or recorded.observation is None or observed is None:
            return ()
        before = _pair_by_page(self._recorded, self._observed)
        now = _pair_by_page((*self._recorded, *recorded.observation.documents), (*self._observed, *observed.documents))
        return tuple(pair for page, pairs in now.items() for pair in pairs[len(before.get(page, ())) :])

    def end_step(self, recorded: ActionTrace, observed: Observation | None) -> None:
        """Note what a step loaded."""
        self._recorded += recorded.observation.documents if recorded.observation is not None else ()
        self._observed += observed.documents if observed is not None else ()


def _pair_by_page(
    recorded: Sequence[DocumentLoad], observed: Sequence[DocumentLoad]
) -> dict[int, list[tuple[DocumentLoad, DocumentLoad]]]:
    """Return, for each page, the documents that both have loaded, in the order they were loaded."""
    pages = dict.fromkeys(each.page for each in recorded)
    return {
        page: list(
            zip(
                (each for each in recorded if each.page == page),
                (each for each in observed if each.page == page),
                strict=False,
            )
        )
        for page in pages
    }
