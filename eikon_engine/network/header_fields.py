"""Validate the headers of recorded requests and responses."""

from __future__ import annotations

import re
from typing import Final

_NAME: Final = re.compile(r":?[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A token of RFC 9110, section 5.6.2, with the optional colon of HTTP/2 pseudo-headers (`:method`)."""
_NO_VALUE: Final = re.compile(r"[\r\n\0]")
"""Characters that values must not contain (RFC 9110, section 5.5)."""
_JOINED: Final = "set-cookie"
"""Playwright joins repeated headers of this name into one value, one line each."""
_SHOWN: Final = 40


def possible_of_request(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return the headers of a request after validation.

    Raises:
        ValueError: a header is not valid in a request.
    """
    return _possible(pairs, joined=False)


def possible_of_answer(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return the headers of a response after validation.

    Raises:
        ValueError: a header is not valid in a response.
    """
    return _possible(pairs, joined=True)


def _possible(pairs: tuple[tuple[str, str], ...], *, joined: bool) -> tuple[tuple[str, str], ...]:
    for name, value in pairs:
        fault = _fault(name, value, joined=joined)
        if fault is not None:
            raise ValueError(fault)
    return pairs


def _fault(name: str, value: str, *, joined: bool) -> str | None:
    """Describe what makes a header invalid; None if it is valid. `joined` allows several cookies, one per line."""
    if _NAME.fullmatch(name) is None:
        return f"invalid header name {name[:_SHOWN]!r}: expected a token of letters, digits and !#$%&'*+-.^_`|~"
    lines = value.replace("\n", "") if joined and name.lower() == _JOINED else value
    if _NO_VALUE.search(lines) is not None:
        return f"invalid value {value[:_SHOWN]!r} of header {name}: expected no line breaks and no NUL"
    return None
