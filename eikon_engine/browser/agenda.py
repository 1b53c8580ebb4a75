"""What a replay still has to bring, as those see it who let pages come to rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from playwright.async_api import Request


class Agenda(Protocol):
    """What a recording has still to bring."""

    def due(self) -> int:
        """Count what can be delivered now."""

    def holds(self, request: Request) -> bool:
        """Say whether a request waits for an answer whose time has not come."""

    def held(self) -> int:
        """Count the requests that wait so."""

    def waiting(self) -> int:
        """Count everything whose cause is there, and that waits for its moment."""

    def unanswered_fetches(self) -> int:
        """Count the fetches whose answer is not given yet, or never will be."""

    def next_ms(self) -> float | None:
        """Return the page time of what comes next in this phase, and has not been due yet."""

    def hurry(self, *, fetches: bool) -> None:
        """Deliver what waits though its time has not come, what scripts asked for only where told so."""

    def wake(self) -> None:
        """Look again: time passed, or a phase began."""
