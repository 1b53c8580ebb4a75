"""Remove what the masks of a trace name from both sides of a comparison, before the detectors run.

Only pages that differ are masked: if digests are equal, everything was compared and no coverage is lost.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from eikon_engine.divergence.cut_extras import renumber_extras
from eikon_engine.divergence.masked_requests import remove_masked_requests, remove_masked_storage
from eikon_engine.divergence.selected import NodeRoute, select_nodes
from eikon_engine.trace.dom.digest import frame_digest, visibility_digest
from eikon_engine.trace.dom.tree import DomNode, PageSnapshot, child_frame_path, is_significant
from eikon_engine.trace.mask import (
    ANY_DEPTH,
    SHADOW_ROOT,
    TEXT_NODE,
    AttributePart,
    ConsoleErrorPart,
    NodePart,
    PathStep,
    SelectorPart,
    SiblingPosition,
    SubtreePart,
    TextPart,
    TitlePart,
    ValuePart,
    parse_path,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.divergence.cut_extras import NodeSlot
    from eikon_engine.trace.dom.tree import FrameSnapshot
    from eikon_engine.trace.mask import Mask
    from eikon_engine.trace.observation import Observation, PageObservation

_PendingPath: TypeAlias = "tuple[Mask, tuple[PathStep, ...]]"
_PATH_PARTS: Final = (TextPart, AttributePart, ValuePart, SubtreePart)
_NODE_PARTS: Final = (*_PATH_PARTS, SelectorPart)


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedComparison:
    """A comparison without the masked parts."""

    comparison: Comparison
    names: tuple[str, ...] = ()
    """Names of the masks that hid a part of a side that differs, in the order of the trace."""


@dataclass(slots=True)
class _MaskState:
    """The masks that matched so far, and the masked snapshots."""

    names: set[str] = field(default_factory=set)
    snapshots: dict[Literal["recorded", "observed"], dict[int, PageSnapshot]] = field(
        default_factory=lambda: {"recorded": {}, "observed": {}}
    )


def apply_masks(comparison: Comparison, masks: tuple[Mask, ...]) -> MaskedComparison:
    """Remove the masked parts from both sides wherever the sides differ."""
    recorded, observed = comparison.recorded.observation, comparison.observed
    if not masks or recorded is None or observed is None:
        return MaskedComparison(comparison=comparison)
    hidden = _MaskState()
    recorded, observed = _without_pages(comparison, (recorded, observed), masks, hidden)
    if recorded.storage != observed.storage:
        recorded, observed = (remove_masked_storage(each, masks, hidden.names) for each in (recorded, observed))
    recorded, observed, misses = remove_masked_requests((recorded, observed), comparison.misses, masks, hidden.names)
    if sorted(recorded.console_errors) != sorted(observed.console_errors):
        recorded, observed = (_without_errors(each, masks, hidden.names) for each in (recorded, observed))
    if not hidden.names:
        return MaskedComparison(comparison=comparison)
    return MaskedComparison(
        comparison=replace(
            comparison,
            recorded=comparison.recorded.model_copy(update={"observation": recorded}),
            observed=observed,
            misses=misses,
            recorded_dom=_with_fallback(hidden.snapshots["recorded"], comparison.recorded_dom),
            observed_dom=_with_fallback(hidden.snapshots["observed"], comparison.observed_dom),
        ),
        names=tuple(dict.fromkeys(mask.name for mask in masks if mask.name in hidden.names)),
    )


def mask_observation(
    observation: Observation, dom: Callable[[int], PageSnapshot | None], masks: tuple[Mask, ...]
) -> Observation:
    """Remove the masked parts from one observation, as far as its snapshots are available."""
    pages = []
    for page in observation.pages:
        snapshot, _ = (None, ()) if (seen := dom(page.page)) is None else mask_page(seen, page.url, masks)
        shown = page if snapshot is None else _with_digests(page, snapshot)
        untitled = any(isinstance(mask.part, TitlePart) and mask.applies_to(page.url) for mask in masks)
        pages.append(shown.model_copy(update={"title": ""}) if untitled else shown)
    return _without_errors(observation, masks, set()).model_copy(update={"pages": tuple(pages)})


def mask_page(page: PageSnapshot, url: str, masks: Sequence[Mask]) -> tuple[PageSnapshot, tuple[str, ...]]:
    """Remove masked nodes, texts, attributes and the frames in them from a page; return the masks that matched."""
    here = [mask for mask in masks if isinstance(mask.part, _NODE_PARTS) and mask.applies_to(url)]
    names: list[str] = []
    frames: list[FrameSnapshot] = []
    lost: list[str] = []
    for frame in page.frames:
        wanted = [mask for mask in here if mask.frame in {None, frame.path}]
        found = dict(_find_by_path(frame.root, wanted))
        for route, selected in select_nodes(frame.root, wanted):
            found[route] = [*found.get(route, ()), *selected]
        names.extend(mask.name for each in found.values() for mask in each)
        if not found:
            frames.append(frame)
            continue
        extras, inner = renumber_extras(frame.root, frame.extras, set(_removed_slots(frame.root, found)))
        lost.extend(child_frame_path(frame.path, place) for place in inner)
        frames.append(replace(frame, root=_without_masked_nodes(frame.root, found), extras=extras))
    left = (frame for frame in frames if not any(f"{frame.path}.".startswith(f"{path}.") for path in lost))
    return (PageSnapshot(frames=tuple(left)), tuple(dict.fromkeys(names))) if names else (page, ())


def _without_pages(
    comparison: Comparison, sides: tuple[Observation, Observation], masks: tuple[Mask, ...], hidden: _MaskState
) -> tuple[Observation, Observation]:
    before = {page.page: page for page in sides[0].pages}
    after = {page.page: page for page in sides[1].pages}
    for ordinal in before.keys() & after.keys():
        pair = before[ordinal], after[ordinal]
        if pair[0].title != pair[1].title:
            pair = _without_title(pair, masks, hidden.names)
        if _digests(pair[0]) != _digests(pair[1]):
            pair = _without_nodes(pair, comparison, masks, hidden)
        before[ordinal], after[ordinal] = pair
    return (
        sides[0].model_copy(update={"pages": tuple(before.values())}),
        sides[1].model_copy(update={"pages": tuple(after.values())}),
    )


def _without_title(
    pair: tuple[PageObservation, PageObservation], masks: tuple[Mask, ...], names: set[str]
) -> tuple[PageObservation, PageObservation]:
    found = {
        mask.name
        for mask in masks
        if isinstance(mask.part, TitlePart) and all(mask.applies_to(page.url) for page in pair)
    }
    if not found:
        return pair
    names |= found
    return pair[0].model_copy(update={"title": ""}), pair[1].model_copy(update={"title": ""})


def _without_nodes(
    pair: tuple[PageObservation, PageObservation], comparison: Comparison, masks: tuple[Mask, ...], hidden: _MaskState
) -> tuple[PageObservation, PageObservation]:
    before, after = comparison.recorded_dom(pair[0].page), comparison.observed_dom(pair[1].page)
    if before is None or after is None:
        return pair
    left, left_names = mask_page(before, pair[0].url, masks)
    right, right_names = mask_page(after, pair[1].url, masks)
    if not left_names and not right_names:
        return pair
    hidden.names.update(left_names, right_names)
    hidden.snapshots["recorded"][pair[0].page] = left
    hidden.snapshots["observed"][pair[1].page] = right
    return _with_digests(pair[0], left), _with_digests(pair[1], right)


def _without_errors(observation: Observation, masks: tuple[Mask, ...], names: set[str]) -> Observation:
    kept = []
    urls = [page.url for page in observation.pages]
    for error in observation.console_errors:
        found = {
            mask.name
            for mask in masks
            if isinstance(mask.part, ConsoleErrorPart)
            and error.startswith(mask.part.prefix)
            and (mask.url == "*" or any(mask.applies_to(url) for url in urls))
        }
        names |= found
        if not found:
            kept.append(error)
    return observation.model_copy(update={"console_errors": tuple(kept)})


def _with_fallback(
    known: dict[int, PageSnapshot], other: Callable[[int], PageSnapshot | None]
) -> Callable[[int], PageSnapshot | None]:
    return lambda page: known[page] if page in known else other(page)


def _digests(page: PageObservation) -> tuple[tuple[str, str, str | None], ...]:
    return tuple((frame.path, frame.digest, frame.visibility) for frame in page.frames)


def _with_digests(page: PageObservation, snapshot: PageSnapshot) -> PageObservation:
    left = {frame.path: frame for frame in snapshot.frames}
    frames = tuple(
        frame.model_copy(update={"digest": frame_digest(seen), "visibility": visibility_digest(seen)})
        for frame in page.frames
        if (seen := left.get(frame.path)) is not None
    )
    return page.model_copy(update={"frames": frames})


def _find_by_path(root: DomNode, masks: Sequence[Mask]) -> Iterator[tuple[NodeRoute, list[Mask]]]:
    """Yield each node at a path that masks name, with its masks."""
    hopes = [(mask, parse_path(mask.part.path)) for mask in masks if isinstance(mask.part, _PATH_PARTS)]
    waiting: list[tuple[NodeRoute, Literal["child", "shadow"], tuple[DomNode, ...], list[_PendingPath]]]
    waiting = [((), "child", (root,), hopes)] if hopes else []
    while waiting:
        route, kind, nodes, wanted = waiting.pop()
        for place, sibling in _numbered_siblings(nodes):
            here, below, shadow = _advance(wanted, sibling)
            node, way = nodes[place], (*route, (kind, place))
            if here:
                yield way, here
            if below and node.children:
                waiting.append((way, "child", node.children, below))
            if shadow and node.shadow:
                waiting.append((way, "shadow", node.shadow, shadow))


def _advance(
    hopes: list[_PendingPath], sibling: SiblingPosition
) -> tuple[list[Mask], list[_PendingPath], list[_PendingPath]]:
    """Return the masks whose path ends at a node, and the paths that continue in its children and its shadow root."""
    here: dict[str, Mask] = {}
    below: list[_PendingPath] = []
    shadow: list[_PendingPath] = []
    for mask, steps in hopes:
        rest = steps
        if steps[0].tag == ANY_DEPTH:
            below.append((mask, steps))
            shadow.append((mask, steps))
            rest = steps[1:]
        if not rest[0].matches(sibling):
            continue
        after = rest[1:]
        if not after:
            here[mask.name] = mask
        elif after[0].tag != SHADOW_ROOT:
            below.append((mask, after))
        elif len(after) > 1:
            shadow.append((mask, after[1:]))
    return list(here.values()), below, shadow


def _numbered_siblings(nodes: tuple[DomNode, ...]) -> Iterator[tuple[int, SiblingPosition]]:
    """Yield the index of each node that counts for a digest, with the step that DOM diffs use for it."""
    counting = [(place, node, TEXT_NODE if node.is_text else node.tag) for place, node in enumerate(nodes)]
    counting = [each for each in counting if is_significant(each[1])]
    total = Counter(tag for _, _, tag in counting)
    seen: Counter[str] = Counter()
    for place, node, tag in counting:
        seen[tag] += 1
        identity = "" if node.is_text else node.attribute("id") or ""
        yield place, SiblingPosition(tag=tag, id=identity, number=seen[tag], total=total[tag])


def _without_masked_nodes(root: DomNode, found: dict[NodeRoute, list[Mask]]) -> DomNode:
    """Rebuild a tree from the last node to the first, so that the remaining routes stay valid."""
    for route in sorted(found, reverse=True):
        way = [root]
        for kind, place in route[1:]:
            way.append(((way[-1].shadow or ()) if kind == "shadow" else way[-1].children)[place])
        changed: DomNode | None = way.pop()
        for mask in found[route]:
            if changed is not None and isinstance(mask.part, _NODE_PARTS):
                changed = _strip_part(changed, mask.part)
        for kind, place in reversed(route[1:]):
            changed = _with_child(way.pop(), kind, place, changed)
        root = changed if changed is not None else DomNode(tag=root.tag, namespace=root.namespace)
    return root


def _removed_slots(root: DomNode, found: dict[NodeRoute, list[Mask]]) -> Iterator[NodeSlot]:
    """Yield the places of the nodes that masks remove entirely."""
    for route, masks in found.items():
        way = [root]
        for kind, place in route[1:]:
            way.append(((way[-1].shadow or ()) if kind == "shadow" else way[-1].children)[place])
        for mask in masks:
            if isinstance(mask.part, TextPart) and not way[-1].is_text:
                yield from (
                    (id(way[-1]), "child", place) for place, each in enumerate(way[-1].children) if each.is_text
                )
            elif len(way) > 1 and isinstance(mask.part, _NODE_PARTS) and _strip_part(way[-1], mask.part) is None:
                yield id(way[-2]), route[-1][0], route[-1][1]


def _strip_part(node: DomNode, part: NodePart) -> DomNode | None:
    """Remove one part of a node; None if nothing remains."""
    match part:
        case TextPart():
            return (
                None
                if node.is_text
                else replace(node, children=tuple(each for each in node.children if not each.is_text))
            )
        case AttributePart(name=name):
            return replace(node, attributes=tuple(pair for pair in node.attributes if pair[0] != name))
        case ValuePart(name=name):
            return replace(node, state=tuple(pair for pair in node.state if pair[0] != name))
        case SelectorPart(attribute=str(name)):
            return replace(node, attributes=tuple(pair for pair in node.attributes if pair[0] != name))
        case SubtreePart() | SelectorPart():
            return None


def _with_child(node: DomNode, kind: Literal["child", "shadow"], place: int, child: DomNode | None) -> DomNode:
    nodes = (node.shadow or ()) if kind == "shadow" else node.children
    changed = (*nodes[:place], *(() if child is None else (child,)), *nodes[place + 1 :])
    return replace(node, shadow=changed) if kind == "shadow" else replace(node, children=changed)
