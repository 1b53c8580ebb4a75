"""Detect elements that became hidden or visible in the accessibility tree.

Roles, names and states follow from the DOM, which is compared separately. Style sheets can also hide elements, and
elements that are not rendered are not in the accessibility tree:
https://www.w3.org/TR/core-aam-1.2/#exclude_elements2
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.dom_diff import diff_snapshots
from eikon_engine.dom.paths import append_step, sibling_steps
from eikon_engine.dom.roles import collapse_whitespace, role_of
from eikon_engine.dom.tree import DomNode, PageSnapshot, is_significant
from eikon_engine.files.text import pluralize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.dom.tree import FrameSnapshot
    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.trace.observation import FrameObservation, PageObservation

MAX_LISTED_ELEMENTS: Final = 20
"""Maximum number of elements listed in the evidence."""
_HIDDEN: Final = "hidden"
_MAX_TEXT_LENGTH: Final = 60
_SEPARATOR: Final = " > "


def detect_accessibility(comparison: Comparison) -> Iterator[Divergence]:
    """Compare the visibility of the elements that both documents have."""
    if comparison.recorded.observation is None or comparison.observed is None:
        return
    pages = {page.page: page for page in comparison.observed.pages}
    for page in comparison.recorded.observation.pages:
        now = pages.get(page.page)
        frames = {frame.path: frame for frame in now.frames} if now is not None else {}
        for frame in page.frames:
            other = frames.get(frame.path)
            if other is not None and _is_visibility_different(frame, other):
                yield from _differences(comparison, page, (frame, other))


def _is_visibility_different(recorded: FrameObservation, observed: FrameObservation) -> bool:
    known = recorded.visibility is not None and observed.visibility is not None
    return known and recorded.visibility != observed.visibility


def _differences(
    comparison: Comparison, page: PageObservation, pair: tuple[FrameObservation, FrameObservation]
) -> Iterator[Divergence]:
    recorded = _document(comparison.recorded_dom(page.page), pair[0].path)
    observed = _document(comparison.observed_dom(page.page), pair[0].path)
    if recorded is None or observed is None:
        if pair[0].digest == pair[1].digest:  # otherwise the DOM divergence is reported, and nothing more is known
            yield _divergence(comparison, page, pair[0].path, [], [])
        return
    gone, appeared = visibility_changes(recorded, observed)
    if gone or appeared:
        yield _divergence(comparison, page, pair[0].path, gone, appeared)


def _document(page: PageSnapshot | None, path: str) -> FrameSnapshot | None:
    return next((each for each in page.frames if each.path == path), None) if page is not None else None


def _divergence(
    comparison: Comparison, page: PageObservation, path: str, hidden: list[str], shown: list[str]
) -> Divergence:
    where = f" in frame {path}" if path else ""
    lines = [*(f"now hidden: {each}" for each in hidden), *(f"now visible: {each}" for each in shown)]
    first = (hidden or shown or ["the recorded elements"])[0]
    return comparison.make_divergence(
        "accessibility",
        "visibility-changed",
        expected=f"{first} {'hidden' if shown and not hidden else 'visible'}",
        observed=("visible" if shown and not hidden else "hidden") if hidden or shown else "different elements visible",
        message=f"On page {page.page}{where}, {_summarize(hidden, shown)}.",
        detail="\n".join(lines[:MAX_LISTED_ELEMENTS]),
    )


def _summarize(gone: list[str], appeared: list[str]) -> str:
    hidden = f"{pluralize(len(gone), 'element')} {'is' if len(gone) == 1 else 'are'} now hidden"
    shown = f"{pluralize(len(appeared), 'element')} {'is' if len(appeared) == 1 else 'are'} now visible"
    return (
        " and ".join(each for each, found in ((hidden, gone), (shown, appeared)) if found) or "visibility has changed"
    )


def visibility_changes(recorded: FrameSnapshot, observed: FrameSnapshot) -> tuple[list[str], list[str]]:
    """Return the outermost elements that became hidden, and those that became visible."""
    before, after = (with_hidden_states(PageSnapshot(frames=(each,))) for each in (recorded, observed))
    changes = [each for each in diff_snapshots(before, after) if (each.kind, each.name) == ("state", _HIDDEN)]
    gone = _outermost([each.path for each in changes if each.observed == "true"])
    appeared = _outermost([each.path for each in changes if each.expected == "true"])
    names = dict(_describe_paths(recorded, {*gone, *appeared}))
    return [names.get(path, path) for path in gone], [names.get(path, path) for path in appeared]


def _outermost(paths: list[str]) -> list[str]:
    found: list[str] = []
    for path in paths:
        if not any(path.startswith(f"{each}{_SEPARATOR}") for each in found):
            found.append(path)
    return found


def with_hidden_states(page: PageSnapshot) -> PageSnapshot:
    """Return a page with the state `hidden` on every hidden element, so that a diff finds visibility as well."""
    return PageSnapshot(frames=tuple(replace(each, root=_with_hidden_state(each)) for each in page.frames))


def _with_hidden_state(frame: FrameSnapshot) -> DomNode:
    flips = set(frame.extras.flips or ())
    nodes: list[tuple[DomNode, bool]] = []
    waiting = [(frame.root, True)]
    while waiting:
        node, parent_shown = waiting.pop()
        shown = parent_shown != (len(nodes) in flips)
        nodes.append((node, shown))
        waiting.extend((each, shown) for each in reversed((*(node.shadow or ()), *node.children)))
    built: list[DomNode] = []
    for node, shown in reversed(nodes):
        shadow = tuple(built.pop() for _ in node.shadow or ())
        children = tuple(built.pop() for _ in node.children)
        state = node.state if shown or node.is_text else (*node.state, (_HIDDEN, True))
        built.append(replace(node, state=state, children=children, shadow=None if node.shadow is None else shadow))
    return built[0]


def _describe_paths(frame: FrameSnapshot, paths: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the path and a readable description of the elements at some paths."""
    waiting: list[tuple[DomNode, str]] = [(frame.root, sibling_steps((frame.root,))[0])]
    while waiting:
        node, path = waiting.pop()
        if path in paths and not node.is_text:
            yield path, _describe_element(node, path)
        waiting.extend(_child_paths(node, path))


def _child_paths(node: DomNode, path: str) -> Iterator[tuple[DomNode, str]]:
    for nodes, place in ((node.shadow or (), f"{path}{_SEPARATOR}#shadow"), (node.children, path)):
        shown = tuple(each for each in nodes if is_significant(each))
        yield from ((each, append_step(place, step)) for each, step in zip(shown, sibling_steps(shown), strict=True))


def _describe_element(node: DomNode, path: str) -> str:
    words = collapse_whitespace(" ".join(each.text for each in node.walk() if each.text is not None))[:_MAX_TEXT_LENGTH]
    return f"{role_of(node) or node.tag}{f' {words!r}' if words else ''} at {path}"
