"""Describe the difference of two data blocks (`<script type="application/json">`) by their JSON values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.body_diff import ABSENT
from eikon_engine.divergence.json_diff import JsonChangeKind, diff_json
from eikon_engine.errors import TraceFieldError
from eikon_engine.trace.dom.data_blocks import block_texts
from eikon_engine.trace.json_value import canonical_json

if TYPE_CHECKING:
    from eikon_engine.divergence.json_diff import JsonChange
    from eikon_engine.trace.dom.tree import FrameSnapshot
    from eikon_engine.trace.json_value import JsonValue

MAX_SHOWN_VALUES: Final = 3
"""Maximum number of values shown; the others are counted."""


def data_block_texts(frame: FrameSnapshot) -> dict[int, str]:
    """Return the stored texts of the data blocks of a document, by `id(node)`."""
    texts = block_texts(frame.extras)
    if not texts:
        return {}
    found = ((node, texts.get(place)) for place, node in enumerate(frame.root.walk()))
    return {id(node): text for node, text in found if isinstance(text, str)}


def diff_data_blocks(expected: str, observed: str) -> tuple[str, str]:
    """Return the differing values of two data blocks; the whole texts if they cannot be compared as JSON."""
    try:
        changes = diff_json(json.loads(expected), json.loads(observed))
    except (ValueError, RecursionError, TraceFieldError):
        return expected, observed
    if not changes:
        return expected, observed
    more = f"; {len(changes) - MAX_SHOWN_VALUES} more" if len(changes) > MAX_SHOWN_VALUES else ""
    before = "; ".join(_format_side(each, JsonChangeKind.ADDED, each.expected) for each in changes[:MAX_SHOWN_VALUES])
    after = "; ".join(_format_side(each, JsonChangeKind.REMOVED, each.observed) for each in changes[:MAX_SHOWN_VALUES])
    return f"{before}{more}", f"{after}{more}"


def _format_side(change: JsonChange, absent: JsonChangeKind, value: JsonValue) -> str:
    return f"{change.path} {ABSENT if change.kind is absent else canonical_json(value)}"
