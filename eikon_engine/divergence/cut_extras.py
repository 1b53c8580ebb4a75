"""Update the node numbers in the extras of a snapshot when masks remove nodes from its tree."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.trace.dom.tree import DomNode, FrameExtras

ChildListKind: TypeAlias = Literal["child", "shadow"]
NodeSlot: TypeAlias = tuple[int, ChildListKind, int]
"""`id` of the parent element, which of its lists of nodes, and the index in it."""


def renumber_extras(root: DomNode, extras: FrameExtras, removed: set[NodeSlot]) -> tuple[FrameExtras, tuple[int, ...]]:
    """Renumber the extras without the nodes that are `gone`; also return the indices of the removed frames."""
    blocks = extras.data or ()
    rows: tuple[tuple[int, object] | tuple[int, object, object], ...]
    rows = (*extras.canvas, *blocks, *extras.frames, *extras.scroll)
    noted = {*(extras.flips or ()), *(row[0] for row in rows)}
    kept = dict(_remaining_numbers(root, removed, noted))
    lost = tuple(place for number, place in extras.frames if number not in kept)
    left = replace(
        extras,
        canvas=tuple((kept[number], digest) for number, digest in extras.canvas if number in kept),
        data=None
        if extras.data is None
        else tuple((kept[number], text) for number, text in extras.data if number in kept),
        flips=None if extras.flips is None else tuple(kept[number] for number in extras.flips if number in kept),
        frames=tuple((kept[number], place) for number, place in extras.frames if number in kept),
        scroll=tuple((kept[number], right, down) for number, right, down in extras.scroll if number in kept),
    )
    return left, lost


def _remaining_numbers(root: DomNode, gone: set[NodeSlot], noted: set[int]) -> Iterator[tuple[int, int]]:
    """Yield the old and the new number of each noted node that stays; nodes are numbered in document order."""
    old, new = 0, 0
    waiting: list[tuple[DomNode, bool]] = [(root, True)]
    while waiting:
        node, stays = waiting.pop()
        if stays and old in noted:
            yield old, new
        old, new = old + 1, new + stays
        below: list[tuple[DomNode, bool]] = []
        for kind, nodes in _child_lists(node):
            below.extend((each, stays and (id(node), kind, place) not in gone) for place, each in enumerate(nodes))
        waiting.extend(reversed(below))


def _child_lists(node: DomNode) -> tuple[tuple[ChildListKind, tuple[DomNode, ...]], ...]:
    return ("shadow", node.shadow or ()), ("child", node.children)
