"""Let cookies last as long as they did when they were recorded, whenever they are served again."""

from __future__ import annotations

import re
from email.utils import mktime_tz, parsedate_tz
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.network.exchange import Exchange, HeaderPairs

COOKIE: Final = "set-cookie"
_EXPIRES: Final = re.compile(r";\s*expires\s*=\s*([^;]*)", re.IGNORECASE)
_MAX_AGE: Final = re.compile(r";\s*max-age\s*=", re.IGNORECASE)


def lasting(headers: HeaderPairs, now_s: float) -> HeaderPairs:
    """Say of cookies with a date for how long they last: the browser would compare the date with its own clock.

    It lasts from the `Date` of the answer, or, where it has none, from `now_s`, seconds of page time since 1970. A
    cookie that says for how long it lasts, or has a date that nobody can read, stays as it is.
    """
    dates = (_seconds(value) for name, value in headers if name.lower() == "date")
    since = next((each for each in dates if each is not None), now_s)
    return tuple(
        (name, "\n".join(_lasting(line, since) for line in value.split("\n")) if name.lower() == COOKIE else value)
        for name, value in headers
    )


def cookies_on_the_way(exchange: Exchange, now_s: float) -> Iterator[tuple[str, str]]:
    """Yield the cookies that redirects brought, before the last answer."""
    for hop in exchange.hops:
        yield from (pair for pair in lasting(hop.headers, now_s) if pair[0].lower() == COOKIE)


def _lasting(cookie: str, since: float) -> str:
    found = _EXPIRES.search(cookie)
    until = _seconds(found[1].strip()) if found is not None and not _MAX_AGE.search(cookie) else None
    if found is None or until is None:
        return cookie
    return f"{cookie[: found.start()]}; Max-Age={max(0, round(until - since))}{cookie[found.end() :]}"


def _seconds(date: str) -> float | None:
    """Read a date of RFC 9110, section 5.6.7, or one of those that cookies had before; None if it is none."""
    parts = parsedate_tz(date)
    try:
        return None if parts is None else float(mktime_tz(parts))
    except (OverflowError, ValueError):
        return None
