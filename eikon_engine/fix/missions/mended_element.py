"""A step whose element is another one: how it is compared with what was recorded of the old one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from eikon_engine.divergence.identities import locate_all
from eikon_engine.divergence.roles import FIELDS
from eikon_engine.trace.dom.stored import load_page
from eikon_engine.trace.edits import SetFields
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.identity import identity_differences
from eikon_engine.trace.located import positions
from eikon_engine.trace.mask import AttributePart, Mask, SubtreePart
from eikon_engine.trace.patch import SetObservation, TracePatch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.divergence.identities import Located
    from eikon_engine.fix.missions.diagnosis import Diagnosis, Diverged
    from eikon_engine.trace.dom.tree import DomNode
    from eikon_engine.trace.mask import MaskedPart
    from eikon_engine.trace.observation import PageObservation
    from eikon_engine.trace.patch import Operation
    from eikon_engine.trace.target import Identity, Target


CONTROLS: Final = frozenset({"button", "checkbox", "link", "menuitem", "option", "radio", "switch", "tab"})
INLINE: Final = frozenset({"abbr", "b", "bdi", "br", "em", "i", "img", "kbd", "mark", "small", "span", "strong", "sup"})
"""Elements that are part of a label."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Mended:
    """An element that was lost, and the one that takes its place."""

    step: str
    """Id of the action that acts on it."""
    page: int
    """Ordinal of its page."""
    url: str
    """URL of the page as it was recorded; `*` where nobody knows."""
    frame: str
    was: str | None
    """Path at which it stood; None where that is not known."""
    now: str
    recorded: Identity | None
    identity: Identity
    node: DomNode = field(repr=False)

    @property
    def differs_in(self) -> tuple[str, ...]:
        """Name what people tell it by and that is another one."""
        if self.recorded is None:
            return ("element",)
        names = ("role", "name", "text", "ancestors")
        return tuple(name for name in names if getattr(self.recorded, name) != getattr(self.identity, name))

    @property
    def masks(self) -> tuple[Mask, ...]:
        """Name what is not compared with the page: a control with its label, of anything else its own attributes.

        What stands in an element that holds more than a label is content of the page, and compared like all content.
        """
        paths = [each for each in (self.was, self.now) if each is not None]
        parts = [part for path in dict.fromkeys(paths) for part in self._parts(path)]
        return tuple(
            Mask(
                name=f"mended-{number}", reason="the element that is mended", url=self.url, frame=self.frame, part=part
            )
            for number, part in enumerate(parts, start=1)
        )

    def _parts(self, path: str) -> Iterator[MaskedPart]:
        try:
            if _is_label(self.node, self.identity.role):
                yield SubtreePart(path=path)
                return
            known = () if self.recorded is None else self.recorded.attributes
            for name in sorted({name for name, _ in (*known, *self.node.attributes)}):
                yield AttributePart(path=path, name=name)
        except ValidationError:  # a tag that no mask can name: what differs in it is told
            return


def mended(diagnosis: Diagnosis, lost: Diverged, element: Located) -> Mended:
    """Tell which element takes the place of a lost one."""
    assert lost.step is not None  # noqa: S101 - a target is lost of an action
    page, path = _recorded_place(diagnosis, lost)
    return Mended(
        step=lost.step.id,
        page=getattr(lost.step.action, "page", 0),
        url="*" if page is None else page.url,
        frame=element.frame,
        was=path,
        now=element.path,
        recorded=_identity(lost.step),
        identity=element.identity,
        node=element.node,
    )


def _is_label(node: DomNode, role: str) -> bool:
    """Say whether an element is a control, with nothing in it but what it is called."""
    inner = [each for each in node.walk() if each is not node and each.text is None]
    if node.tag in FIELDS:
        return not inner
    return role in CONTROLS and all(each.tag in INLINE or each.namespace for each in inner)


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
