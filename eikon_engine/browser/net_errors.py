"""The network errors that can be replayed."""

from __future__ import annotations

import re
from typing import Final

ABORT_CODES: Final = {
    "net::ERR_ABORTED": "aborted",
    "net::ERR_ACCESS_DENIED": "accessdenied",
    "net::ERR_ADDRESS_UNREACHABLE": "addressunreachable",
    "net::ERR_BLOCKED_BY_CLIENT": "blockedbyclient",
    "net::ERR_BLOCKED_BY_RESPONSE": "blockedbyresponse",
    "net::ERR_CONNECTION_ABORTED": "connectionaborted",
    "net::ERR_CONNECTION_CLOSED": "connectionclosed",
    "net::ERR_CONNECTION_FAILED": "connectionfailed",
    "net::ERR_CONNECTION_REFUSED": "connectionrefused",
    "net::ERR_CONNECTION_RESET": "connectionreset",
    "net::ERR_INTERNET_DISCONNECTED": "internetdisconnected",
    "net::ERR_NAME_NOT_RESOLVED": "namenotresolved",
    "net::ERR_TIMED_OUT": "timedout",
}
"""Chromium's network errors, with Playwright's abort codes."""

_NET_ERROR: Final = re.compile(r"net::ERR_\w+")


def replayable_console_text(text: str) -> str:
    """Replace network errors that cannot be replayed by ERR_FAILED, in a console message."""
    return _NET_ERROR.sub(lambda found: found[0] if found[0] in ABORT_CODES else "net::ERR_FAILED", text)
