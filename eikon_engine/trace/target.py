"""The target of an action, and the identity of the recorded element."""

from __future__ import annotations

from pydantic import Field

from eikon_engine.trace.record import FileModel


class Box(FileModel):
    """A rectangle in CSS pixels, relative to the viewport of the element's frame."""

    x: float
    y: float
    width: float
    height: float


class Ancestor(FileModel):
    """An ancestor of the target."""

    tag: str
    id: str = ""
    role: str = ""


class Identity(FileModel):
    """Identity of the element an action acted on: tells it from all others, whatever selector found it."""

    tag: str
    role: str = ""
    """ARIA role, explicit or implied; empty if the element has none."""
    name: str = ""
    """Accessible name."""
    text: str = ""
    """Text content, white space collapsed, at most 200 characters; empty for form fields."""
    attributes: tuple[tuple[str, str], ...] = ()
    """Stable attributes (`id`, `name`, `type`, `href`, `data-testid` …), sorted by name."""
    ancestors: tuple[Ancestor, ...] = ()
    ordinal: int = 0
    """Position among the elements with the same tag and text in its document or shadow root, from 0."""
    box: Box | None = None
    """Evidence only: it depends on fonts and viewport and is never compared."""


class Target(FileModel):
    """A selector that must match exactly one element, in one frame of one page."""

    selector: str = Field(min_length=1)
    """Playwright selector, as recorded."""
    frames: tuple[str, ...] = ()
    """Selectors of the enclosing iframes, outermost first; empty for the main frame."""
    alternatives: tuple[str, ...] = ()
    """Other selectors known at recording; shown in explanations, never tried."""
    identity: Identity | None = None
    """None if the recording did not identify the element (older formats, edits)."""

    def __str__(self) -> str:
        """Return the frame selectors and the selector, joined by ` >> `."""
        return " >> ".join((*self.frames, self.selector))
