"""Errors and logins that come with status 200: the page says so, and the recorded one did not.

A page is judged by what people read on it, in English: phrases of error pages and of sessions that ended, in texts that
are short enough to be a message; and by a field for a password. What the recorded page had, too, tells nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeAlias

from eikon_engine.trace.dom.stored import load_page
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.located import positions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eikon_engine.fix.missions.diagnosis import Diagnosis, Diverged
    from eikon_engine.outcome.explanation import Cause
    from eikon_engine.trace.dom.tree import DomNode, PageSnapshot
    from eikon_engine.trace.observation import Observation

Told: TypeAlias = "tuple[Cause, str]"
"""The class of the cause, and what speaks for it."""

LONGEST_MESSAGE: Final = 200
SAYS_ERROR: Final = re.compile(
    r"\b(?:something|what) went wrong\b|\b(?:internal|unexpected|unknown|server|system|fatal|database) error\b"
    r"|\ban error (?:has )?occurred\b|^\s*(?:error|oops|sorry)\b|\berror \d{3}\b|^\s*[45]\d\d\s*$|\"errors?\"\s*:"
    r"|\b(?:service|temporarily|currently) unavailable\b|\bbad gateway\b|\bgateway time-?out\b|\btimed out\b"
    r"|\b(?:page|file|resource) (?:was )?not found\b|\b(?:access|permission) denied\b|\bforbidden\b"
    r"|\btry again later\b|\b(?:under|down for) maintenance\b|\bstack ?trace\b|\btraceback\b|\buncaught\b"
    r"|\bfailed to \w+|\bcould not be (?:loaded|processed|completed|saved)\b|\bunable to \w+",
    re.IGNORECASE,
)
SAYS_LOGGED_OUT: Final = re.compile(
    r"\bsession (?:has )?(?:expired|ended|timed out)\b|\bplease (?:log|sign) ?in\b|\b(?:log|sign) ?in again\b"
    r"|\b(?:log|sign) ?in to continue\b|\b(?:logged|signed) out\b|\byou (?:must|need to) (?:log|sign) ?in\b",
    re.IGNORECASE,
)
_UNREAD: Final = frozenset({"script", "style", "template", "noscript"})


def disguised(diagnosis: Diagnosis, diverged: Diverged) -> Told | None:
    """Find a login or an error on the pages of a step that diverged; None where nothing says so."""
    known = list(_recorded(diagnosis, diverged))
    pages = diagnosis.tested.pages.get((diverged.attempt, diverged.sequence), {}).values()
    asked = {frame.url for page in pages for frame in page.frames[:1] if _asks_password(page)}
    if asked and not any(_asks_password(each) for each in known):
        return "session-expired", f"{min(asked)} asks for a password, and did not when it was recorded"
    before = {text for each in known for text in _texts(each)}
    new = [text for page in pages for text in _texts(page) if text not in before and len(text) <= LONGEST_MESSAGE]
    return _said(new)


def _said(texts: Iterable[str]) -> Told | None:
    for text in texts:
        if SAYS_LOGGED_OUT.search(text):
            return "session-expired", f"the page says {text!r}, and did not when it was recorded"
        if SAYS_ERROR.search(text):
            return "site-error", f"the page says {text!r}, and did not when it was recorded"
    return None


def _recorded(diagnosis: Diagnosis, diverged: Diverged) -> Iterator[PageSnapshot]:
    """Yield the pages as they were recorded before the step and after it."""
    before: Observation | None = None
    for attempt, step in positions(diagnosis.bundle.trace):
        seen = step.observation if isinstance(step, ActionTrace) else None
        is_it = (attempt.id, step.sequence) == (diverged.attempt, diverged.sequence)
        for observation in (before, seen) if is_it else ():
            for page in () if observation is None else observation.pages:
                snapshot = load_page(diagnosis.bundle.dom, page)
                if snapshot is not None:
                    yield snapshot
        before = seen or before


def _asks_password(page: PageSnapshot) -> bool:
    nodes = (node for frame in page.frames for node in frame.root.walk())
    return any(node.tag == "input" and (node.attribute("type") or "").lower() == "password" for node in nodes)


def _texts(page: PageSnapshot) -> Iterator[str]:
    """Yield the title of a page and its texts, without white space around them."""
    for frame in page.frames:
        yield from _read(frame.root)


def _read(root: DomNode) -> Iterator[str]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.text is not None and node.text.strip():
            yield " ".join(node.text.split())
        if node.tag not in _UNREAD:
            waiting.extend(reversed((*(node.shadow or ()), *node.children)))
