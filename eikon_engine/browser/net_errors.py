"""Which failures of requests can be played back."""

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
"""Network errors of Chromium, and what Playwright calls them."""

_NET_ERROR: Final = re.compile(r"net::ERR_\w+")


def playable(text: str) -> str:
    """Write the error that a replay can give in place of one that it cannot, in a message of the console."""
    return _NET_ERROR.sub(lambda found: found[0] if found[0] in ABORT_CODES else "net::ERR_FAILED", text)
