"""What a sealed session serves on request, once its mission departs from the recording."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eikon_engine.network.exchange import Exchange
    from eikon_engine.network.moment import Moment
    from eikon_engine.network.store import NetworkRecording


@dataclass(slots=True, kw_only=True)
class OnDemandDeliveries:
    """Deliveries since responses are served on request; grows as the session continues.

    Orders refer to `recording`, whose moments are those that the session started with.
    """

    recording: NetworkRecording
    scheduled_orders: frozenset[int]
    """Orders that have a delivery of their own; any other order belongs to the one before it."""
    delivered_before: frozenset[int]
    """Orders that were delivered at their recorded moments, before the switch."""
    moments: dict[int, Moment] = field(default_factory=dict)
    """Moments of the deliveries since the switch, by order."""
    unanswered: set[int] = field(default_factory=set)
    """Ordinals of exchanges requested since the switch that have no recorded response."""

    def add(self, exchange: Exchange) -> None:
        """Add an exchange with the live site."""
        self.recording = replace(self.recording, exchanges=(*self.recording.exchanges, exchange))
        self.scheduled_orders |= frozenset(() if exchange.moment is None else (exchange.moment.order,))
