"""A step whose element was replaced: how to compare it with the recording."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from eikon_engine.divergence.snapshot_elements import locate_elements
from eikon_engine.dom.roles import FIELD_TAGS
from eikon_engine.trace.bundle import load_page
from eikon_engine.trace.edits import SetFields
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.masks import AttributePart, Mask, SubtreePart
from eikon_engine.trace.patch import SetObservation, TracePatch
from eikon_engine.trace.steps import iter_steps
from eikon_engine.trace.target import identity_differences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.divergence.snapshot_elements import LocatedElement
    from eikon_engine.dom.tree import DomNode
    from eikon_engine.repair.diagnosis import Diagnosis, DivergedStep
    from eikon_engine.trace.masks import MaskedPart
    from eikon_engine.trace.observation import PageObservation
    from eikon_engine.trace.patch import Operation
    from eikon_engine.trace.target import Identity, Target


CONTROLS: Final = frozenset({"button", "checkbox", "link", "menuitem", "option", "radio", "switch", "tab"})
INLINE_TAGS: Final = frozenset(
    {"abbr", "b", "bdi", "br", "em", "i", "img", "kbd", "mark", "small", "span", "strong", "sup"}
)
"""Elements that may be part of a label."""


def comparison_patch(step: ActionTrace, selector: str, identity: Identity, edit: SetFields) -> TracePatch:
    """Return the patch that retargets a step but keeps everything recorded after it for comparison."""
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
class ReplacedElement:
    """A lost element and its replacement."""

    step: str
    """Id of the action that targets it."""
    page: int
    """Ordinal of its page."""
    url: str
    """Recorded URL of the page; `*` if unknown."""
    frame: str
    recorded_path: str | None
    """Recorded path of the element; None if unknown."""
    replacement_path: str
    recorded_identity: Identity | None
    identity: Identity
    node: DomNode = field(repr=False)

    @property
    def differs_in(self) -> tuple[str, ...]:
        """Return the identifying properties that differ."""
        if self.recorded_identity is None:
            return ("element",)
        names = ("role", "name", "text", "ancestors")
        return tuple(name for name in names if getattr(self.recorded_identity, name) != getattr(self.identity, name))

    @property
    def masks(self) -> tuple[Mask, ...]:
        """Return the masks for comparing pages: a control with its label, or only the element's own attributes.

        Content of an element that holds more than a label is page content, and compared.
        """
        paths = [each for each in (self.recorded_path, self.replacement_path) if each is not None]
        parts = [part for path in dict.fromkeys(paths) for part in self._parts(path)]
        return tuple(
            Mask(name=f"replaced-{number}", reason="the replaced element", url=self.url, frame=self.frame, part=part)
            for number, part in enumerate(parts, start=1)
        )

    def _parts(self, path: str) -> Iterator[MaskedPart]:
        try:
            if _is_labelled_control(self.node, self.identity.role):
                yield SubtreePart(path=path)
                return
            known = () if self.recorded_identity is None else self.recorded_identity.attributes
            for name in sorted({name for name, _ in (*known, *self.node.attributes)}):
                yield AttributePart(path=path, name=name)
        except ValidationError:  # no mask can name this tag: its differences are reported
            return


def replaced_element(diagnosis: Diagnosis, lost: DivergedStep, element: LocatedElement) -> ReplacedElement:
    """Return the replacement of a lost element."""
    assert lost.step is not None  # noqa: S101 - only actions have targets
    page, path = _recorded_place(diagnosis, lost)
    return ReplacedElement(
        step=lost.step.id,
        page=getattr(lost.step.action, "page", 0),
        url="*" if page is None else page.url,
        frame=element.frame,
        recorded_path=path,
        replacement_path=element.path,
        recorded_identity=_identity(lost.step),
        identity=element.identity,
        node=element.node,
    )


def _is_labelled_control(node: DomNode, role: str) -> bool:
    """Return whether an element is a control that contains only its label."""
    inner = [each for each in node.walk() if each is not node and each.text is None]
    if node.tag in FIELD_TAGS:
        return not inner
    return role in CONTROLS and all(each.tag in INLINE_TAGS or each.namespace for each in inner)


def _recorded_place(diagnosis: Diagnosis, lost: DivergedStep) -> tuple[PageObservation | None, str | None]:
    """Return the recorded page that the step targeted, and the path of the element in it."""
    before = _recorded_page_before(diagnosis, lost)
    identity = None if lost.step is None else _identity(lost.step)
    snapshot = None if before is None else load_page(diagnosis.bundle.dom, before)
    if snapshot is None or identity is None:
        return before, None
    everything = (each for frame in snapshot.frames for each in locate_elements(frame))
    found = [each.path for each in everything if not identity_differences(identity, each.identity)]
    return before, found[0] if len(found) == 1 else None


def _recorded_page_before(diagnosis: Diagnosis, lost: DivergedStep) -> PageObservation | None:
    """Return the last recorded page before the step."""
    ordinal = 0 if lost.step is None else getattr(lost.step.action, "page", 0)
    seen: PageObservation | None = None
    for _, step in iter_steps(diagnosis.bundle.trace):
        if lost.step is not None and step.id == lost.step.id:
            break
        observed = step.observation if isinstance(step, ActionTrace) else None
        if observed is not None:
            seen = next((page for page in observed.pages if page.page == ordinal), None)
    return seen


def _identity(step: ActionTrace) -> Identity | None:
    target: Target | None = getattr(step.action, "target", None)
    return None if target is None else target.identity
