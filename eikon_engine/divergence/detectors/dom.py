"""Detect DOM changes of every page by frame digest, and describe them with a diff."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.dom_diff import diff_snapshots, render_diff
from eikon_engine.divergence.related_responses import explain_by_responses
from eikon_engine.divergence.response_diff import ABSENT
from eikon_engine.files.text import pluralize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.divergence.dom_diff import DomChange
    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.trace.observation import PageObservation


def detect_dom(comparison: Comparison) -> Iterator[Divergence]:
    """Compare the digests of all frames, and describe differences using the stored snapshots."""
    if comparison.recorded.observation is None or comparison.observed is None:
        return
    observed = {page.page: page for page in comparison.observed.pages}
    for page in comparison.recorded.observation.pages:
        now = observed.get(page.page)
        if now is not None and _digests(page) != _digests(now):
            yield _make_divergence(comparison, page, now)


def _digests(page: PageObservation) -> tuple[tuple[str, str], ...]:
    return tuple((frame.path, frame.digest) for frame in page.frames)


def _make_divergence(comparison: Comparison, page: PageObservation, now: PageObservation) -> Divergence:
    before, after = comparison.recorded_dom(page.page), comparison.observed_dom(page.page)
    if before is None or after is None:
        return comparison.make_divergence(
            "dom",
            "dom-changed",
            expected=f"DOM digest {_short_digests(page)}",
            observed=f"DOM digest {_short_digests(now)}",
            message=f"The DOM of page {page.page} differs; no snapshot was stored to show the difference.",
        )
    changes = diff_snapshots(before, after)
    if not changes:
        return comparison.make_divergence(
            "dom",
            "dom-changed",
            expected=f"{pluralize(len(page.frames), 'frame')}, digest {_short_digests(page)}",
            observed=f"{pluralize(len(now.frames), 'frame')}, digest {_short_digests(now)}",
            message=f"Page {page.page} has different frames.",
        )
    first = changes[0]
    more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
    finding = comparison.make_divergence(
        "dom",
        "dom-changed",
        expected=_describe_side(first, first.expected),
        observed=_describe_side(first, first.observed),
        message=f"The DOM of page {page.page} differs in {pluralize(len(changes), 'place')}: "
        f"{first.kind} at {first.path}{more}.",
        detail=render_diff(changes),
    )
    texts = [(_whole_side(change, 0), _whole_side(change, 1)) for change in changes]
    here = (comparison.position.subgoal, comparison.position.sequence)
    because = explain_by_responses(texts, comparison.response_changes, here)
    return finding.model_copy(update={"because": (*_clock_reasons(comparison, texts), *because)})


def _clock_reasons(comparison: Comparison, texts: list[tuple[str, str]]) -> tuple[str, ...]:
    """Return why texts differ that show by how much a page is behind its server; once."""
    gap = comparison.clock_gap
    reasons = () if gap is None else filter(None, (gap.explain(*pair) for pair in texts))
    return tuple(dict.fromkeys(reasons))


def _whole_side(change: DomChange, side: int) -> str:
    """Return all that is known of one side of a change, with the name of an attribute or state; empty if absent."""
    value = change.whole[side]
    return "" if value == ABSENT else f"{change.name} {value}".strip()


_DIGEST: Final = re.compile("[0-9a-f]{16}")
"""What is stored of a script without data."""


def _describe_side(change: DomChange, value: str) -> str:
    """Describe one side of a change so that it is readable on its own."""
    element = change.path.rpartition(" > ")[2]
    match change.kind:
        case "state" if change.name == "script" and _DIGEST.fullmatch(value):
            return f"{element} with {'the recorded' if value == change.expected else 'another'} text"
        case "state" if change.name == "script" and value != ABSENT:
            return f"{element} with text {value!r}"
        case "attribute" | "state" if value == ABSENT:
            return f"{element} without {change.name}"
        case "attribute" | "state":
            return f"{element} with {change.name}" + (f" {value!r}" if value not in {"", "true"} else "")
        case _:
            return "nothing" if value == ABSENT else value or "(empty)"


def _short_digests(page: PageObservation) -> str:
    return " ".join(frame.digest[:12] for frame in page.frames) or "(no frames)"
