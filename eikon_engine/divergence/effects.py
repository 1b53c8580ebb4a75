"""The policy `effects`: find the changes of a page that are where the recorded action changed it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from eikon_engine.divergence.dom_diff import DOCUMENT, diff_snapshots

if TYPE_CHECKING:
    from eikon_engine.divergence.dom_diff import DomChange
    from eikon_engine.dom.tree import PageSnapshot

PolicyName: TypeAlias = Literal["strict", "effects"]
"""`strict`: every difference is a divergence. `effects`: changes that do not affect the mission are findings."""
_SEPARATOR: Final = " > "
_CHILD_LIST_CHANGES: Final = frozenset({"added", "removed", "moved"})


def find_overlapping_effect(
    before: PageSnapshot,
    recorded: PageSnapshot,
    observed: PageSnapshot,
    observed_before: PageSnapshot | None = None,
) -> tuple[DomChange, DomChange] | None:
    """Return an observed change and the recorded effect of the action that it overlaps; None if there is none.

    `before` is the recorded page before the action, `observed_before` that of the replay: what differed already then
    is no effect of the action. Paths are those of the recorded page after the action.
    """
    effects = diff_snapshots(recorded, before)
    earlier = set() if observed_before is None else {each.key for each in diff_snapshots(before, observed_before)}
    for change in diff_snapshots(recorded, observed):
        if change.key in earlier:
            continue
        for effect in effects:
            if effect.frame == change.frame and _overlaps(change, effect):
                return change, effect
    return None


def _overlaps(change: DomChange, effect: DomChange) -> bool:
    """Return whether a change overlaps an effect of the action.

    Both differences start from the recorded page after the action, so an element removed by the action is "added" in
    its effect. If an action changed the children of an element, its effect covers all children of the same tag, since
    a different one may have been added or removed instead.
    """
    if change.path == DOCUMENT:
        return True
    if effect.kind in _CHILD_LIST_CHANGES:
        return _is_among_children(change, effect)
    if change.kind == "added":
        return _is_inside(_parent(change), effect.path)
    return _is_inside(change.path, effect.path) or _is_inside(effect.path, change.path)


def _is_among_children(change: DomChange, effect: DomChange) -> bool:
    """Return whether a change is in the children with the tag that an action added, removed or moved."""
    parent = _parent(effect)
    if not _is_inside(change.path, parent):
        return _is_inside(parent, change.path) and change.kind != "added"
    child = change.path.removeprefix(parent).removeprefix(_SEPARATOR).partition(_SEPARATOR)[0]
    return effect.is_text or not child or _tag(child) == _tag(effect.path.rpartition(_SEPARATOR)[2])


def _tag(step: str) -> str:
    return step.partition("#")[0].partition(":nth(")[0]


def _parent(change: DomChange) -> str:
    return change.path if change.is_text else change.path.rpartition(_SEPARATOR)[0]


def _is_inside(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}{_SEPARATOR}")
