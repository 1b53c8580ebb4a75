"""Inline scripts: a snapshot has only their digests, so their texts come from the documents that pages received."""

from __future__ import annotations

import re
from dataclasses import replace as changed
from typing import TYPE_CHECKING, Final

from eikon_engine.dom.tree import PageSnapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eikon_engine.dom.tree import FrameSnapshot

SCRIPT_STATE: Final = "script"
"""State of a script element that has the digest of its text."""
MAX_SCRIPT_LENGTH: Final = 65_536
"""Longest text that is kept: texts are compared at every look at a page."""
_BEGIN: Final = re.compile(r"<script\b", re.IGNORECASE)
_END: Final = re.compile("</script", re.IGNORECASE)
_UINT32_MASK: Final = 0xFFFFFFFF
_CHARSET: Final = re.compile(r"charset=\"?([\w-]+)", re.IGNORECASE)


def find_inline_scripts(document: str) -> Iterator[str]:
    """Yield the texts of the scripts in an HTML document, in order; those of external scripts are empty."""
    place = 0
    while (tag := _BEGIN.search(document, place)) and (begin := document.find(">", tag.end()) + 1):
        end = _END.search(document, begin)
        if end is None:
            return
        yield document[begin : end.start()].replace("\r\n", "\n").replace("\r", "\n")
        place = end.end()


def script_digest(text: str) -> str:
    """Return the digest of a script as dom_snapshot.js computes it: cyrb53 over UTF-16 code units, all 64 bits."""
    left, right = 0xDEADBEEF, 0x41C6CE57
    data = text.encode("utf-16-le", "surrogatepass")
    for code in memoryview(data).cast("H"):
        left = (left ^ code) * 2654435761 & _UINT32_MASK
        right = (right ^ code) * 1597334677 & _UINT32_MASK
    left = ((left ^ left >> 16) * 2246822507 ^ (right ^ right >> 13) * 3266489909) & _UINT32_MASK
    right = ((right ^ right >> 16) * 2246822507 ^ (left ^ left >> 13) * 3266489909) & _UINT32_MASK
    return f"{right:08x}{left:08x}"


def differing_scripts(one: str, other: str) -> dict[str, str]:
    """Return the inline scripts that only one of two versions of a document has, by digest; no empty and long ones."""
    ours, theirs = set(find_inline_scripts(one)), set(find_inline_scripts(other))
    return {script_digest(text): text for text in ours ^ theirs if 0 < len(text) <= MAX_SCRIPT_LENGTH}


def changed_script_digests(old: bytes, new: bytes, content_type: str) -> dict[str, str]:
    """Return the new digests of inline scripts by their digests before the document changed."""
    if old == new or "html" not in content_type:
        return {}
    pairs = zip(_script_texts(old, content_type), _script_texts(new, content_type), strict=False)
    return {script_digest(before): script_digest(after) for before, after in pairs if before != after}


def _script_texts(document: bytes, content_type: str) -> list[str]:
    found = _CHARSET.search(content_type)
    try:
        text = document.decode(found[1] if found else "utf-8", "replace")
    except LookupError:
        text = document.decode("utf-8", "replace")
    return list(find_inline_scripts(text))


def with_script_texts(page: PageSnapshot, texts: Mapping[str, str]) -> PageSnapshot:
    """Return a snapshot that has the texts of inline scripts like those of data blocks, as far as they are known."""
    if not texts:
        return page
    return PageSnapshot(frames=tuple(_with_texts(frame, texts) for frame in page.frames))


def _with_texts(frame: FrameSnapshot, texts: Mapping[str, str]) -> FrameSnapshot:
    known = dict(frame.extras.data or ())
    found = {
        place: texts[digest]
        for place, node in enumerate(frame.root.walk())
        if place not in known
        for name, digest in node.state
        if name == SCRIPT_STATE and isinstance(digest, str) and digest in texts
    }
    if not found:
        return frame
    data: tuple[tuple[int, str | int], ...] = tuple(sorted((known | found).items()))
    return changed(frame, extras=changed(frame.extras, data=data))
