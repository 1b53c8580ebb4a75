"""The deliveries that a replay has pending, as the page stabilizer sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from playwright.async_api import Request


class PendingDeliveries(Protocol):
    """The recorded deliveries that are still pending."""

    def due_count(self) -> int:
        """Count what can be delivered now."""

    def is_waiting(self, request: Request) -> bool:
        """Whether a request waits for a response that is not due yet."""

    def waiting_requests(self) -> int:
        """Count the requests that wait for a response that is not due yet."""

    def pending_count(self) -> int:
        """Count the deliveries that are requested and wait for their moment."""

    def unanswered_fetches(self) -> int:
        """Count the fetches whose response is pending, or never arrives."""

    def next_ms(self) -> float | None:
        """Return the page time of the next delivery in this phase that is not due yet."""

    def deliver_early(self, *, fetches: bool) -> None:
        """Deliver pending responses before their moments; those of fetches only with `fetches`."""

    def wake(self) -> None:
        """Check again: time passed, or a phase began."""
