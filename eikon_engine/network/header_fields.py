"""The headers of a recorded request or answer, as HTTP allows them."""

from __future__ import annotations

import re
from typing import Final

_NAME: Final = re.compile(r":?[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A token of RFC 9110, section 5.6.2; HTTP/2 puts a colon before its own, as in `:method`."""
_NO_VALUE: Final = re.compile(r"[\r\n\0]")
"""What no value may hold (RFC 9110, section 5.5)."""
_JOINED: Final = "set-cookie"
"""Several of these stand in one value, a line each, where Playwright tells headers by name alone."""
_SHOWN: Final = 40


def possible_of_request(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return the headers of a request.

    Raises:
        ValueError: no request can have one of them.
    """
    return _possible(pairs, joined=False)


def possible_of_answer(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return the headers of an answer.

    Raises:
        ValueError: no answer can have one of them.
    """
    return _possible(pairs, joined=True)


def _possible(pairs: tuple[tuple[str, str], ...], *, joined: bool) -> tuple[tuple[str, str], ...]:
    for name, value in pairs:
        fault = _fault(name, value, joined=joined)
        if fault is not None:
            raise ValueError(fault)
    return pairs


def _fault(name: str, value: str, *, joined: bool) -> str | None:
    """Say what makes a header impossible; None if it is possible. `joined` allows cookies of several lines."""
    if _NAME.fullmatch(name) is None:
        return f"a header is named {name[:_SHOWN]!r}; wanted a token, of letters, digits and !#$%&'*+-.^_`|~"
    lines = value.replace("\n", "") if joined and name.lower() == _JOINED else value
    if _NO_VALUE.search(lines) is not None:
        return f"header {name} is {value[:_SHOWN]!r}; wanted a value without line ends and NUL"
    return None
