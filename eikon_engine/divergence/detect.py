"""Run every detector over an action, in causal order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.detectors.accessibility import detect_accessibility
from eikon_engine.divergence.detectors.dom import detect_dom
from eikon_engine.divergence.detectors.lifecycle import detect_lifecycle
from eikon_engine.divergence.detectors.network import detect_network, detect_responses
from eikon_engine.divergence.detectors.pixels import detect_pixels
from eikon_engine.divergence.detectors.read import detect_read
from eikon_engine.divergence.detectors.result import detect_result
from eikon_engine.divergence.detectors.storage import detect_storage
from eikon_engine.divergence.detectors.value import detect_value
from eikon_engine.divergence.related_responses import explain_by_responses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.outcome.divergence import Divergence

DETECTORS: Final[tuple[Callable[[Comparison], Iterator[Divergence]], ...]] = (
    detect_network,
    detect_responses,
    detect_lifecycle,
    detect_result,
    detect_read,
    detect_value,
    detect_dom,
    detect_storage,
    detect_accessibility,
    detect_pixels,
)
"""One detector per file. A new one needs its file, a line here, a test, and a section in `docs/divergences.md`."""

_NEW_PAGE_ERROR: Final = "new-page-error"
"""Stands for `page-error-changed` where the recording has no error: a script that fails does not do the rest."""
_FETCH_FAILED: Final = "Failed to fetch"
"""Chromium's error of a script whose request failed; that request is the cause."""
CAUSAL_ORDER: Final[tuple[frozenset[str], ...]] = (
    frozenset({"environment"}),
    frozenset({"target"}),
    frozenset({"request-not-recorded"}),
    frozenset({"status-changed", "redirects-changed", "document-changed", "document-unexpected"}),
    frozenset({"response-failed"}),
    frozenset({"result"}),
    frozenset({"document-missing"}),
    frozenset({_NEW_PAGE_ERROR}),
    frozenset({"network"}),
    frozenset({"lifecycle"}),
    frozenset({"value"}),
    frozenset({"dom"}),
    frozenset({"storage"}),
    frozenset({"accessibility"}),
    frozenset({"pixels"}),
)
"""Codes and layers, causes before effects: the target is resolved before any request is sent, a document loads before
its subresources, then its scripts run and change its DOM, and its rendering comes last."""


def detect_divergences(comparison: Comparison) -> tuple[Divergence, ...]:
    """Return all divergences at one action, causes before consequences."""
    found = [divergence for detector in DETECTORS for divergence in detector(comparison)]
    return tuple(_with_explanation(comparison, divergence) for divergence in sorted(found, key=_causal_rank))


def _with_explanation(comparison: Comparison, divergence: Divergence) -> Divergence:
    """Attach the live responses that explain a divergence, unless its detector has done so."""
    gap = comparison.clock_gap if divergence.layer == "value" else None
    if gap is not None and (why := gap.explain(divergence.expected, divergence.observed)):
        return divergence.model_copy(update={"because": (why,)})
    if divergence.because or not comparison.response_changes:
        return divergence
    here = (comparison.position.subgoal, comparison.position.sequence)
    observed = "\n".join((divergence.observed, *map(str, divergence.candidates or ())))
    behind = explain_by_responses([(divergence.expected, observed)], comparison.response_changes, here)
    return divergence.model_copy(update={"because": behind})


def _causal_rank(divergence: Divergence) -> int:
    """Return the place of a divergence in the causal order."""
    is_new_error = divergence.code == "page-error-changed" and divergence.expected == "none"
    code = _NEW_PAGE_ERROR if is_new_error and _FETCH_FAILED not in divergence.observed else divergence.code
    for rank, codes in enumerate(CAUSAL_ORDER):
        if code in codes or divergence.layer in codes:
            return rank
    return len(CAUSAL_ORDER)
