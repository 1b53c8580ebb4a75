"""The document tree of a snapshot, and the flat JSON it is read from.

A tree is written flat, in document order, so that depth costs nothing: a string is a text, an array of one string a
text whose white space counts (`pre`, `style`), an array of seven an element::

    [tag, namespace, [name, value, ...], [state, value, ...], children, shadow mode, children of the shadow root]

The entries of the shadow root follow their host, then those of its children. ``docs/dom-snapshots.md`` has the details.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from eikon_engine.errors import TraceFieldError, TraceSyntaxError

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT: Final = "#text"
VERBATIM: Final = "#verbatim"
_TEXT_TAGS: Final = frozenset({TEXT, VERBATIM})
_ELEMENT_TYPES: Final = (str, str, list, list, int, str, int)
_ROWS: Final = ("canvas", "frames", "scroll")
_MODES: Final = frozenset({"", "open", "closed"})

StateValue = str | bool | tuple[str, ...]
"""A text, a switch, or a list of names."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class DomNode:
    """One element or text of a document."""

    tag: str
    """Local name; `#text` for a text, `#verbatim` for a text whose white space counts, `#document` for an empty one."""
    namespace: str = ""
    """Empty for HTML, `svg`, `mathml`, or the URI of another one."""
    attributes: tuple[tuple[str, str], ...] = ()
    """Sorted by name."""
    text: str | None = None
    """Set for texts only."""
    state: tuple[tuple[str, StateValue], ...] = ()
    """What the user or the page did to the element, sorted by name: value, checked, open, focus."""
    children: tuple[DomNode, ...] = ()
    shadow: tuple[DomNode, ...] | None = None
    """Children of the shadow root, `None` when there is none."""
    shadow_mode: str = ""
    """`open` or `closed`, empty without a shadow root."""

    @property
    def is_text(self) -> bool:
        """Tell texts from elements."""
        return self.text is not None

    def attribute(self, name: str) -> str | None:
        """Return the value of an attribute."""
        return next((value for key, value in self.attributes if key == name), None)

    def state_of(self, name: str) -> StateValue | None:
        """Return one value of the state."""
        return next((value for key, value in self.state if key == name), None)

    def walk(self) -> Iterator[DomNode]:
        """Yield this node and all below it in document order, a shadow root before the children of its host."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            if node.children:
                waiting += node.children[::-1]
            if node.shadow:
                waiting += node.shadow[::-1]

    def shape(self) -> tuple[object, ...]:
        """Return everything about this node but the nodes below it."""
        below = (len(self.children), None if self.shadow is None else len(self.shadow), self.shadow_mode)
        return (self.tag, self.namespace, self.attributes, self.text, self.state, below)

    def __eq__(self, other: object) -> bool:
        """Compare whole trees, of any depth."""
        if not isinstance(other, DomNode):
            return NotImplemented
        return self is other or all(
            mine is theirs or mine.shape() == theirs.shape()
            for mine, theirs in zip(self.walk(), other.walk(), strict=False)
        )

    def __hash__(self) -> int:
        """Hash the node itself: enough for equal trees to meet."""
        return hash(self.shape())

    def __repr__(self) -> str:
        """Show the node without what is below it."""
        if self.text is not None:
            return f"DomNode({self.tag}, text={self.text!r})"
        return f"DomNode({self.tag}, {self.attributes!r}, {self.state!r}, {len(self.children)} children)"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameExtras:
    """What a snapshot notes besides the tree; no part of any digest. Nodes are counted in document order."""

    canvas: tuple[tuple[int, str], ...] = ()
    """Node and digest of its pixels."""
    flips: tuple[int, ...] | None = None
    """Elements that are hidden though their parent is not, or shown though it is; None in older snapshots."""
    frames: tuple[tuple[int, int], ...] = ()
    """Node of a frame element, and the place of its frame among the child frames."""
    scroll: tuple[tuple[int, float, float], ...] = ()
    """Node, pixels scrolled to the right, pixels scrolled down; only where not zero."""


def inner_path(path: str, place: int) -> str:
    """Return the path of a frame from that of the frame around it, and its place among the child frames there."""
    return f"{path}.{place}" if path else str(place)


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameSnapshot:
    """The document of one frame."""

    path: str
    """Place in the frame tree: empty for the main frame, `0.1` for the second child of its first child."""
    url: str
    name: str
    doctype: str
    """`html`, or name, public and system id joined by `|`; empty without one."""
    root: DomNode
    extras: FrameExtras = field(default_factory=FrameExtras)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSnapshot:
    """The documents of all frames of a page, the main frame first."""

    frames: tuple[FrameSnapshot, ...]

    @property
    def main(self) -> FrameSnapshot:
        """Return the document of the main frame."""
        return self.frames[0]


def text_node(text: str, *, verbatim: bool = False) -> DomNode:
    """Make a text."""
    return DomNode(tag=VERBATIM if verbatim else TEXT, text=text)


def is_significant(node: DomNode) -> bool:
    """Tell whether a node counts for digests and differences: a text of nothing but white space does not."""
    return node.tag != TEXT or node.text is None or not is_blank(node.text)


BLANKS: Final = " \t\n\f\r"
"""The white space of HTML; a no-break space is none."""


def is_blank(text: str) -> bool:
    """Tell whether a text is white space only."""
    return not text.strip(BLANKS)


def parse_frame(text: str, *, path: str, url: str, name: str) -> FrameSnapshot:
    """Read what the page returned for one of its frames.

    Raises:
        TraceSyntaxError: it is not JSON.
        TraceFieldError: it has another shape than the format's.

    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        message = f"wanted the JSON of a DOM snapshot of frame {path!r}, found {error}; take the snapshot again"
        raise TraceSyntaxError(message) from error
    return frame_from_data(data, path=path, url=url, name=name)


def frame_from_data(data: object, *, path: str, url: str, name: str) -> FrameSnapshot:
    """Build a frame from its parsed JSON.

    Raises:
        TraceFieldError: it has another shape than the format's.

    """
    if not isinstance(data, dict) or data.keys() != {"doctype", "nodes", "extras"}:
        raise _wrong("frame", "an object of doctype, nodes and extras", data)
    if not isinstance(data["doctype"], str):
        raise _wrong("doctype", "a string", data["doctype"])
    root = tree_from_flat(data["nodes"])
    extras = _extras(data["extras"])
    return FrameSnapshot(path=path, url=url, name=name, doctype=data["doctype"], root=root, extras=extras)


def frame_to_data(frame: FrameSnapshot) -> dict[str, object]:
    """Return the plain data that `frame_from_data` reads."""
    extras: dict[str, object] = {name: [list(row) for row in getattr(frame.extras, name)] for name in _ROWS}
    if frame.extras.flips is not None:
        extras["flips"] = list(frame.extras.flips)
    return {"doctype": frame.doctype, "nodes": tree_to_flat(frame.root), "extras": extras}


def tree_to_flat(root: DomNode) -> list[object]:
    """Write a tree as the flat list of the module's docstring."""
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
    """Build the tree that a flat list describes.

    Raises:
        TraceFieldError: an entry has the wrong shape, or the counts do not add up to one tree.

    """
    if not isinstance(flat, list):
        raise _wrong("nodes", "an array", flat)
    built: list[DomNode] = []
    texts: dict[str, DomNode] = {}
    for index in range(len(flat) - 1, -1, -1):
        entry = flat[index]
        if isinstance(entry, str):
            known = texts.get(entry)
            if known is None:
                known = texts[entry] = DomNode(tag=TEXT, text=entry)
            built.append(known)
        elif isinstance(entry, list) and len(entry) == 1 and isinstance(entry[0], str):
            built.append(DomNode(tag=VERBATIM, text=entry[0]))
        else:
            built.append(_element(entry, index, built))
    if len(built) != 1 or built[0].is_text:
        raise _wrong("nodes", "one tree with an element at its root", f"{len(built)} roots")
    return built[0]


def _element(entry: object, index: int, built: list[DomNode]) -> DomNode:
    """Build one element, taking what is below it off the end of `built`."""
    if not isinstance(entry, list) or tuple(map(type, entry)) != _ELEMENT_TYPES:
        raise _wrong(f"nodes[{index}]", "a text or an element of seven fields", entry)
    tag, namespace, names, state, count, mode, inner = entry
    sound = count >= 0 and inner >= 0 and count + inner <= len(built) and mode in _MODES and (mode != "" or inner == 0)
    if not sound or not tag or tag in _TEXT_TAGS:
        raise _wrong(f"nodes[{index}]", "a tag, a shadow mode and counts that fit the nodes after it", entry)
    shadow = _take(built, inner) if mode else None
    children = _take(built, count)
    return DomNode(
        tag=tag,
        namespace=namespace,
        attributes=_attributes(names, index) if names else (),
        state=_state(state, index) if state else (),
        children=children,
        shadow=shadow,
        shadow_mode=mode,
    )


def _take(built: list[DomNode], count: int) -> tuple[DomNode, ...]:
    """Take the last nodes off a list that was built backwards."""
    if count == 0:
        return ()
    taken = built[-count:]
    del built[-count:]
    return tuple(taken[::-1])


def _attributes(flat: list[object], index: int) -> tuple[tuple[str, str], ...]:
    """Pair and sort names and values."""
    if len(flat) % 2 or any(type(part) is not str for part in flat):
        raise _wrong(f"nodes[{index}].attributes", "names and values, all strings", flat)
    pairs = cast("list[str]", flat)
    if len(pairs) == 2:  # noqa: PLR2004 - one name and one value
        return ((pairs[0], pairs[1]),)
    return tuple(sorted(zip(pairs[::2], pairs[1::2], strict=True)))


def _state(flat: list[object], index: int) -> tuple[tuple[str, StateValue], ...]:
    """Pair and sort the names and values of a state."""
    if len(flat) % 2:
        raise _wrong(f"nodes[{index}].state", "names and values", flat)
    pairs: list[tuple[str, StateValue]] = []
    for name, value in zip(flat[::2], flat[1::2], strict=True):
        match name, value:
            case str(), str() | bool():
                pairs.append((name, value))
            case str(), list() if all(isinstance(part, str) for part in value):
                pairs.append((name, tuple(value)))
            case _:
                raise _wrong(f"nodes[{index}].state", "strings, booleans or arrays of strings by name", flat)
    return tuple(sorted(pairs, key=lambda pair: pair[0]))


def _extras(data: object) -> FrameExtras:
    """Read canvas digests, hidden elements, frame places and scroll offsets."""
    if not isinstance(data, dict) or data.keys() - {"flips"} != set(_ROWS):
        raise _wrong("extras", "an object of canvas, frames and scroll", data)
    flips = data.get("flips")
    if flips is not None and not (isinstance(flips, list) and all(type(each) is int for each in flips)):
        raise _wrong("extras.flips", "an array of numbers", flips)
    return FrameExtras(
        flips=None if flips is None else tuple(flips),
        canvas=cast("tuple[tuple[int, str], ...]", _rows(data["canvas"], "canvas", (int, str))),
        frames=cast("tuple[tuple[int, int], ...]", _rows(data["frames"], "frames", (int, int))),
        scroll=cast("tuple[tuple[int, float, float], ...]", _rows(data["scroll"], "scroll", (int, float, float))),
    )


def _rows(rows: object, name: str, kinds: tuple[type, ...]) -> tuple[tuple[object, ...], ...]:
    """Read rows of fixed columns; a whole number may stand for a float."""
    if not isinstance(rows, list):
        raise _wrong(f"extras.{name}", "an array", rows)
    for row in rows:
        if not isinstance(row, list) or len(row) != len(kinds):
            raise _wrong(f"extras.{name}", f"rows of {len(kinds)}", row)
        for value, kind in zip(row, kinds, strict=True):
            if type(value) is not kind and not (kind is float and type(value) is int):
                raise _wrong(f"extras.{name}", f"rows of {', '.join(each.__name__ for each in kinds)}", row)
    return tuple(tuple(row) for row in rows)


def _wrong(place: str, wanted: str, found: object) -> TraceFieldError:
    """Make the error for a field of another shape."""
    shown = repr(found)[:120]
    return TraceFieldError(f"DOM snapshot, {place}: wanted {wanted}, found {shown}; take the snapshot again")
