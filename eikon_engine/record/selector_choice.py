"""Choose the selector of a recorded element."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.trace.identity import identity_weakness
from eikon_engine.trace.target import Target

if TYPE_CHECKING:
    from collections.abc import Collection

    from eikon_engine.record.gesture import ElementDescription, SelectorCandidate

MAX_ALTERNATIVES: Final = 6
POSITION_ONLY: Final = "identified by position only: any change around it breaks the selector"
NO_UNIQUE_SELECTOR: Final = "no unique selector found"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenTarget:
    """A target, and why it is weak if it is."""

    target: Target
    weakness: str | None = None


def choose_target(element: ElementDescription, verified: Collection[str], frames: tuple[str, ...] = ()) -> ChosenTarget:
    """Return the best selector that matches only this element; `proven` selectors were counted by Playwright.

    The other matching selectors become alternatives, which are displayed and never tried.
    """
    holding = [name for name in element.names if name.sure or name.selector in verified]
    if not holding:
        tag = element.identity.tag if element.identity is not None else "*"
        target = Target(selector=tag, frames=frames, identity=element.identity)
        return ChosenTarget(target=target, weakness=NO_UNIQUE_SELECTOR)
    best, *others = holding
    target = Target(
        selector=best.selector,
        frames=frames,
        alternatives=tuple(name.selector for name in others[:MAX_ALTERNATIVES]),
        identity=element.identity,
    )
    return ChosenTarget(target=target, weakness=_weakness_of(best, element))


def _weakness_of(best: SelectorCandidate, element: ElementDescription) -> str | None:
    if best.kind == "place":
        return POSITION_ONLY
    return identity_weakness(element.identity) if element.identity is not None else None
