"""What a sealed session gives as it is asked for, once its mission goes another way than the recording."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eikon_engine.network.exchange import Exchange
    from eikon_engine.network.moment import Moment
    from eikon_engine.network.store import NetworkRecording


@dataclass(slots=True, kw_only=True)
class GivenAsAsked:
    """When everything came since answers are given as they are asked for; it grows as the session goes on.

    Places are those of `recording`, whose moments are the ones that the session began with.
    """

    recording: NetworkRecording
    turns: frozenset[int]
    """Places that are given a turn of their own; what else has one belongs to what came before it."""
    before: frozenset[int]
    """Places of what was given at its recorded moment, before."""
    moments: dict[int, Moment] = field(default_factory=dict)
    """When something was given since, by its place."""
    in_vain: set[int] = field(default_factory=set)
    """Ordinals of the exchanges that were asked for since, and that no answer came to in the recording either."""

    def add(self, exchange: Exchange) -> None:
        """Add what the recording did not have: the site was really asked for it."""
        self.recording = replace(self.recording, exchanges=(*self.recording.exchanges, exchange))
        self.turns |= frozenset(() if exchange.moment is None else (exchange.moment.order,))
