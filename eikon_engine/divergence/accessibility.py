"""Accessibility: which elements a person, or an agent that reads the accessibility tree, can perceive at all.

Roles, names and states follow from the DOM, which is compared by itself. What the DOM does not tell is what style
sheets hide; what is not rendered is not in the accessibility tree:
https://www.w3.org/TR/core-aam-1.2/#exclude_elements2
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.dom_path import join, steps
from eikon_engine.divergence.roles import role_of, squeezed
from eikon_engine.trace.dom.tree import is_significant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.trace.dom.tree import DomNode, FrameSnapshot
    from eikon_engine.trace.observation import FrameObservation, PageObservation

SHOWN: Final = 20
"""Elements that are named in the evidence."""
_LONGEST: Final = 60


def detect_accessibility(comparison: Comparison) -> Iterator[Divergence]:
    """Compare which elements are hidden, in documents that are equal otherwise."""
    if comparison.recorded.observation is None or comparison.observed is None:
        return
    pages = {page.page: page for page in comparison.observed.pages}
    for page in comparison.recorded.observation.pages:
        now = pages.get(page.page)
        frames = {frame.path: frame for frame in now.frames} if now is not None else {}
        for frame in page.frames:
            other = frames.get(frame.path)
            if other is not None and _differ(frame, other):
                yield _difference(comparison, page, frame)


def _differ(recorded: FrameObservation, observed: FrameObservation) -> bool:
    known = recorded.visibility is not None and observed.visibility is not None
    return known and recorded.digest == observed.digest and recorded.visibility != observed.visibility


def _difference(comparison: Comparison, page: PageObservation, frame: FrameObservation) -> Divergence:
    hidden = dict(_hidden(comparison, page.page, frame.path, recorded=True))
    now = dict(_hidden(comparison, page.page, frame.path, recorded=False))
    gone = [text for place, text in now.items() if place not in hidden]
    come = [text for place, text in hidden.items() if place not in now]
    where = f" in frame {frame.path}" if frame.path else ""
    lines = [*(f"hidden now: {each}" for each in gone), *(f"shown now: {each}" for each in come)]
    first = (gone or come or ["other elements"])[0]
    return comparison.diverged(
        "accessibility",
        "visibility-changed",
        expected=f"{first} {'shown' if gone else 'hidden'}",
        observed=f"it is {'hidden' if gone else 'shown'}",
        message=f"{len(gone)} element(s) of page {page.page}{where} are hidden that were not, and {len(come)} shown.",
        detail="\n".join(lines[:SHOWN]),
    )


def _hidden(comparison: Comparison, page: int, path: str, *, recorded: bool) -> Iterator[tuple[int, str]]:
    """Yield the topmost hidden elements of a document, by number, as a person names them."""
    snapshot = (comparison.recorded_dom if recorded else comparison.observed_dom)(page)
    frame = next((each for each in snapshot.frames if each.path == path), None) if snapshot is not None else None
    return iter(()) if frame is None else hidden_elements(frame)


def hidden_elements(frame: FrameSnapshot) -> Iterator[tuple[int, str]]:
    """Yield the elements that are hidden while their parent is not, with their numbers in document order."""
    flips = set(frame.extras.flips or ())
    number = 0
    waiting: list[tuple[DomNode, str, bool]] = [(frame.root, steps((frame.root,))[0], True)]
    while waiting:
        node, path, parent_shown = waiting.pop()
        shown = parent_shown != (number in flips)
        if not node.is_text and parent_shown and not shown:
            yield number, _named(node, path)
        number += 1
        waiting.extend(reversed([(child, each, shown) for child, each in _below(node, path)]))


def _below(node: DomNode, path: str) -> Iterator[tuple[DomNode, str]]:
    """Yield the nodes below a node, a shadow root before the children of its host, with their paths."""
    for nodes, place in ((node.shadow or (), f"{path} > #shadow"), (node.children, path)):
        shown = tuple(each for each in nodes if is_significant(each))
        names = {id(each): name for each, name in zip(shown, steps(shown), strict=True)}
        for each in nodes:
            yield each, join(place, names.get(id(each), "text()"))


def _named(node: DomNode, path: str) -> str:
    words = squeezed(" ".join(each.text for each in node.walk() if each.text is not None))[:_LONGEST]
    return f"{role_of(node) or node.tag}{f' {words!r}' if words else ''} at {path}"
