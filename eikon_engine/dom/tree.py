"""The document tree of a snapshot."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT: Final = "#text"
VERBATIM: Final = "#verbatim"

StateValue = str | bool | tuple[str, ...]
"""A text, a flag, or a list of names."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class DomNode:
    """An element or a text of a document."""

    tag: str
    """Local name; `#text` for a text, `#verbatim` for a text with significant white space, `#document` if empty."""
    namespace: str = ""
    """Empty for HTML; otherwise `svg`, `mathml`, or a namespace URI."""
    attributes: tuple[tuple[str, str], ...] = ()
    """Sorted by name."""
    text: str | None = None
    """Only set for texts."""
    state: tuple[tuple[str, StateValue], ...] = ()
    """Form and UI state by name, sorted: value, checked, open, focus."""
    children: tuple[DomNode, ...] = ()
    shadow: tuple[DomNode, ...] | None = None
    """Children of the shadow root; None without one."""
    shadow_mode: str = ""
    """`open` or `closed`; empty without a shadow root."""
    cached_digest: bytes | None = field(default=None, init=False)
    """Cache of `node_digest`."""

    @property
    def is_text(self) -> bool:
        """Whether this is a text."""
        return self.text is not None

    def attribute(self, name: str) -> str | None:
        """Return the value of an attribute; None if it is missing."""
        return next((value for key, value in self.attributes if key == name), None)

    def state_value(self, name: str) -> StateValue | None:
        """Return the value of a state; None if it is missing."""
        return next((value for key, value in self.state if key == name), None)

    def walk(self) -> Iterator[DomNode]:
        """Yield this node and its descendants in document order, a shadow root before the children of its host."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            if node.children:
                waiting += node.children[::-1]
            if node.shadow:
                waiting += node.shadow[::-1]

    def own_parts(self) -> tuple[object, ...]:
        """Return everything about this node except its descendants."""
        below = (len(self.children), None if self.shadow is None else len(self.shadow), self.shadow_mode)
        return (self.tag, self.namespace, self.attributes, self.text, self.state, below)

    def __eq__(self, other: object) -> bool:
        """Compare whole trees, without recursion."""
        if not isinstance(other, DomNode):
            return NotImplemented
        return self is other or all(
            mine is theirs or mine.own_parts() == theirs.own_parts()
            for mine, theirs in zip(self.walk(), other.walk(), strict=False)
        )

    def __hash__(self) -> int:
        """Hash the node without its descendants; equal trees have equal hashes."""
        return hash(self.own_parts())

    def __repr__(self) -> str:
        """Show the node without its descendants."""
        if self.text is not None:
            return f"DomNode({self.tag}, text={self.text!r})"
        return f"DomNode({self.tag}, {self.attributes!r}, {self.state!r}, {len(self.children)} children)"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameExtras:
    """Data of a snapshot outside the tree, excluded from digests. Nodes are counted in document order."""

    canvas: tuple[tuple[int, str], ...] = ()
    """Index of a canvas and the digest of its pixels."""
    data: tuple[tuple[int, str | int], ...] | None = None
    """Data blocks: node and text, or the length of the text (UTF-16 code units) if it was too long to store; None in
    older snapshots."""
    flips: tuple[int, ...] | None = None
    """Elements whose visibility differs from their parent's; None in older snapshots."""
    frames: tuple[tuple[int, int], ...] = ()
    """Node of a frame element, and the index of its frame among the child frames."""
    scroll: tuple[tuple[int, float, float], ...] = ()
    """Node, pixels scrolled right, pixels scrolled down; only if not zero."""


def child_frame_path(path: str, index: int) -> str:
    """Return the path of a child frame from the path of its parent and its index among the child frames."""
    return f"{path}.{index}" if path else str(index)


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameSnapshot:
    """The document of one frame."""

    path: str
    """Position in the frame tree: empty for the main frame, `0.1` for the second child of its first child."""
    url: str
    name: str
    doctype: str
    """`html`, or name, public and system id joined by `|`; empty if there is none."""
    root: DomNode
    extras: FrameExtras = field(default_factory=FrameExtras)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSnapshot:
    """The documents of all frames of a page, main frame first."""

    frames: tuple[FrameSnapshot, ...]

    @property
    def main(self) -> FrameSnapshot:
        """The document of the main frame."""
        return self.frames[0]


def build_text_node(text: str, *, verbatim: bool = False) -> DomNode:
    """Build a text node."""
    return DomNode(tag=VERBATIM if verbatim else TEXT, text=text)


def is_significant(node: DomNode) -> bool:
    """Return whether a node counts for digests and differences: a white-space-only text does not."""
    return node.tag != TEXT or node.text is None or not is_blank(node.text)


HTML_WHITESPACE: Final = " \t\n\f\r"
"""The white space of HTML, which does not include the no-break space."""


def is_blank(text: str) -> bool:
    """Return whether a text consists of white space only."""
    return not text.strip(HTML_WHITESPACE)
