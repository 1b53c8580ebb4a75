"""Validate the headers of recorded requests and responses."""

from __future__ import annotations

import re
from typing import Final

_TOKEN: Final = re.compile(r":?[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A token of RFC 9110, section 5.6.2, with the optional colon of HTTP/2 pseudo-headers (`:method`)."""
_FORBIDDEN: Final = re.compile(r"[\r\n\0]")
"""Characters that values must not contain (RFC 9110, section 5.5)."""
_JOINED_NAME: Final = "set-cookie"
"""Playwright joins repeated headers of this name into one value, one line each."""
_MAX_SHOWN: Final = 40


def validate_request_headers(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return the headers of a request after validation.

    Raises:
        ValueError: a header is not valid in a request.
    """
    return _validate_headers(pairs, joined=False)


def validate_response_headers(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return the headers of a response after validation.

    Raises:
        ValueError: a header is not valid in a response.
    """
    return _validate_headers(pairs, joined=True)


def _validate_headers(pairs: tuple[tuple[str, str], ...], *, joined: bool) -> tuple[tuple[str, str], ...]:
    for name, value in pairs:
        fault = _header_fault(name, value, joined=joined)
        if fault is not None:
            raise ValueError(fault)
    return pairs


def _header_fault(name: str, value: str, *, joined: bool) -> str | None:
    """Describe what makes a header invalid; None if it is valid. `joined` allows several cookies, one per line."""
    if _TOKEN.fullmatch(name) is None:
        return f"invalid header name {name[:_MAX_SHOWN]!r}: expected a token of letters, digits and !#$%&'*+-.^_`|~"
    lines = value.replace("\n", "") if joined and name.lower() == _JOINED_NAME else value
    if _FORBIDDEN.search(lines) is not None:
        return f"invalid value {value[:_MAX_SHOWN]!r} of header {name}: expected no line breaks and no NUL"
    return None
