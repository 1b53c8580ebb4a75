"""The document tree of a snapshot."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT: Final = "#text"
VERBATIM: Final = "#verbatim"

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
    known_digest: bytes | None = field(default=None, init=False)
    """Kept by `node_digest` once it was asked for."""

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
    data: tuple[tuple[int, str | int], ...] | None = None
    """Scripts of a JSON type and their text, or how long it is (UTF-16 code units) where that was too long to be kept;
    None in older snapshots."""
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
