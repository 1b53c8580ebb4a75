"""Find the later steps that depend on a changed page: those whose targets changed or are gone."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.snapshot_elements import locate_elements
from eikon_engine.trace.actions import Read
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.target import identity_differences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eikon_engine.divergence.snapshot_elements import LocatedElement
    from eikon_engine.dom.tree import PageSnapshot
    from eikon_engine.outcome.divergence import Consequence
    from eikon_engine.trace.execution import SkillUsage
    from eikon_engine.trace.target import Identity


def find_dependents(
    later: Iterable[ActionTrace | SkillUsage], page: int, recorded: PageSnapshot, observed: PageSnapshot
) -> Iterator[tuple[ActionTrace | SkillUsage, str]]:
    """Yield the later steps that are expected to fail because of a divergence, with the reason.

    Only steps on the changed page are considered, up to the one that loads a new document. Targets that are not on the
    recorded page yet are ignored, since they are added later.
    """
    before, after = _ElementIndex(recorded), _ElementIndex(observed)
    documents = {(frame.path, frame.url) for frame in recorded.frames}
    for step in later:
        if not isinstance(step, ActionTrace):
            source = step.source
            if source is not None and (source.frame, source.url) in documents:
                yield step, "it reads the changed page"
            continue
        target = getattr(step.action, "target", None)
        if step.action.page == page and target is not None and target.identity is not None:
            why = _change_of_target(target.identity, before, after)
            if why is not None:
                yield step, f"what it reads changed: {why}" if isinstance(step.action, Read) else why
        if step.observation is None or any(load.page == page for load in step.observation.documents):
            return


def is_lost_target(consequence: Consequence) -> bool:
    """Return whether a step that depends on a divergence lost its target there, or has a changed one."""
    return consequence.why.startswith(_LOST)


def find_by_identity(page: PageSnapshot, expected: Identity) -> LocatedElement | None:
    """Return the first element of a page whose identity equals the wanted one."""
    return _ElementIndex(page).find(expected)


class _ElementIndex:
    """The elements of a page, indexed by identity and by location."""

    def __init__(self, page: PageSnapshot) -> None:
        self._by_identity: defaultdict[object, list[LocatedElement]] = defaultdict(list)
        self._children: defaultdict[int, list[LocatedElement]] = defaultdict(list)
        """Child elements by the `id` of their parent; 0 for the roots of frames."""
        for each in (each for frame in page.frames for each in locate_elements(frame)):
            self._by_identity[each.node.tag, each.text, each.attributes].append(each)
            self._children[0 if each.parent is None else id(each.parent)].append(each)

    def find(self, expected: Identity) -> LocatedElement | None:
        """Return the first element whose identity equals the wanted one."""
        alike = self._by_identity.get((expected.tag, expected.text, expected.attributes), [])
        return next((each for each in alike if not identity_differences(expected, each.identity)), None)

    def find_at(self, place: LocatedElement) -> LocatedElement | None:
        """Return the element at the same location as an element of another page."""
        chain = [place]
        while chain[-1].parent is not None:
            chain.append(chain[-1].parent)
        above = 0
        found: LocatedElement | None = None
        for expected in reversed(chain):
            found = next((each for each in self._children[above] if _has_same_location(each, expected)), None)
            if found is None:
                return None
            above = id(found)
        return found


def _has_same_location(each: LocatedElement, place: LocatedElement) -> bool:
    return (each.frame, each.is_shadow_child, each.step) == (place.frame, place.is_shadow_child, place.step)


def _change_of_target(expected: Identity, before: _ElementIndex, after: _ElementIndex) -> str | None:
    there = before.find(expected)
    if there is None or after.find(expected) is not None:
        return None
    now = after.find_at(there)
    if now is None:
        return f"{_LOST}is no longer at {there.path}"
    differences = identity_differences(expected, now.identity)
    return f"{_LOST}at {there.path} has changed: {'; '.join(differences)}" if differences else None


_LOST: Final = "its target "
"""Start of the reason if a step depends on a change because of its target."""
