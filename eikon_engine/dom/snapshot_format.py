"""The JSON form of a document tree: as it is stored, and as a page sends what changed since the last snapshot.

Nodes are listed in document order, so depth needs no recursion: a string is a text, an array of one string a text with
significant white space (`pre`, `style`), an array of seven an element::

    [tag, namespace, [name, value, ...], [state, value, ...], child count, shadow mode, shadow child count]

The nodes of a shadow root follow their host, then its children. ``docs/dom-snapshots.md`` has the details.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, cast

from eikon_engine.dom.tree import TEXT, VERBATIM, DomNode, FrameExtras, FrameSnapshot, StateValue
from eikon_engine.errors import TraceFieldError, TraceSyntaxError

_TEXT_TAGS: Final = frozenset({TEXT, VERBATIM})
_ELEMENT_TYPES: Final = (str, str, list, list, int, str, int)
_ROW_EXTRAS: Final = ("canvas", "frames", "scroll")
_DATA_TYPES: Final = frozenset({(int, str), (int, int)})
_OPTIONAL_EXTRAS: Final = frozenset({"data", "flips"})
"""Extras that older snapshots lack."""
_SHADOW_MODES: Final = frozenset({"", "open", "closed"})
_MAX_LEARNED: Final = 100_000
"""Characters of lines that are kept although the last document may lack them."""


def frame_from_data(data: object, *, path: str, url: str, name: str) -> FrameSnapshot:
    """Build a frame from its parsed JSON.

    Raises:
        TraceFieldError: the data does not have the shape of the format.

    """
    if not isinstance(data, dict) or data.keys() != {"doctype", "nodes", "extras"}:
        raise shape_error("frame", "an object of doctype, nodes and extras", data)
    if not isinstance(data["doctype"], str):
        raise shape_error("doctype", "a string", data["doctype"])
    root = tree_from_flat(data["nodes"])
    extras = parse_extras(data["extras"])
    return FrameSnapshot(path=path, url=url, name=name, doctype=data["doctype"], root=root, extras=extras)


def frame_to_data(frame: FrameSnapshot) -> dict[str, object]:
    """Return the plain data that `frame_from_data` reads."""
    extras: dict[str, object] = {name: [list(row) for row in getattr(frame.extras, name)] for name in _ROW_EXTRAS}
    if frame.extras.data is not None:
        extras["data"] = [list(row) for row in frame.extras.data]
    if frame.extras.flips is not None:
        extras["flips"] = list(frame.extras.flips)
    return {"doctype": frame.doctype, "nodes": tree_to_flat(frame.root), "extras": extras}


def tree_to_flat(root: DomNode) -> list[object]:
    """Return a tree as a flat list, see the module docstring."""
    flat: list[object] = []
    for node in root.walk():
        if node.text is not None:
            flat.append([node.text] if node.tag == VERBATIM else node.text)
            continue
        attributes = [part for pair in node.attributes for part in pair]
        state = [list(part) if isinstance(part, tuple) else part for pair in node.state for part in pair]
        shadow = len(node.shadow) if node.shadow is not None else 0
        flat.append([node.tag, node.namespace, attributes, state, len(node.children), node.shadow_mode, shadow])
    return flat


def tree_from_flat(flat: object) -> DomNode:
    """Build a tree from its flat list.

    Raises:
        TraceFieldError: an entry has the wrong shape, or the child counts do not add up to one tree.

    """
    if not isinstance(flat, list):
        raise shape_error("nodes", "an array", flat)
    texts: dict[str, DomNode] = {}
    entries = [_shared_text(entry, texts) or parse_entry(entry, index) for index, entry in enumerate(flat)]
    return build_tree(entries, lambda _, head, children, shadow: head.build(children, shadow))


def _shared_text(entry: object, texts: dict[str, DomNode]) -> DomNode | None:
    """Share one node between equal texts."""
    if type(entry) is not str:
        return None
    known = texts.get(entry)
    if known is None:
        known = texts[entry] = DomNode(tag=TEXT, text=entry)
    return known


@dataclass(frozen=True, slots=True)
class ElementHeader:
    """An element without its children."""

    tag: str
    namespace: str
    attributes: tuple[tuple[str, str], ...]
    state: tuple[tuple[str, StateValue], ...]
    child_count: int
    """Number of its children."""
    shadow_mode: str
    """Mode of its shadow root; empty without one."""
    shadow_child_count: int
    """Number of children of the shadow root."""

    def build(self, children: tuple[DomNode, ...], shadow: tuple[DomNode, ...] | None) -> DomNode:
        """Build the element with its children."""
        return DomNode(
            tag=self.tag,
            namespace=self.namespace,
            attributes=self.attributes,
            state=self.state,
            children=children,
            shadow=shadow,
            shadow_mode=self.shadow_mode,
        )


def parse_entry(entry: object, index: int) -> DomNode | ElementHeader:
    """Parse one entry of a flat list: a text, or an element without its children.

    Raises:
        TraceFieldError: the entry has the wrong shape; the message names `index`.

    """
    if isinstance(entry, str):
        return DomNode(tag=TEXT, text=entry)
    if not isinstance(entry, list):
        raise shape_error(f"nodes[{index}]", "a text or an element with seven fields", entry)
    if len(entry) == 1 and isinstance(entry[0], str):
        return DomNode(tag=VERBATIM, text=entry[0])
    if tuple(map(type, entry)) != _ELEMENT_TYPES:
        raise shape_error(f"nodes[{index}]", "a text or an element with seven fields", entry)
    tag, namespace, names, state, count, mode, inner = entry
    sound = count >= 0 and inner >= 0 and mode in _SHADOW_MODES and (mode != "" or inner == 0)
    if not sound or not tag or tag in _TEXT_TAGS:
        raise shape_error(f"nodes[{index}]", "a tag, a shadow mode and counts that match the nodes after it", entry)
    attributes = _attributes(names, index) if names else ()
    return ElementHeader(tag, namespace, attributes, _state(state, index) if state else (), count, mode, inner)


BuildElement = Callable[[int, ElementHeader, "tuple[DomNode, ...]", "tuple[DomNode, ...] | None"], DomNode]
"""Builds an element from its index in the flat list, itself, its children, and those of its shadow root."""


def build_tree(entries: Sequence[DomNode | ElementHeader], make: BuildElement) -> DomNode:
    """Build the tree from the parsed entries of a flat list.

    Raises:
        TraceFieldError: the child counts do not add up to one tree.

    """
    built: list[DomNode] = []
    for index in range(len(entries) - 1, -1, -1):
        entry = entries[index]
        if isinstance(entry, DomNode):
            built.append(entry)
            continue
        if entry.child_count + entry.shadow_child_count > len(built):
            raise shape_error(
                f"nodes[{index}]", "counts that match the nodes after it", (entry.child_count, entry.shadow_child_count)
            )
        shadow = _pop_nodes(built, entry.shadow_child_count) if entry.shadow_mode else None
        built.append(make(index, entry, _pop_nodes(built, entry.child_count), shadow))
    if len(built) != 1 or built[0].is_text:
        raise shape_error("nodes", "one tree with an element at its root", f"{len(built)} roots")
    return built[0]


def _pop_nodes(built: list[DomNode], count: int) -> tuple[DomNode, ...]:
    """Pop nodes from the end of a list that was built in reverse."""
    if count == 0:
        return ()
    taken = built[-count:]
    del built[-count:]
    return tuple(taken[::-1])


def _attributes(flat: list[object], index: int) -> tuple[tuple[str, str], ...]:
    """Pair and sort names and values."""
    if len(flat) % 2 or any(type(part) is not str for part in flat):
        raise shape_error(f"nodes[{index}].attributes", "names and values, all strings", flat)
    pairs = cast("list[str]", flat)
    if len(pairs) == 2:  # noqa: PLR2004 - one name and one value
        return ((pairs[0], pairs[1]),)
    return tuple(sorted(zip(pairs[::2], pairs[1::2], strict=True)))


def _state(flat: list[object], index: int) -> tuple[tuple[str, StateValue], ...]:
    """Pair and sort the names and values of a state."""
    if len(flat) % 2:
        raise shape_error(f"nodes[{index}].state", "names and values", flat)
    pairs: list[tuple[str, StateValue]] = []
    for name, value in zip(flat[::2], flat[1::2], strict=True):
        match name, value:
            case str(), str() | bool():
                pairs.append((name, value))
            case str(), list() if all(isinstance(part, str) for part in value):
                pairs.append((name, tuple(value)))
            case _:
                raise shape_error(f"nodes[{index}].state", "strings, booleans or arrays of strings by name", flat)
    return tuple(sorted(pairs, key=lambda pair: pair[0]))


def parse_extras(data: object) -> FrameExtras:
    """Parse canvas digests, data blocks, visibility changes, frame positions and scroll offsets.

    Raises:
        TraceFieldError: the data does not have the shape of the format.

    """
    if not isinstance(data, dict) or data.keys() - _OPTIONAL_EXTRAS != set(_ROW_EXTRAS):
        raise shape_error("extras", "an object of canvas, frames and scroll", data)
    flips = data.get("flips")
    if flips is not None and not (isinstance(flips, list) and all(type(each) is int for each in flips)):
        raise shape_error("extras.flips", "an array of numbers", flips)
    return FrameExtras(
        data=_data(data["data"]) if "data" in data else None,
        flips=None if flips is None else tuple(flips),
        canvas=cast("tuple[tuple[int, str], ...]", _rows(data["canvas"], "canvas", (int, str))),
        frames=cast("tuple[tuple[int, int], ...]", _rows(data["frames"], "frames", (int, int))),
        scroll=cast("tuple[tuple[int, float, float], ...]", _rows(data["scroll"], "scroll", (int, float, float))),
    )


def _data(rows: object) -> tuple[tuple[int, str | int], ...]:
    if not isinstance(rows, list):
        raise shape_error("extras.data", "an array", rows)
    for row in rows:
        if not isinstance(row, list) or tuple(map(type, row)) not in _DATA_TYPES:
            raise shape_error("extras.data", "rows of a node and a text or its length", row)
    return tuple((row[0], row[1]) for row in rows)


def _rows(rows: object, name: str, kinds: tuple[type, ...]) -> tuple[tuple[object, ...], ...]:
    """Parse rows of fixed columns; an integer is accepted as a float."""
    if not isinstance(rows, list):
        raise shape_error(f"extras.{name}", "an array", rows)
    for row in rows:
        if not isinstance(row, list) or len(row) != len(kinds):
            raise shape_error(f"extras.{name}", f"rows of {len(kinds)}", row)
        for value, kind in zip(row, kinds, strict=True):
            if type(value) is not kind and not (kind is float and type(value) is int):
                raise shape_error(f"extras.{name}", f"rows of {', '.join(each.__name__ for each in kinds)}", row)
    return tuple(tuple(row) for row in rows)


def shape_error(place: str, expected: str, found: object) -> TraceFieldError:
    """Build the error for a field of the wrong shape."""
    shown = repr(found)[:120]
    return TraceFieldError(f"DOM snapshot, {place}: expected {expected}, got {shown}; take the snapshot again")


@dataclass(frozen=True, slots=True)
class _ReadDocument:
    """A document as it was read, with one item of each list for each line."""

    lines: Sequence[str] = ()
    entries: Sequence[DomNode | ElementHeader] = ()
    nodes: Sequence[DomNode] = ()
    sizes: Sequence[int] = ()
    """Number of lines of the node and its descendants."""
    data: object = None
    """Data blocks as parsed JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRequest:
    """A request for the snapshot of a frame."""

    token: str
    """Key under which the page stores its response."""
    previous_token: str
    """Token of the last response; empty if there is none."""
    previous: _ReadDocument
    """The document of the last response."""


class FrameReader:
    """Parses the snapshots of one frame and reuses the nodes of the previous one."""

    def __init__(self) -> None:
        """Start without a previous snapshot."""
        self._token = ""
        self._last = _ReadDocument()
        self._known: dict[str, DomNode | ElementHeader] = {}
        """Entries by line: those of the last document, and some of earlier ones."""
        self._learned = 0
        """Characters of the lines that were added since only those of the last document were known."""

    def prepare_request(self, token: str) -> SnapshotRequest:
        """Prepare a request: the page may omit the lines equal at both ends of its last response.

        A `token` must be used only once per document.
        """
        return SnapshotRequest(token=token, previous_token=self._token, previous=self._last)

    def parse_response(self, text: str, request: SnapshotRequest, *, path: str, url: str, name: str) -> FrameSnapshot:
        """Parse the response of the page: one line for the document, then one for each node that changed.

        Raises:
            TraceSyntaxError: a line is not JSON.
            TraceFieldError: the data does not have the shape of the format.

        """
        first, *new = text.split("\n")
        document = _json(first, path)
        if not isinstance(document, dict) or document.keys() != {"doctype", "extras", "same"}:
            raise shape_error("frame", "an object of doctype, extras and same", document)
        if not isinstance(document["doctype"], str):
            raise shape_error("doctype", "a string", document["doctype"])
        noted = document["extras"]
        if isinstance(noted, dict) and noted.get("data", ...) is None:
            noted["data"] = request.previous.data
        extras = parse_extras(noted)
        same = _equal_ends(document["same"], len(request.previous.lines))
        try:
            read = _update_document(request.previous, same, new, self._parse_lines(new, path), noted.get("data"))
            self._token, self._last = request.token, read
        finally:
            self._forget_former_lines()
        return FrameSnapshot(
            path=path, url=url, name=name, doctype=document["doctype"], root=read.nodes[0], extras=extras
        )

    def _parse_lines(self, lines: list[str], path: str) -> list[DomNode | ElementHeader]:
        """Parse lines, in one call, unless they are known."""
        known = self._known
        new = [line for line in dict.fromkeys(lines) if line not in known]
        read = _json(f"[{','.join(new)}]", path)
        if not isinstance(read, list) or len(read) != len(new):
            raise shape_error("nodes", "one node a line", read)
        known |= {line: parse_entry(data, index) for index, (line, data) in enumerate(zip(new, read, strict=True))}
        self._learned += sum(map(len, new))
        return [known[line] for line in lines]

    def _forget_former_lines(self) -> None:
        """Keep the entries of the last document only, once there may be many others."""
        if self._learned > _MAX_LEARNED:
            self._known = dict(zip(self._last.lines, self._last.entries, strict=True))
            self._learned = 0


def _equal_ends(same: object, last: int) -> tuple[int, int]:
    """Return how many lines at the start and at the end equal those of the last document."""
    match same:
        case [int() as start, int() as end] if start >= 0 <= end and start + end <= last:
            return start, end
        case _:
            raise shape_error("same", f"two line counts that add up to at most {last}", same)


def _update_document(
    last: _ReadDocument,
    same: tuple[int, int],
    lines: list[str],
    entries: list[DomNode | ElementHeader],
    data: object,
) -> _ReadDocument:
    """Build a document from the last one, whose lines are equal at both ends, and the lines between them.

    A node of the last document is taken as it is if no line of it or below it changed; no element occurs twice.
    """
    start, after = same[0], len(last.lines) - same[1]
    between = start + len(lines)
    is_shifted = between != after
    all_lines = [*last.lines[:start], *lines, *last.lines[after:]]
    all_entries = [*last.entries[:start], *entries, *last.entries[after:]]
    nodes = [*last.nodes[:start], *(entries if is_shifted else last.nodes[start:after]), *last.nodes[after:]]
    sizes = [*last.sizes[:start], *([1] * len(lines) if is_shifted else last.sizes[start:after]), *last.sizes[after:]]
    changed = [place for place in range(start, between) if is_shifted or all_lines[place] != last.lines[place]]

    def is_unchanged(place: int) -> bool:
        end = place + sizes[place]
        following = bisect_left(changed, place)
        if following < len(changed) and changed[following] < end:
            return False
        return not (is_shifted and place < start < end)

    taken_or_built: list[int] = []
    built: list[int] = []
    place = 0
    while place < len(nodes):
        taken_or_built.append(place)
        if is_unchanged(place):
            place += sizes[place]
        else:
            built.append(place)
            nodes[place], sizes[place] = all_entries[place], 1
            place += 1
    former = _by_content(last, range(start, after) if is_shifted else built)
    size_of = {id(nodes[place]): sizes[place] for place in taken_or_built}

    def make(
        index: int, head: ElementHeader, children: tuple[DomNode, ...], shadow: tuple[DomNode, ...] | None
    ) -> DomNode:
        place = taken_or_built[index]
        below = (*map(id, shadow or ()), *map(id, children))
        alike = former.get((all_lines[place], *below))
        node = nodes[place] = alike.pop() if alike else head.build(children, shadow)
        sizes[place] = size_of[id(node)] = 1 + sum(map(size_of.__getitem__, below))
        return node

    build_tree([nodes[place] for place in taken_or_built], make)
    return _ReadDocument(all_lines, all_entries, cast("list[DomNode]", nodes), sizes, data)


def _by_content(document: _ReadDocument, places: Iterable[int]) -> dict[tuple[object, ...], list[DomNode]]:
    """Return elements by their line and children, equal ones in document order."""
    found: dict[tuple[object, ...], list[DomNode]] = {}
    for place in places:
        node = document.nodes[place]
        if not node.is_text:
            key = (document.lines[place], *map(id, node.shadow or ()), *map(id, node.children))
            found.setdefault(key, []).append(node)
    return found


def _json(text: str, path: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        message = f"expected the JSON of a DOM snapshot of frame {path!r}, got {error}; take the snapshot again"
        raise TraceSyntaxError(message) from error
