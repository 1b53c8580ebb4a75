"""Choose the selector of a recorded element."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.trace.identity import weakness
from eikon_engine.trace.target import Target

if TYPE_CHECKING:
    from collections.abc import Collection

    from eikon_engine.record.gesture import Name, Seen

ALTERNATIVES: Final = 6
BY_PLACE: Final = "identified by position only: any change around it breaks the selector"
UNNAMED: Final = "no unique selector found"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A target, and why it is weak if it is."""

    target: Target
    weak: str | None = None


def choose(seen: Seen, proven: Collection[str], frames: tuple[str, ...] = ()) -> Chosen:
    """Return the best selector that matches only this element; `proven` selectors were counted by Playwright.

    The other matching selectors become alternatives, which are displayed and never tried.
    """
    holding = [name for name in seen.names if name.sure or name.selector in proven]
    if not holding:
        tag = seen.identity.tag if seen.identity is not None else "*"
        target = Target(selector=tag, frames=frames, identity=seen.identity)
        return Chosen(target=target, weak=UNNAMED)
    best, *others = holding
    target = Target(
        selector=best.selector,
        frames=frames,
        alternatives=tuple(name.selector for name in others[:ALTERNATIVES]),
        identity=seen.identity,
    )
    return Chosen(target=target, weak=_weak(best, seen))


def _weak(best: Name, seen: Seen) -> str | None:
    if best.kind == "place":
        return BY_PLACE
    return weakness(seen.identity) if seen.identity is not None else None
