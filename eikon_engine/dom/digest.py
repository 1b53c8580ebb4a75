"""Digests of snapshots, and the bytes they are stored as.

The digest of a node is BLAKE2b-256 over its own parts, length-prefixed, and the digests of its children (a Merkle
tree), so equal digests mean equal subtrees. What does not affect rendering is excluded: leading and trailing white
space of a text, white-space-only texts, scroll offsets and pixels.
"""

from __future__ import annotations

import json
from dataclasses import replace as changed
from hashlib import blake2b, sha256
from itertools import chain
from typing import TYPE_CHECKING, Final

import zstandard

from eikon_engine.dom.snapshot_format import frame_from_data, frame_to_data
from eikon_engine.dom.tree import (
    HTML_WHITESPACE,
    TEXT,
    DomNode,
    FrameExtras,
    FrameSnapshot,
    PageSnapshot,
    StateValue,
    is_significant,
)
from eikon_engine.errors import TraceError, TraceFieldError, TraceSyntaxError
from eikon_engine.files.limits import MAX_DOCUMENT_BYTES, MAX_PLAIN_VALUES, require_size, require_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SNAPSHOT_FORMAT: Final = 1
_DIGEST_SIZE: Final = 32
_UTF_8: Final = ("utf-8", "surrogatepass")
_COMPRESSION_LEVEL: Final = 9


def node_digest(root: DomNode) -> bytes:
    """Return the digest of a node; it is cached in the node, so only new nodes cost anything."""
    if root.cached_digest is not None:
        return root.cached_digest
    waiting, fresh = [root], []
    while waiting:
        node = waiting.pop()
        if node.cached_digest is None:
            fresh.append(node)
            waiting += node.children
            waiting += node.shadow or ()
    digest = b""
    for node in reversed(fresh):
        digest = blake2b(_node_bytes(node), digest_size=_DIGEST_SIZE).digest()
        object.__setattr__(node, "cached_digest", digest)
    return digest


def frame_digest(frame: FrameSnapshot) -> str:
    """Return the digest of one document, including its doctype, as 64 hexadecimal digits."""
    return _frame_digest(frame).hex()


def visibility_digest(frame: FrameSnapshot) -> str | None:
    """Return the digest of the set of hidden elements, as 64 hexadecimal digits; None if it was not recorded."""
    flips = frame.extras.flips
    return None if flips is None else blake2b(json.dumps(flips).encode(), digest_size=_DIGEST_SIZE).hexdigest()


def page_digest(page: PageSnapshot) -> str:
    """Return the digest of a page: path, name and document of each frame, without its URL."""
    parts = [(frame.path, frame.name, frame_digest(frame)) for frame in page.frames]
    return blake2b(_length_prefixed(chain.from_iterable(parts)), digest_size=_DIGEST_SIZE).hexdigest()


def snapshot_json(page: PageSnapshot) -> bytes:
    """Return the canonical JSON of a page: sorted keys, no white space, UTF-8."""
    frames = [{"path": each.path, "url": each.url, "name": each.name, **frame_to_data(each)} for each in page.frames]
    document = {"format": SNAPSHOT_FORMAT, "frames": frames}
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode(*_UTF_8)


def content_address(page: PageSnapshot) -> str:
    """Return the SHA-256 of the canonical JSON, under which a snapshot is stored."""
    return sha256(snapshot_json(page)).hexdigest()


def encode_snapshot(page: PageSnapshot) -> bytes:
    """Return the canonical JSON of a page, compressed with zstd."""
    return zstandard.ZstdCompressor(level=_COMPRESSION_LEVEL).compress(snapshot_json(page))


def decode_snapshot(data: bytes) -> PageSnapshot:
    """Decode the result of `encode_snapshot`.

    Raises:
        TraceError: the data cannot be decompressed; the format version is newer.
        TooLargeError: it is larger than that of any page.
        TraceSyntaxError: the decompressed data is not JSON.
        TraceFieldError: the data does not have the shape of the format.

    """
    try:
        # `max_output_size` only applies if the frame does not state its size.
        require_size(zstandard.frame_content_size(data), MAX_DOCUMENT_BYTES, "DOM snapshot")
        raw = zstandard.ZstdDecompressor().decompress(data, max_output_size=MAX_DOCUMENT_BYTES)
    except zstandard.ZstdError as error:
        message = f"expected a zstd-compressed DOM snapshot, got {error}; restore the bundle or record again"
        raise TraceError(message, code="attachment-corrupt") from error
    return snapshot_from_json(raw)


def snapshot_from_json(raw: bytes) -> PageSnapshot:
    """Parse the canonical JSON of a page.

    Raises:
        TraceSyntaxError: the text is not JSON.
        TooLargeError: it is larger than that of any page.
        TraceError: the format version is newer.
        TraceFieldError: the data does not have the shape of the format.

    """
    require_size(len(raw), MAX_DOCUMENT_BYTES, "DOM snapshot")
    require_values(raw, "DOM snapshot", MAX_PLAIN_VALUES)
    try:
        document = json.loads(raw.decode(*_UTF_8))
    except (ValueError, RecursionError) as error:
        message = f"expected the JSON of a DOM snapshot, got {error}; restore the bundle or record again"
        raise TraceSyntaxError(message) from error
    if not isinstance(document, dict) or document.keys() != {"format", "frames"}:
        raise TraceFieldError("DOM snapshot: expected an object with format and frames; record again")
    if document["format"] != SNAPSHOT_FORMAT:
        found = repr(document["format"])[:40]
        raise TraceError(
            f"DOM snapshot: expected format {SNAPSHOT_FORMAT}, got {found}; use a newer Eikon", code="trace-version"
        )
    return _page_from_data(document["frames"])


def map_strings(page: PageSnapshot, replace: Callable[[str], str]) -> PageSnapshot:
    """Apply `replace` to every string of a page: texts, attribute values, states, data blocks, names, URLs.

    `replace` is called once per distinct string; the same page is returned if nothing changes.
    """
    known = {text: replace(text) for text in set(chain.from_iterable(_strings(frame) for frame in page.frames))}
    known = {before: after for before, after in known.items() if before != after}
    if not known:
        return page
    frames = (
        changed(
            frame,
            url=known.get(frame.url, frame.url),
            name=known.get(frame.name, frame.name),
            doctype=known.get(frame.doctype, frame.doctype),
            root=_mapped_tree(frame.root, known),
            extras=_mapped_extras(frame.extras, known),
        )
        for frame in page.frames
    )
    return PageSnapshot(frames=tuple(frames))


def _frame_digest(frame: FrameSnapshot) -> bytes:
    """Hash the doctype and the tree of a frame."""
    return blake2b(_length_prefixed((frame.doctype,)) + node_digest(frame.root), digest_size=_DIGEST_SIZE).digest()


def _node_bytes(node: DomNode) -> bytes:
    """Serialize a node whose children have digests; outer white space of a text is stripped unless significant."""
    if node.text is not None:
        return (
            f"t{node.text.strip(HTML_WHITESPACE)}".encode(*_UTF_8)
            if node.tag == TEXT
            else f"v{node.text}".encode(*_UTF_8)
        )
    shadow = b"" if node.shadow is None else _child_digests(node.shadow)
    return _element_bytes(node) + shadow + _child_digests(node.children)


def _element_bytes(node: DomNode) -> bytes:
    """Serialize an element without its children; different elements never give the same bytes."""
    parts = [node.tag, node.namespace, node.shadow_mode, str(len(node.attributes))]
    for pair in node.attributes:
        parts += pair
    if node.state:
        parts.extend(part for name, value in node.state for part in _state_parts(name, value))
    return b"e" + _length_prefixed(parts)


def _state_parts(name: str, value: StateValue) -> tuple[str, ...]:
    """Serialize one state with its type, so that `true` and "true" differ."""
    if isinstance(value, bool):
        return (name, "b", "1" if value else "0")
    if isinstance(value, str):
        return (name, "s", value)
    return (name, f"l{len(value)}", *value)


def _length_prefixed(parts: Iterable[str]) -> bytes:
    """Join texts, prefixed with their lengths."""
    texts = tuple(parts)
    return f"{','.join(map(str, map(len, texts)))}|{''.join(texts)}".encode(*_UTF_8)


def _child_digests(nodes: tuple[DomNode, ...]) -> bytes:
    """Join the digests of the significant nodes, prefixed with their number."""
    if not nodes:
        return b"0:"
    parts = [node.cached_digest or b"" for node in nodes if node.text is None or is_significant(node)]
    return b"%d:%b" % (len(parts), b"".join(parts))


def _page_from_data(frames: object) -> PageSnapshot:
    """Build a page from the data of its frames."""
    if not isinstance(frames, list) or not frames:
        raise TraceFieldError("DOM snapshot, frames: expected at least one frame, got none; record again")
    built = []
    for data in frames:
        match data:
            case {"path": str() as path, "url": str() as url, "name": str() as name, **rest}:
                built.append(frame_from_data(rest, path=path, url=url, name=name))
            case _:
                raise TraceFieldError("DOM snapshot, frames: expected path, url and name; record again")
    return PageSnapshot(frames=tuple(built))


def _strings(frame: FrameSnapshot) -> Iterable[str]:
    """Yield every string of a frame that may contain page data."""
    yield from (frame.url, frame.name, frame.doctype)
    yield from (text for _, text in frame.extras.data or () if isinstance(text, str))
    for node in frame.root.walk():
        if node.text is not None:
            yield node.text
        for _, value in node.attributes:
            yield value
        for _, part in node.state:
            if isinstance(part, str):
                yield part
            elif isinstance(part, tuple):
                yield from part


def _mapped_extras(extras: FrameExtras, known: dict[str, str]) -> FrameExtras:
    """Replace the texts of data blocks; lengths stay."""
    if not extras.data:
        return extras
    data = tuple((node, known.get(text, text) if isinstance(text, str) else text) for node, text in extras.data)
    return changed(extras, data=data)


def _mapped_tree(root: DomNode, known: dict[str, str]) -> DomNode:
    """Rebuild a tree with replaced strings; unchanged subtrees are shared."""
    done: dict[int, DomNode] = {}
    for node in reversed(list(root.walk())):
        if id(node) not in done:
            done[id(node)] = _mapped_node(node, known, done)
    return done[id(root)]


def _mapped_node(node: DomNode, known: dict[str, str], done: dict[int, DomNode]) -> DomNode:
    """Rebuild one node whose children are rebuilt."""
    if node.text is not None:
        return changed(node, text=known[node.text]) if node.text in known else node
    attributes = tuple([(name, known.get(value, value)) for name, value in node.attributes])
    state = tuple([(name, _mapped_state(value, known)) for name, value in node.state])
    children = tuple([done[id(each)] for each in node.children])
    shadow = None if node.shadow is None else tuple([done[id(each)] for each in node.shadow])
    below = zip(chain(children, shadow or ()), chain(node.children, node.shadow or ()), strict=True)
    if attributes == node.attributes and state == node.state and all(new is old for new, old in below):
        return node
    return changed(node, attributes=attributes, state=state, children=children, shadow=shadow)


def _mapped_state(value: StateValue, known: dict[str, str]) -> StateValue:
    """Replace the strings of one state."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return known.get(value, value)
    return tuple([known.get(part, part) for part in value])
