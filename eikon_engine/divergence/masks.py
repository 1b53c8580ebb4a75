"""Remove what the masks of a trace name from both sides of a comparison, before the detectors run.

Only pages that differ are masked: if digests are equal, everything was compared and no coverage is lost.
"""

from __future__ import annotations

import operator
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from eikon_engine.dom.digest import frame_digest, node_digest, visibility_digest
from eikon_engine.dom.tree import DomNode, PageSnapshot, child_frame_path, is_significant
from eikon_engine.network.keys import canonical_url
from eikon_engine.trace.actions import Evaluate, Expect, Read, ReadValue
from eikon_engine.trace.execution import Failed
from eikon_engine.trace.labels import action_label
from eikon_engine.trace.masks import (
    ANY_DEPTH,
    SHADOW_ROOT,
    TEXT_NODE,
    AttributePart,
    ConsoleErrorPart,
    NodePart,
    OrderPart,
    PathStep,
    ReadPart,
    RequestPart,
    SelectorPart,
    SiblingPosition,
    StoragePart,
    SubtreePart,
    TextPart,
    TitlePart,
    ValuePart,
    parse_path,
)
from eikon_engine.trace.read_values import read_digest, value_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.dom.css import ElementPosition
    from eikon_engine.dom.tree import FrameExtras, FrameSnapshot
    from eikon_engine.outcome.outcomes import NetworkMiss, ResponseChange
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.masks import Mask
    from eikon_engine.trace.observation import DocumentLoad, Observation, PageObservation

ChildListKind: TypeAlias = Literal["child", "shadow"]
NodeSlot: TypeAlias = tuple[int, ChildListKind, int]
"""`id` of the parent element, which of its lists of nodes, and the index in it."""


def renumber_extras(root: DomNode, extras: FrameExtras, removed: set[NodeSlot]) -> tuple[FrameExtras, tuple[int, ...]]:
    """Renumber the extras without the `removed` nodes; also return the indices of the removed frames."""
    blocks = extras.data or ()
    rows: tuple[tuple[int, object] | tuple[int, object, object], ...]
    rows = (*extras.canvas, *blocks, *extras.frames, *extras.scroll)
    noted = {*(extras.flips or ()), *(row[0] for row in rows)}
    kept = dict(_remaining_numbers(root, removed, noted))
    lost = tuple(place for number, place in extras.frames if number not in kept)
    return _with_numbers(extras, kept), lost


def _with_numbers(extras: FrameExtras, numbers: Mapping[int, int]) -> FrameExtras:
    """Return extras with new numbers of nodes, by their old ones, and without the nodes that have none."""
    flips, data = extras.flips, extras.data
    return replace(
        extras,
        canvas=tuple(sorted((numbers[old], digest) for old, digest in extras.canvas if old in numbers)),
        data=None if data is None else tuple(sorted((numbers[old], text) for old, text in data if old in numbers)),
        flips=None if flips is None else tuple(sorted(numbers[old] for old in flips if old in numbers)),
        frames=tuple(sorted((numbers[old], place) for old, place in extras.frames if old in numbers)),
        scroll=tuple(sorted((numbers[old], right, down) for old, right, down in extras.scroll if old in numbers)),
    )


def _remaining_numbers(root: DomNode, gone: set[NodeSlot], noted: set[int]) -> Iterator[tuple[int, int]]:
    """Yield the old and the new number of each noted node that stays; nodes are numbered in document order."""
    old, new = 0, 0
    waiting: list[tuple[DomNode, bool]] = [(root, True)]
    while waiting:
        node, stays = waiting.pop()
        if stays and old in noted:
            yield old, new
        old, new = old + 1, new + stays
        below: list[tuple[DomNode, bool]] = []
        for kind, nodes in _child_lists(node):
            below.extend((each, stays and (id(node), kind, place) not in gone) for place, each in enumerate(nodes))
        waiting.extend(reversed(below))


def _child_lists(node: DomNode) -> tuple[tuple[ChildListKind, tuple[DomNode, ...]], ...]:
    return ("shadow", node.shadow or ()), ("child", node.children)


def remove_masked_requests(
    sides: tuple[Observation, Observation], misses: tuple[NetworkMiss, ...], masks: Sequence[Mask], names: set[str]
) -> tuple[Observation, Observation, tuple[NetworkMiss, ...]]:
    """Remove masked requests from both sides if they differ, and from the requests without a recorded response.

    The names of the masks that matched are added to `names`.
    """
    parts = [(mask.name, mask.part) for mask in masks if isinstance(mask.part, RequestPart)]
    before, after = sides
    if not parts or (before.requests == after.requests and before.writes == after.writes and not misses):
        return before, after, misses

    def is_compared(key: str) -> bool:
        found = {name for name, part in parts if part.matches(key)}
        names.update(found)
        return not found

    def compared(side: Observation) -> Observation:
        writes = None if side.writes is None else tuple(filter(is_compared, side.writes))
        return side.model_copy(update={"requests": tuple(filter(is_compared, side.requests)), "writes": writes})

    left, right = compared(before), compared(after)
    return left, right, tuple(miss for miss in misses if is_compared(miss.key))


def unmasked_misses(misses: tuple[NetworkMiss, ...], masks: Sequence[Mask]) -> tuple[NetworkMiss, ...]:
    """Return the requests without a recorded response that no mask matches."""
    parts = [mask.part for mask in masks if isinstance(mask.part, RequestPart)]
    return tuple(miss for miss in misses if not any(part.matches(miss.key) for part in parts))


def unmasked_keys(keys: Iterable[str], masks: Sequence[Mask]) -> tuple[str, ...]:
    """Return the request keys that no mask matches."""
    parts = [mask.part for mask in masks if isinstance(mask.part, RequestPart)]
    return tuple(key for key in keys if not any(part.matches(key) for part in parts))


def unmasked_changes(changes: Iterable[ResponseChange], masks: Sequence[Mask]) -> tuple[ResponseChange, ...]:
    """Return the changed responses to requests that no mask matches."""
    parts = [mask.part for mask in masks if isinstance(mask.part, RequestPart)]
    return tuple(change for change in changes if not any(part.matches(change.key) for part in parts))


_TO_GET: Final = frozenset({301, 302, 303})
"""Statuses after which browsers follow a POST request with GET: https://fetch.spec.whatwg.org/#http-redirect-fetch."""


def without_masked_evidence(observation: Observation, masks: Sequence[Mask]) -> Observation:
    """Return an observation without the documents and console errors that masks cover, which explain nothing then."""
    parts = [mask.part for mask in masks if isinstance(mask.part, RequestPart)]
    loads = tuple(
        load
        for load in observation.documents
        if not any(part.matches(_document_key(load, observation)) for part in parts)
    )
    return _without_errors(observation, tuple(masks), set()).model_copy(update={"documents": loads})


def _document_key(load: DocumentLoad, observation: Observation) -> str:
    """Return method and URL of the request for a document.

    Only the first URL of redirects is among the requests of the action; a redirect may turn POST into GET.
    """
    first = canonical_url(load.hops[0].url if load.hops else load.url)
    methods = {key.split(" ")[0] for key in observation.requests if key.split(" ")[1:2] == [first]}
    method = "POST" if "POST" in methods and "GET" not in methods else "GET"
    if any(hop.status in _TO_GET for hop in load.hops):
        method = "GET"
    return f"{method} {load.url}"


def remove_masked_storage(observation: Observation, masks: Sequence[Mask], names: set[str]) -> Observation:
    """Remove masked cookies and storage items; add the names of the masks that matched to `names`."""
    parts = [(mask.name, mask.part) for mask in masks if isinstance(mask.part, StoragePart)]
    if not parts or observation.storage is None:
        return observation
    kept = []
    for item in observation.storage:
        found = {name for name, part in parts if part.matches(item.name)}
        names |= found
        if not found:
            kept.append(item)
    return observation.model_copy(update={"storage": tuple(kept)})


NodeRoute: TypeAlias = tuple[tuple[Literal["child", "shadow"], int], ...]
"""Path from the root to a node: at each level, the list of nodes and the index in it."""


def select_nodes(root: DomNode, masks: Sequence[Mask]) -> Iterator[tuple[NodeRoute, list[Mask]]]:
    """Yield each node that masks select, with its masks; shadow roots are included."""
    selected = [(mask, mask.part.selector) for mask in masks if isinstance(mask.part, SelectorPart)]
    if not selected:
        return
    from eikon_engine.dom.css import CssSelector, element_positions  # noqa: PLC0415 - few traces have such masks

    selectors = [(mask, CssSelector(selector)) for mask, selector in selected]
    waiting: list[tuple[NodeRoute, Literal["child", "shadow"], tuple[DomNode, ...], ElementPosition | None]]
    waiting = [((), "child", (root,), None)]
    while waiting:
        route, kind, nodes, parent = waiting.pop()
        places = [place for place, node in enumerate(nodes) if not node.is_text]
        for place, spot in zip(places, element_positions(nodes, parent), strict=True):
            node_path = (*route, (kind, place))
            here = [mask for mask, selector in selectors if selector.matches(spot)]
            if here:
                yield node_path, here
            if spot.node.children:
                waiting.append((node_path, "child", spot.node.children, spot))
            if spot.node.shadow:
                waiting.append((node_path, "shadow", spot.node.shadow, None))


_PendingPath: TypeAlias = "tuple[Mask, tuple[PathStep, ...]]"
_PATH_PARTS: Final = (TextPart, AttributePart, ValuePart, SubtreePart, OrderPart)
_NODE_PARTS: Final = (*_PATH_PARTS, SelectorPart)
_COVERED: Final = "\0"
"""Replacement for a value that a pattern covers; cannot occur in a document."""


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
    if not masks or observed is None:
        return MaskedComparison(comparison=comparison)
    if recorded is None:
        return _mask_events(comparison, observed, masks)
    hidden = _MaskState()
    recorded, observed = _without_pages(comparison, (recorded, observed), masks, hidden)
    comparison = _without_read(comparison, (recorded, observed), masks, hidden.names)
    observed = (
        observed if comparison.observed is None else observed.model_copy(update={"value": comparison.observed.value})
    )
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


def _mask_events(comparison: Comparison, observed: Observation, masks: tuple[Mask, ...]) -> MaskedComparison:
    """Remove masked errors and requests of an action without a baseline."""
    names: set[str] = set()
    errors = observed.model_copy(update={"console_errors": comparison.new_console_errors})
    parts = [(mask.name, mask.part) for mask in masks if isinstance(mask.part, RequestPart)]
    for key in comparison.unsent_requests:
        names |= {name for name, part in parts if part.matches(key)}
    return MaskedComparison(
        comparison=replace(
            comparison,
            new_console_errors=_without_errors(errors, masks, names).console_errors,
            unsent_requests=unmasked_keys(comparison.unsent_requests, masks),
        ),
        names=tuple(dict.fromkeys(mask.name for mask in masks if mask.name in names)),
    )


def mask_observation(
    observation: Observation, dom: Callable[[int], PageSnapshot | None], masks: tuple[Mask, ...]
) -> Observation:
    """Remove the masked parts from one observation, as far as its snapshots are available."""
    pages = []
    for page in observation.pages:
        snapshot, _ = (None, ()) if (seen := dom(page.page)) is None else mask_page(seen, page.url, masks)
        shown = page if snapshot is None else with_digests(page, snapshot)
        pages.append(shown.model_copy(update={"title": ""}) if title_masks(page, masks) else shown)
    return _without_errors(observation, masks, set()).model_copy(update={"pages": tuple(pages)})


def title_masks(page: PageObservation, masks: Sequence[Mask]) -> set[str]:
    """Return the names of the masks that hide the title of a page."""
    return {
        mask.name
        for mask in masks
        if isinstance(mask.part, TitlePart) and mask.applies_to(page.url) and mask.part.covers(page.title)
    }


def mask_page(
    page: PageSnapshot, url: str, masks: Sequence[Mask], rank: Callable[[DomNode], bytes | int] = node_digest
) -> tuple[PageSnapshot, tuple[str, ...]]:
    """Remove masked nodes, texts, attributes and the frames in them from a page; return the masks that matched.

    Elements whose order is masked are sorted by `rank`, so that equal ones come in one order.
    """
    here = [mask for mask in masks if isinstance(mask.part, _NODE_PARTS) and mask.applies_to(url)]
    names: list[str] = []
    frames: list[FrameSnapshot] = []
    lost: list[str] = []
    for frame in page.frames:
        expected = [mask for mask in here if mask.frame in {None, frame.path}]
        found = dict(_find_by_path(frame.root, expected))
        for route, selected in select_nodes(frame.root, expected):
            found[route] = [*found.get(route, ()), *selected]
        names.extend(mask.name for each in found.values() for mask in each)
        if not found:
            frames.append(frame)
            continue
        extras, inner = renumber_extras(frame.root, frame.extras, set(_removed_slots(frame.root, found)))
        lost.extend(child_frame_path(frame.path, place) for place in inner)
        root, unordered = _without_masked_nodes(frame.root, found)
        if unordered:
            root, extras = _sort_children(root, extras, unordered, rank)
        frames.append(replace(frame, root=root, extras=extras))
    left = (frame for frame in frames if not any(f"{frame.path}.".startswith(f"{path}.") for path in lost))
    return (PageSnapshot(frames=tuple(left)), tuple(dict.fromkeys(names))) if names else (page, ())


def unmasked_nodes(page: PageSnapshot, url: str, masks: Sequence[Mask]) -> frozenset[int] | None:
    """Return the nodes that masks leave in their places, by `id(node)`; None if no mask matches."""
    masked, names = mask_page(page, url, masks)
    if not names:
        return None
    by_order = [mask for mask in masks if isinstance(mask.part, OrderPart) and mask.applies_to(url)]
    moving = {
        id(node)
        for frame in page.frames
        for route, _ in _find_by_path(frame.root, [mask for mask in by_order if mask.frame in {None, frame.path}])
        for child in _node_at(frame.root, route).children
        for node in child.walk()
    }
    return frozenset(id(node) for frame in masked.frames for node in frame.root.walk()) - moving


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


def _without_read(
    comparison: Comparison, sides: tuple[Observation, Observation], masks: tuple[Mask, ...], names: set[str]
) -> Comparison:
    """Return a comparison without what was read, if masks hide in what it differs.

    The rest of its page, without the masked parts on both sides, must be equal.
    """
    action, value = comparison.recorded.action, sides[1].value
    expected = expected_read(action)
    if expected is None or value is None or expected == value:
        return comparison
    found = read_masks(action, masks, expected, value)
    before, after = ({page.page: _digests(page) for page in side.pages}.get(action.page) for side in sides)
    if not found and before == after and value.long is None and expected.long is None:
        found = _masked_in_texts(comparison, (expected, value), masks)
    if not found:
        return comparison
    names |= found
    fails = isinstance(comparison.result, Failed) and isinstance(action, Expect)
    return replace(
        comparison,
        observed=None if comparison.observed is None else comparison.observed.model_copy(update={"value": None}),
        result=comparison.recorded.result if fails else comparison.result,
    )


def read_masks(action: Action, masks: tuple[Mask, ...], *values: ReadValue) -> set[str]:
    """Return the masks that hide these values of an action."""
    label, digest = action_label(action), read_digest(action)
    return {
        mask.name
        for mask in masks
        if isinstance(mask.part, ReadPart) and mask.part.matches(label, digest) and all(map(mask.part.covers, values))
    }


def masks_in_read(action: Action, page: PageSnapshot | None, url: str, masks: tuple[Mask, ...]) -> set[str]:
    """Return the masks that hide what an action read, or expected, or a text in it; `page` is what it read from."""
    value = expected_read(action)
    if value is None:
        return set()
    found = read_masks(action, masks, value)
    if found or page is None:
        return found
    return _hide_masked_texts(_collapsed(value_text(value.value)), page, url, masks)[1]


def expected_read(action: Action) -> ReadValue | None:
    """Return what an action read in the recording, or what an assertion expects if that is one text."""
    if isinstance(action, Read | Evaluate):
        return action.value
    if not isinstance(action, Expect):
        return None
    if action.received is not None or action.texts is None or len(action.texts) != 1 or action.is_not:
        return action.received
    text = action.texts[0].string
    return None if text is None else ReadValue(value=text)


def _masked_in_texts(comparison: Comparison, values: tuple[ReadValue, ReadValue], masks: tuple[Mask, ...]) -> set[str]:
    """Return the masks that hide texts in two values, if the values are equal without these texts."""
    page = comparison.recorded.action.page
    names: set[str] = set()
    left = []
    for value, dom, side in zip(
        values,
        (comparison.recorded_dom, comparison.observed_dom),
        (comparison.recorded.observation, comparison.observed),
        strict=True,
    ):
        snapshot = dom(page)
        url = next((each.url for each in side.pages if each.page == page), "") if side is not None else ""
        text, found = _hide_masked_texts(_collapsed(value_text(value.value)), snapshot, url, masks)
        names |= found
        left.append(text)
    return names if left[0] == left[1] else set()


def _hide_masked_texts(text: str, page: PageSnapshot | None, url: str, masks: tuple[Mask, ...]) -> tuple[str, set[str]]:
    """Return a text without those that masks hide on a page, and the names of these masks."""
    names: set[str] = set()
    hidden = {} if page is None else dict(_masked_texts(page, url, masks))
    for masked in sorted(hidden, key=len, reverse=True):
        if masked in text:
            names.add(hidden[masked])
            text = text.replace(masked, "\0")
    return text, names


def _masked_texts(page: PageSnapshot, url: str, masks: tuple[Mask, ...]) -> Iterator[tuple[str, str]]:
    """Yield each text that a mask hides on a page, as it is in JSON, with the name of the mask."""
    here = [mask for mask in masks if isinstance(mask.part, _NODE_PARTS) and mask.applies_to(url)]
    for frame in page.frames:
        expected = [mask for mask in here if mask.frame in {None, frame.path}]
        for route, selected in (*_find_by_path(frame.root, expected), *select_nodes(frame.root, expected)):
            node = _node_at(frame.root, route)
            for mask in selected:
                for text in _texts_of(node, mask):
                    shown = _collapsed(value_text(text)[1:-1])
                    if shown:
                        yield shown, mask.name


def _node_at(root: DomNode, route: NodeRoute) -> DomNode:
    node = root
    for kind, place in route[1:]:
        node = ((node.shadow or ()) if kind == "shadow" else node.children)[place]
    return node


def _texts_of(node: DomNode, mask: Mask) -> Iterator[str]:
    """Yield the texts that a mask hides in a node it selects."""
    match mask.part:
        case AttributePart(name=name) | SelectorPart(attribute=str(name)):
            yield node.attribute(name) or ""
        case ValuePart(name=name):
            yield str(node.state_value(name) or "")
        case OrderPart():
            return
        case TextPart() as part:
            texts = [node.text] if node.is_text else [each.text for each in node.children if each.is_text]
            yield from (text for text in texts if text and part.covers(text))
        case _:
            texts = [each.text for each in node.walk() if each.text]
            yield "".join(text or "" for text in texts)
            yield from (text for text in texts if text)


def _collapsed(text: str) -> str:
    """Return a JSON text with white space collapsed, as pages show it."""
    return " ".join(text.replace("\\n", " ").replace("\\t", " ").split())


def _without_title(
    pair: tuple[PageObservation, PageObservation], masks: tuple[Mask, ...], names: set[str]
) -> tuple[PageObservation, PageObservation]:
    found = title_masks(pair[0], masks) & title_masks(pair[1], masks)
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
    ranks: dict[bytes, int] = {}

    def rank(node: DomNode) -> int:
        """Return the place of an equal element on the recorded page, so that differences name the recorded places."""
        return ranks.setdefault(node_digest(node), len(ranks))

    left, left_names = mask_page(before, pair[0].url, masks, rank)
    right, right_names = mask_page(after, pair[1].url, masks, rank)
    if not left_names and not right_names:
        return pair
    hidden.names.update(left_names, right_names)
    hidden.snapshots["recorded"][pair[0].page] = left
    hidden.snapshots["observed"][pair[1].page] = right
    return with_digests(pair[0], left), with_digests(pair[1], right)


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


def with_digests(page: PageObservation, snapshot: PageSnapshot) -> PageObservation:
    """Return the observation of a page with the digests of a changed snapshot, and without the frames it lacks."""
    left = {frame.path: frame for frame in snapshot.frames}
    frames = tuple(
        frame.model_copy(update={"digest": frame_digest(seen), "visibility": visibility_digest(seen)})
        for frame in page.frames
        if (seen := left.get(frame.path)) is not None
    )
    return page.model_copy(update={"frames": frames})


def _find_by_path(root: DomNode, masks: Sequence[Mask]) -> Iterator[tuple[NodeRoute, list[Mask]]]:
    """Yield each node at a path that masks name, with its masks."""
    parsed_masks = [(mask, parse_path(mask.part.path)) for mask in masks if isinstance(mask.part, _PATH_PARTS)]
    waiting: list[tuple[NodeRoute, Literal["child", "shadow"], tuple[DomNode, ...], list[_PendingPath]]]
    waiting = [((), "child", (root,), parsed_masks)] if parsed_masks else []
    while waiting:
        route, kind, nodes, expected = waiting.pop()
        for place, sibling in _numbered_siblings(nodes):
            here, below, shadow = _advance(expected, sibling)
            node, node_path = nodes[place], (*route, (kind, place))
            here = [mask for mask in here if _is_covered(node, mask)]
            if here:
                yield node_path, here
            if below and node.children:
                waiting.append((node_path, "child", node.children, below))
            if shadow and node.shadow:
                waiting.append((node_path, "shadow", node.shadow, shadow))


def _advance(
    parsed_masks: list[_PendingPath], sibling: SiblingPosition
) -> tuple[list[Mask], list[_PendingPath], list[_PendingPath]]:
    """Return the masks whose path ends at a node, and the paths that continue in its children and its shadow root."""
    here: dict[str, Mask] = {}
    below: list[_PendingPath] = []
    shadow: list[_PendingPath] = []
    for mask, steps in parsed_masks:
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


def _without_masked_nodes(root: DomNode, found: dict[NodeRoute, list[Mask]]) -> tuple[DomNode, tuple[DomNode, ...]]:
    """Rebuild a tree from the last node to the first, so that the remaining routes stay valid.

    Also return its nodes whose children have a masked order.
    """
    unordered: list[DomNode] = []
    for route in sorted(found, reverse=True):
        node_path = [root]
        for kind, place in route[1:]:
            node_path.append(((node_path[-1].shadow or ()) if kind == "shadow" else node_path[-1].children)[place])
        changed: DomNode | None = node_path.pop()
        for mask in found[route]:
            if changed is not None and isinstance(mask.part, _NODE_PARTS):
                changed = _strip_part(changed, mask.part)
        if changed is not None and any(isinstance(mask.part, OrderPart) for mask in found[route]):
            changed = replace(changed)  # the decoder shares equal nodes
            unordered.append(changed)
        for kind, place in reversed(route[1:]):
            changed = _with_child(node_path.pop(), kind, place, changed)
        root = changed if changed is not None else DomNode(tag=root.tag, namespace=root.namespace)
    return root, tuple(unordered)


def _sort_children(
    root: DomNode, extras: FrameExtras, parents: Sequence[DomNode], rank: Callable[[DomNode], bytes | int]
) -> tuple[DomNode, FrameExtras]:
    """Sort the elements in some nodes of a tree, around the texts between them, and renumber the extras."""
    chosen = {id(each) for each in parents}
    sizes: dict[int, int] = {}
    sorted_nodes: dict[int, DomNode] = {}
    orders: dict[int, list[int]] = {}
    """Indices of the children in their new order, by `id` of the old parent."""
    for node in reversed(list(root.walk())):
        sizes[id(node)] = 1 + sum(sizes[id(each)] for _, nodes in _child_lists(node) for each in nodes)
        children = [sorted_nodes[id(each)] for each in node.children]
        shadow = None if node.shadow is None else tuple(sorted_nodes[id(each)] for each in node.shadow)
        if id(node) in chosen:
            orders[id(node)] = _sorted_places(children, rank)
            children = [children[place] for place in orders[id(node)]]
        new = replace(node, children=tuple(children), shadow=shadow)
        sorted_nodes[id(node)] = node if _has_same_children(node, new) else new
    return sorted_nodes[id(root)], _with_numbers(extras, _sorted_numbers(root, sizes, orders))


def _has_same_children(node: DomNode, other: DomNode) -> bool:
    pairs = zip(_child_lists(node), _child_lists(other), strict=True)
    return all(all(map(operator.is_, ours, theirs)) for (_, ours), (_, theirs) in pairs)


def _sorted_places(nodes: Sequence[DomNode], rank: Callable[[DomNode], bytes | int]) -> list[int]:
    """Return the indices of nodes with the elements among them sorted; texts stay where they are."""
    elements = iter(sorted((n for n, each in enumerate(nodes) if not each.is_text), key=lambda n: rank(nodes[n])))
    return [place if each.is_text else next(elements) for place, each in enumerate(nodes)]


def _sorted_numbers(root: DomNode, sizes: Mapping[int, int], orders: Mapping[int, list[int]]) -> dict[int, int]:
    """Return the new numbers of all nodes by the old ones; nodes are numbered in document order."""
    numbers: dict[int, int] = {}
    waiting = [(root, 0)]
    while waiting:
        node, old = waiting.pop()
        numbers[old] = len(numbers)
        below: list[tuple[DomNode, int]] = []
        following = old + 1
        for kind, nodes in _child_lists(node):
            ends = list(accumulate((sizes[id(each)] for each in nodes), initial=following))
            places = orders.get(id(node), range(len(nodes))) if kind == "child" else range(len(nodes))
            below.extend((nodes[place], ends[place]) for place in places)
            following = ends[-1]
        waiting.extend(reversed(below))
    return numbers


def _removed_slots(root: DomNode, found: dict[NodeRoute, list[Mask]]) -> Iterator[NodeSlot]:
    """Yield the places of the nodes that masks remove entirely."""
    for route, masks in found.items():
        node_path = [root]
        for kind, place in route[1:]:
            node_path.append(((node_path[-1].shadow or ()) if kind == "shadow" else node_path[-1].children)[place])
        for mask in masks:
            if isinstance(mask.part, TextPart) and mask.part.pattern is not None:
                continue  # its text is replaced
            if isinstance(mask.part, TextPart) and not node_path[-1].is_text:
                yield from (
                    (id(node_path[-1]), "child", place)
                    for place, each in enumerate(node_path[-1].children)
                    if each.is_text
                )
            elif (
                len(node_path) > 1
                and isinstance(mask.part, _NODE_PARTS)
                and _strip_part(node_path[-1], mask.part) is None
            ):
                yield id(node_path[-2]), route[-1][0], route[-1][1]


def _is_covered(node: DomNode, mask: Mask) -> bool:
    """Return whether a node that a mask names has a value that its pattern covers."""
    match mask.part:
        case TextPart(pattern=str()) as part:
            texts = (node,) if node.is_text else node.children
            return any(each.is_text and part.covers(each.text) for each in texts)
        case AttributePart(name=name, pattern=str()) as part:
            return part.covers(node.attribute(name))
        case _:
            return True


def _strip_part(node: DomNode, part: NodePart) -> DomNode | None:  # noqa: PLR0911 - one return per kind of part
    """Remove one part of a node, or replace it if it has a pattern; None if nothing remains."""
    match part:
        case TextPart(pattern=str()):
            if node.is_text:
                return replace(node, text=_COVERED) if part.covers(node.text) else node
            children = tuple(
                replace(each, text=_COVERED) if each.is_text and part.covers(each.text) else each
                for each in node.children
            )
            return replace(node, children=children)
        case AttributePart(name=name, pattern=str()):
            attributes = tuple((key, _COVERED) if key == name else (key, value) for key, value in node.attributes)
            return replace(node, attributes=attributes) if part.covers(node.attribute(name)) else node
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
        case OrderPart():
            return node  # its children are sorted once all else is removed
        case SubtreePart() | SelectorPart():
            return None


def _with_child(node: DomNode, kind: Literal["child", "shadow"], place: int, child: DomNode | None) -> DomNode:
    nodes = (node.shadow or ()) if kind == "shadow" else node.children
    changed = (*nodes[:place], *(() if child is None else (child,)), *nodes[place + 1 :])
    return replace(node, shadow=changed) if kind == "shadow" else replace(node, children=changed)
