"""Say how two data blocks differ: by their JSON, where both are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.body_diff import ABSENT
from eikon_engine.divergence.json_diff import ChangeKind, compare_outputs
from eikon_engine.errors import TraceFieldError
from eikon_engine.trace.dom.data_blocks import block_texts
from eikon_engine.trace.json_value import canonical_json

if TYPE_CHECKING:
    from eikon_engine.divergence.json_diff import OutputChange
    from eikon_engine.trace.dom.tree import FrameSnapshot
    from eikon_engine.trace.json_value import JsonValue

SHOWN: Final = 3
"""More values than these are only counted."""


def blocks_of(frame: FrameSnapshot) -> dict[int, str]:
    """Return the texts of the data blocks of a document that were kept, by `id(node)`."""
    texts = block_texts(frame.extras)
    if not texts:
        return {}
    found = ((node, texts.get(place)) for place, node in enumerate(frame.root.walk()))
    return {id(node): text for node, text in found if isinstance(text, str)}


def block_difference(expected: str, observed: str) -> tuple[str, str]:
    """Return what two different data blocks say at the places where they differ; the texts where JSON tells nothing."""
    try:
        changes = compare_outputs(json.loads(expected), json.loads(observed))
    except (ValueError, RecursionError, TraceFieldError):
        return expected, observed
    if not changes:
        return expected, observed
    more = f"; {len(changes) - SHOWN} more" if len(changes) > SHOWN else ""
    before = "; ".join(_side(each, ChangeKind.ADDED, each.expected) for each in changes[:SHOWN])
    after = "; ".join(_side(each, ChangeKind.REMOVED, each.observed) for each in changes[:SHOWN])
    return f"{before}{more}", f"{after}{more}"


def _side(change: OutputChange, absent: ChangeKind, value: JsonValue) -> str:
    return f"{change.path} {ABSENT if change.kind is absent else canonical_json(value)}"
