"""Tell changes of a page that touch nothing of a mission from those that do: the policy `effects`.

A change of the DOM touches the mission if it lies where the recorded action changed the page, if a later step has its
target there, or if a skill that reads the page returns something else for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from eikon_engine.divergence.dom_diff import diff_snapshots

if TYPE_CHECKING:
    from eikon_engine.divergence.dom_diff import DomChange
    from eikon_engine.trace.dom.tree import PageSnapshot

PolicyName: TypeAlias = Literal["strict", "effects"]
"""`strict`: whatever differs is a divergence; `effects`: changes of the DOM that touch nothing are findings."""
_STEP: Final = " > "
_LISTS: Final = frozenset({"added", "removed", "moved"})


def touched_effect(
    before: PageSnapshot | None, recorded: PageSnapshot, observed: PageSnapshot
) -> tuple[DomChange, DomChange] | None:
    """Return an observed change and the recorded effect that it lies at; None if there is none.

    `before` is the page before the action, None where the action loaded it: then the document is its effect, and not
    what stands in it. Places are those of the recorded page after the action.
    """
    if before is None:
        return None
    effects = diff_snapshots(recorded, before)
    for change in diff_snapshots(recorded, observed):
        for effect in effects:
            if effect.frame == change.frame and _meet(change, effect):
                return change, effect
    return None


def _meet(change: DomChange, effect: DomChange) -> bool:
    """Say whether a change lies where an action had its effect.

    The recorded page is the first of both differences: what an action removed is "added" in its effect. Where an action
    changed which children an element has, its effect is the list: everything in those of the same tag, since another
    one may have come or gone instead.
    """
    if effect.kind in _LISTS:
        return _lies_among(change, effect)
    if change.kind == "added":
        return _lies_in(_parent(change), effect.path)
    return _lies_in(change.path, effect.path) or _lies_in(effect.path, change.path)


def _lies_among(change: DomChange, effect: DomChange) -> bool:
    """Say whether a change is one of, or lies in, the children of the tag that an action added, removed or moved."""
    parent = _parent(effect)
    if not _lies_in(change.path, parent):
        return _lies_in(parent, change.path) and change.kind != "added"
    child = change.path.removeprefix(parent).removeprefix(_STEP).partition(_STEP)[0]
    return effect.is_text or not child or _tag(child) == _tag(effect.path.rpartition(_STEP)[2])


def _tag(step: str) -> str:
    return step.partition("#")[0].partition(":nth(")[0]


def _parent(change: DomChange) -> str:
    return change.path if change.is_text else change.path.rpartition(_STEP)[0]


def _lies_in(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}{_STEP}")
