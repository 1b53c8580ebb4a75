"""Data blocks: scripts of a JSON type, which browsers do not run and skills may read.

A script is a data block if its type is `application/json`, `text/json`, or ends in `+json`, such as
`application/ld+json` (https://mimesniff.spec.whatwg.org/#json-mime-type). `importmap` and `speculationrules` are not:
browsers act on them. `dom_snapshot.js` stores the texts and omits blocks that are too long.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from eikon_engine.trace.dom.tree import DomNode, FrameExtras, FrameSnapshot

OMITTED_LENGTH_ATTRIBUTE: Final = "data-eikon-left-out"
"""Attribute of a rendered block whose text was too long to store: its length in UTF-16 code units."""
_JSON_TYPE: Final = re.compile(r"\s*(application/json|text/json|[^\s;/]+/[^\s;/]+\+json)\s*(;|\Z)", re.IGNORECASE)


def block_texts(extras: FrameExtras) -> dict[int, str | int]:
    """Return the text of each data block, or its length if it was not stored, by the index of its node."""
    return dict(extras.data or ())


def rendered_block(node: DomNode, text: str | int) -> tuple[DomNode, str] | None:
    """Return the element and the content to render for a data block; None for anything a browser may run.

    `<` is written as a JSON escape, so that no text closes the block.
    """
    kind = node.attribute("type")
    if node.tag != "script" or node.namespace or kind is None or not _JSON_TYPE.match(kind):
        return None
    others = tuple(
        (name, value) for name, value in node.attributes if name.lower() not in {"type", OMITTED_LENGTH_ATTRIBUTE}
    )
    attributes = (("type", kind), *others)
    if isinstance(text, int):
        return replace(node, attributes=(*attributes, (OMITTED_LENGTH_ATTRIBUTE, str(text)))), ""
    content = text.replace("<", "\\u003c").replace("\r\n", "\n").replace("\r", "\n")
    return replace(node, attributes=attributes), content


def without_unrecorded_blocks(recorded: FrameSnapshot, observed: FrameSnapshot) -> FrameSnapshot:
    """Return an observed document without what the recorded snapshot could not contain.

    Older snapshots have no data blocks, so a block in the observed document is not a difference to them.
    """
    if recorded.extras.data is not None or not observed.extras.data:
        return observed
    return replace(observed, extras=replace(observed.extras, data=None))
