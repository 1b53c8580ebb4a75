"""Give served cookies the lifetimes they had when recorded."""

from __future__ import annotations

import re
from email.utils import mktime_tz, parsedate_tz
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.network.exchange import Exchange, HeaderPairs

SET_COOKIE: Final = "set-cookie"
_EXPIRES: Final = re.compile(r";\s*expires\s*=\s*([^;]*)", re.IGNORECASE)
_MAX_AGE: Final = re.compile(r";\s*max-age\s*=", re.IGNORECASE)


def with_relative_lifetimes(headers: HeaderPairs, now_s: float) -> HeaderPairs:
    """Replace the expiry date of cookies by a duration: the browser would compare the date with its own clock.

    The duration counts from the response's `Date`, or from `now_s`, Unix time in seconds of the page clock. A cookie
    with `Max-Age`, or with an unreadable date, stays as it is.
    """
    dates = (_parse_date(value) for name, value in headers if name.lower() == "date")
    since = next((each for each in dates if each is not None), now_s)
    return tuple(
        (
            name,
            "\n".join(_with_max_age(line, since) for line in value.split("\n"))
            if name.lower() == SET_COOKIE
            else value,
        )
        for name, value in headers
    )


def redirect_cookies(exchange: Exchange, now_s: float) -> Iterator[tuple[str, str]]:
    """Yield the cookies that redirects set, before the final response."""
    for hop in exchange.hops:
        yield from (pair for pair in with_relative_lifetimes(hop.headers, now_s) if pair[0].lower() == SET_COOKIE)


def _with_max_age(cookie: str, since: float) -> str:
    found = _EXPIRES.search(cookie)
    until = _parse_date(found[1].strip()) if found is not None and not _MAX_AGE.search(cookie) else None
    if found is None or until is None:
        return cookie
    return f"{cookie[: found.start()]}; Max-Age={max(0, round(until - since))}{cookie[found.end() :]}"


def _parse_date(date: str) -> float | None:
    """Parse a date of RFC 9110, section 5.6.7, or of the older cookie formats; None if it is neither."""
    parts = parsedate_tz(date)
    try:
        return None if parts is None else float(mktime_tz(parts))
    except (OverflowError, ValueError):
        return None
