"""Translate Playwright's errors and Chromium's network errors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import (
    ActionError,
    ActionRejectedError,
    BrowserDiedError,
    EikonError,
    NavigationError,
    PageCrashedError,
    PageMissingError,
    PageUnresponsiveError,
)

if TYPE_CHECKING:
    from playwright.async_api import Error as PlaywrightError

    from eikon_engine.browser.playwright_internals import ExpectationFailure

_STATE_WAIT: Final = r" to be (?:visible|hidden|attached|detached)\b"
"""State waits that may also time out in a replay, as recorded."""
CRASHED: Final = re.compile(r"(?:Target|Page) crashed")
"""Playwright's message when a page crashed."""
ERROR_PATTERNS: Final[tuple[tuple[str, str], ...]] = (
    (r"Target page, context or browser has been closed|Target closed", PageMissingError.code),
    (r"[Bb]rowser has been closed|Browser closed|Connection closed", BrowserDiedError.code),
    (CRASHED.pattern, PageCrashedError.code),
    (r"(?s)Timeout .*exceeded.*performing [a-z ]+ action(?!.* action done)", PageUnresponsiveError.code),
    (r"strict mode violation", "target-ambiguous"),
    (r"did not find some options", "option-missing"),
    (r"intercepts pointer events|is not (visible|enabled|editable|stable)", "target-not-actionable"),
    (r"outside of the viewport|Element is not attached|Element is outside", "target-not-actionable"),
    (r"Not a checkbox or radio button|Element is not an? <|Clicking the checkbox did not", ActionRejectedError.code),
    (r"Malformed value|Node is not an HTMLInputElement|Unknown key|Cannot type text into", ActionRejectedError.code),
    (r"net::ERR_|Cannot navigate to invalid URL|Navigation failed|by another navigation", NavigationError.code),
    (r"(?s)Timeout .*exceeded.*navigating to|Page\.(goto|reload|go_back|go_forward): Timeout", NavigationError.code),
    (rf"(?s)Timeout .*exceeded.*waiting for (?:locator|get_by_)(?![^\n]*{_STATE_WAIT})", "target-missing"),
    (r"Timeout .*exceeded", "wait-timeout"),
)
"""Patterns of Playwright's messages, and the codes of our errors; the first match counts."""
ASSERTION_FAILED: Final = "assertion-failed"
"""Code of an assertion that does not hold."""
_CLASSES: Final = {
    kind.code: kind
    for kind in (
        *(PageMissingError, BrowserDiedError, PageCrashedError, PageUnresponsiveError),
        *(ActionRejectedError, NavigationError),
    )
}

TARGET_GONE: Final = re.compile(r"has been closed|Connection closed|Target closed|(?:Target|Page) crashed")
"""Playwright's messages when its page or browser is gone."""


def translate(error: PlaywrightError, operation: str) -> EikonError:
    """Translate a Playwright error; `operation` names the attempted operation in a few words.

    An unknown message becomes `action-rejected`, with its first line as the reason.
    """
    code = _code_of(error.message)
    message = f"{operation}: {first_line(error.message)}"
    return _CLASSES[code](message) if code in _CLASSES else ActionError(message, code=code)


def expectation_code(failure: ExpectationFailure) -> str:
    """Return the code of an assertion that does not hold, or that could not be checked."""
    return ASSERTION_FAILED if failure.is_compared else _code_of(failure.message)


def _code_of(message: str) -> str:
    return next((code for pattern, code in ERROR_PATTERNS if re.search(pattern, message)), ActionRejectedError.code)


def is_target_gone(error: PlaywrightError) -> bool:
    """Whether Playwright reports that the page, the browser or the driver process is gone.

    If the driver process is gone, the browser still counts as connected.
    """
    return TARGET_GONE.search(error.message) is not None


def without_logs(message: str) -> str:
    """Return a message without what Playwright appends: the output of the browser, and the call log."""
    return re.split(r"\n(?:Browser logs|Call log):", message, maxsplit=1)[0].strip()


def first_line(message: str) -> str:
    """Return the reason of a message, without the call log and the name of the call."""
    line = next(iter(message.partition("Call log:")[0].strip().splitlines()), "no message")
    reason = re.search(r"<[^>]+>.* intercepts pointer events|element is not [a-z]+|did not find some options", message)
    line = re.sub(r"^(?:[A-Z][A-Za-z]+\.[a-z_]+: )?(?:Error: )?", "", line)
    return f"{line} ({reason.group(0)})" if reason and reason.group(0) not in line else line


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
