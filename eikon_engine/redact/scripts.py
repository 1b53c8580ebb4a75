"""Recompute the digests of inline scripts, which DOM snapshots store instead of their texts."""

from __future__ import annotations

import re
from typing import Final

_SCRIPT: Final = re.compile(r"<script\b[^>]*>(.*?)</script", re.IGNORECASE | re.DOTALL)
_CHARSET: Final = re.compile(r"charset=\"?([\w-]+)", re.IGNORECASE)
_UINT32_MASK: Final = 0xFFFFFFFF


def changed_script_digests(old: bytes, new: bytes, content_type: str) -> dict[str, str]:
    """Return the new digests of inline scripts by their digests before the document changed."""
    if old == new or "html" not in content_type:
        return {}
    pairs = zip(_script_texts(old, content_type), _script_texts(new, content_type), strict=False)
    return {script_digest(before): script_digest(after) for before, after in pairs if before != after}


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


def _script_texts(document: bytes, content_type: str) -> list[str]:
    found = _CHARSET.search(content_type)
    try:
        text = document.decode(found[1] if found else "utf-8", "replace")
    except LookupError:
        text = document.decode("utf-8", "replace")
    return [each.replace("\r\n", "\n").replace("\r", "\n") for each in _SCRIPT.findall(text)]
