"""Data blocks: scripts whose type is JSON, which no browser runs and skills may read.

A script is one by its type: `application/json`, `text/json`, or one that ends in `+json`, as `application/ld+json`
(https://mimesniff.spec.whatwg.org/#json-mime-type). `importmap` and `speculationrules` are orders to the browser.
`dom_snapshot.js` keeps the texts, and leaves out whole blocks that are too long.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from eikon_engine.trace.dom.tree import DomNode, FrameExtras, FrameSnapshot

LEFT_OUT: Final = "data-eikon-left-out"
"""Attribute of a served block whose text was too long to be kept: how long it was, in UTF-16 code units."""
_JSON_TYPE: Final = re.compile(r"\s*(application/json|text/json|[^\s;/]+/[^\s;/]+\+json)\s*(;|\Z)", re.IGNORECASE)


def block_texts(extras: FrameExtras) -> dict[int, str | int]:
    """Return the text of each data block, or its length, by the number of its node."""
    return dict(extras.data or ())


def served_block(node: DomNode, text: str | int) -> tuple[DomNode, str] | None:
    """Return the element and the content that a data block is served as; None for what a browser may take for code.

    `<` is written as JSON escapes it, so that no text ends the block.
    """
    kind = node.attribute("type")
    if node.tag != "script" or node.namespace or kind is None or not _JSON_TYPE.match(kind):
        return None
    others = tuple((name, value) for name, value in node.attributes if name.lower() not in {"type", LEFT_OUT})
    attributes = (("type", kind), *others)
    if isinstance(text, int):
        return replace(node, attributes=(*attributes, (LEFT_OUT, str(text)))), ""
    content = text.replace("<", "\\u003c").replace("\r\n", "\n").replace("\r", "\n")
    return replace(node, attributes=attributes), content


def as_kept_by(recorded: FrameSnapshot, observed: FrameSnapshot) -> FrameSnapshot:
    """Return an observed document as a skill would have seen it when another one was recorded.

    Older snapshots kept no data blocks: against one of them, a block that was always there is none that came.
    """
    if recorded.extras.data is not None or not observed.extras.data:
        return observed
    return replace(observed, extras=replace(observed.extras, data=None))
