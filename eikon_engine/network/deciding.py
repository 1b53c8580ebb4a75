"""Request headers by which servers select between several responses of one URL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eikon_engine.network.exchange import Exchange

VARY_HEADERS: Final = (
    "accept",
    "accept-language",
    "access-control-request-headers",
    "access-control-request-method",
    "hx-request",
    "hx-target",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "next-action",
    "purpose",
    "range",
    "rsc",
    "sec-purpose",
    "turbo-frame",
    "x-inertia",
    "x-inertia-partial-data",
    "x-pjax",
    "x-requested-with",
)

HeaderValues: TypeAlias = tuple[str | None, ...]


def header_values(headers: Iterable[tuple[str, str]], names: tuple[str, ...]) -> HeaderValues:
    """Return the value of each named header, None if absent; `names` are in lower case."""
    if not names:
        return ()
    found: dict[str, str] = {}
    for name, value in headers:
        lower = name.lower()
        found[lower] = f"{found[lower]}, {value.strip()}" if lower in found else value.strip()
    return tuple(found.get(name) for name in names)


def differing_headers(exchanges: Iterable[Exchange]) -> tuple[str, ...]:
    """Return the deciding headers in which recorded requests differ."""
    values = [header_values(exchange.request.headers, VARY_HEADERS) for exchange in exchanges]
    columns = zip(*values, strict=True)
    return tuple(name for name, column in zip(VARY_HEADERS, columns, strict=bool(values)) if len(set(column)) > 1)
