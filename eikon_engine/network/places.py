"""Check that ordinals, occurrences and delivery positions of a recording are unique."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from eikon_engine.errors import TraceFieldError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.network.exchange import Exchange
    from eikon_engine.network.socket import SocketEvent


class _Claim(NamedTuple):
    """A number that must be unique, its namespace, and its field."""

    namespace: str
    number: int
    field: str


class UsedNumbers:
    """The used ordinals, occurrences per key, and delivery positions.

    Completed exchanges, chunks of bodies and WebSocket events share one delivery order.
    """

    def __init__(self) -> None:
        """Start with nothing used."""
        self._owners: dict[tuple[str, int], str] = {}

    def claim_exchange(self, exchange: Exchange, where: str) -> None:
        """Register the numbers of an exchange.

        Raises:
            TraceFieldError: a number is already used.
        """
        self._claim(
            _claims(exchange),
            f"exchange {exchange.ordinal} ({exchange.request.method} {exchange.request.url})",
            where,
        )

    def claim_event(self, event: SocketEvent, where: str) -> None:
        """Register the delivery position of a WebSocket event.

        Raises:
            TraceFieldError: the position is already used.
        """
        name = f"event {event.kind!r} of socket {event.socket}"
        self._claim(iter((_Claim("", event.moment.order, "moment.order"),)), name, where)

    def _claim(self, claims: Iterator[_Claim], name: str, where: str) -> None:
        new: dict[tuple[str, int], str] = {}
        for claim in claims:
            place = (claim.namespace, claim.number)
            owner = name if place in new else self._owners.get(place)
            if owner is not None:
                of_key = f" of {claim.namespace}" if claim.field == "occurrence" else ""
                message = f"{where}: {claim.field}: {claim.number}{of_key} is already used by {owner}. Remove one."
                raise TraceFieldError(message)
            new[place] = name
        self._owners.update(new)


def _claims(exchange: Exchange) -> Iterator[_Claim]:
    yield _Claim("ordinal", exchange.ordinal, "ordinal")
    yield _Claim(exchange.key, exchange.occurrence, "occurrence")
    if exchange.completion is not None:
        yield _Claim("", exchange.completion, "completion")
    pieces = exchange.pieces
    for number, piece in enumerate(pieces):
        if number == 1 and piece.moment == pieces[0].moment and pieces[0].length == 0:
            continue  # the first bytes may be received together with the headers
        yield _Claim("", piece.moment.order, f"pieces.{number}.moment.order")
