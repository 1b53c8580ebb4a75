"""A step whose element is another one: how it is compared with what was recorded of the old one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from eikon_engine.divergence.identities import locate_all
from eikon_engine.trace.dom.stored import load_page
from eikon_engine.trace.edits import SetFields
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.identity import identity_differences
from eikon_engine.trace.located import positions
from eikon_engine.trace.mask import Mask, SubtreePart
from eikon_engine.trace.patch import SetObservation, TracePatch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.divergence.identities import Located
    from eikon_engine.fix.missions.diagnosis import Diagnosis, Diverged
    from eikon_engine.trace.observation import PageObservation
    from eikon_engine.trace.patch import Operation
    from eikon_engine.trace.target import Identity, Target


def comparing_patch(step: ActionTrace, selector: str, identity: Identity, edit: SetFields) -> TracePatch:
    """Let a step act on another element, and keep all that was recorded after it to compare with."""
    if step.observation is None:
        return TracePatch(operations=(edit,))
    reason = edit.reason
    moved = SetFields(step=step.id, fields={"action.target.selector": selector}, same_element=True, reason=reason)
    known = SetObservation(action=step.id, observation=step.observation, identity=identity, reason=reason)
    target: Target | None = getattr(step.action, "target", None)
    same = target is not None and target.selector == selector
    operations: tuple[Operation, ...] = (known,) if same else (moved, known)
    return TracePatch(operations=operations)


def masks_of(diagnosis: Diagnosis, lost: Diverged, element: Located) -> tuple[Mask, ...]:
    """Name the element where it stood and where it stands."""
    page, path = _recorded_place(diagnosis, lost)
    paths = [each for each in (path, element.path) if each is not None]
    return tuple(_masks(paths, "*" if page is None else page.url, element.frame))


def _masks(paths: list[str], url: str, frame: str) -> Iterator[Mask]:
    for number, path in enumerate(dict.fromkeys(paths), start=1):
        try:
            part = SubtreePart(path=path)
        except ValidationError:  # a tag that no mask can name: what differs in it is told
            continue
        yield Mask(name=f"mended-{number}", reason="the element that is mended", url=url, frame=frame, part=part)


def _recorded_place(diagnosis: Diagnosis, lost: Diverged) -> tuple[PageObservation | None, str | None]:
    """Return the page that the step acted on when it was recorded, and where the element stood in it."""
    before = _before(diagnosis, lost)
    identity = None if lost.step is None else _identity(lost.step)
    snapshot = None if before is None else load_page(diagnosis.bundle.dom, before)
    if snapshot is None or identity is None:
        return before, None
    everything = (each for frame in snapshot.frames for each in locate_all(frame))
    found = [each.path for each in everything if not identity_differences(identity, each.identity)]
    return before, found[0] if len(found) == 1 else None


def _before(diagnosis: Diagnosis, lost: Diverged) -> PageObservation | None:
    """Return the page as it was recorded last before the step."""
    ordinal = 0 if lost.step is None else getattr(lost.step.action, "page", 0)
    seen: PageObservation | None = None
    for _, step in positions(diagnosis.bundle.trace):
        if lost.step is not None and step.id == lost.step.id:
            break
        observed = step.observation if isinstance(step, ActionTrace) else None
        if observed is not None:
            seen = next((page for page in observed.pages if page.page == ordinal), None)
    return seen


def _identity(step: ActionTrace) -> Identity | None:
    target: Target | None = getattr(step.action, "target", None)
    return None if target is None else target.identity
