"""Detect error and login pages served with status 200: the page shows such a message, and the recorded page did not.

A page is judged by English phrases of error and session pages, in texts short enough to be a message, and by visible
password fields. Texts of the recorded page are ignored. Ambiguous phrases ("Sorry, sold out") count only with further
evidence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from eikon_engine.trace.dom.stored import load_page
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.located import positions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eikon_engine.fix.missions.diagnosis import Diagnosis, Diverged
    from eikon_engine.outcome.explanation import Cause
    from eikon_engine.trace.dom.tree import DomNode, FrameSnapshot, PageSnapshot
    from eikon_engine.trace.observation import Observation

Told: TypeAlias = "tuple[Cause, str]"
"""The cause, and the evidence for it."""

LONGEST_MESSAGE: Final = 200
SAYS_ERROR: Final = re.compile(
    r"\b(?:something|what) went wrong\b|\b(?:internal|unexpected|unknown|server|system|fatal|database) error\b"
    r"|\ban error (?:has )?occurred\b|^\s*(?:error|oops)\b|\berror \d{3}\b|^\s*[45]\d\d\s*$|\"errors?\"\s*:"
    r"|\b(?:service|temporarily|currently) unavailable\b|\bbad gateway\b|\bgateway time-?out\b|\btimed out\b"
    r"|\b(?:page|file|resource) (?:was )?not found\b|\b(?:access|permission) denied\b|\bforbidden\b"
    r"|\btry again later\b|\b(?:under|down for) maintenance\b|\bstack ?trace\b|\btraceback\b|\buncaught\b"
    r"|\bcould not be (?:loaded|processed|completed|saved)\b",
    re.IGNORECASE,
)
MAY_SAY_ERROR: Final = tuple(
    re.compile(each, re.IGNORECASE) for each in (r"^\s*sorry\b", r"\bfailed to \w+", r"\bunable to \w+")
)
"""Ambiguous phrases, which need a second one, a message element, or a page that lost half of its texts."""
SAYS_LOGGED_OUT: Final = re.compile(
    r"\bsession (?:has )?(?:expired|ended|timed out)\b|\bplease (?:log|sign) ?in\b|\b(?:log|sign) ?in again\b"
    r"|\b(?:log|sign) ?in to continue\b|\b(?:logged|signed) out\b|\byou (?:must|need to) (?:log|sign) ?in\b",
    re.IGNORECASE,
)
_UNREAD: Final = frozenset({"script", "style", "template", "noscript"})
_MESSAGE_TAGS: Final = frozenset({"title", "h1", "h2", "h3", "h4", "h5", "h6", "dialog", "output"})
_MESSAGE_ROLES: Final = frozenset({"alert", "alertdialog", "heading", "status"})


@dataclass(frozen=True, slots=True)
class _Text:
    """A text of a page, stripped."""

    said: str
    is_message: bool
    """Whether it is in a message element: title, heading, alert."""


def disguised(diagnosis: Diagnosis, diverged: Diverged) -> Told | None:
    """Return a login or error shown by the pages of a diverged step; None if there is none."""
    before, after = _recorded(diagnosis, diverged)
    known = (*before, *after)
    pages = diagnosis.tested.pages.get((diverged.attempt, diverged.sequence), {}).values()
    asked = {frame.url for page in pages for frame in page.frames[:1] if _asks_password(page)}
    if asked and not any(_asks_password(each) for each in known):
        return "session-expired", f"{min(asked)} asks for a password; the recorded page did not"
    read = {text.said for each in known for text in _texts(each)}
    shown = [text for page in pages for text in _texts(page)]
    new = [text for text in shown if text.said not in read and len(text.said) <= LONGEST_MESSAGE]
    wanted = {text.said for each in after for text in _texts(each)}
    gone = wanted - {text.said for text in shown}
    return _said(new) or _may_be_said(new, is_emptied=bool(wanted) and 2 * len(gone) >= len(wanted))


def _said(texts: Iterable[_Text]) -> Told | None:
    for text in texts:
        if SAYS_LOGGED_OUT.search(text.said):
            return "session-expired", _shown(text)
        if SAYS_ERROR.search(text.said):
            return "site-error", _shown(text)
    return None


def _may_be_said(texts: Iterable[_Text], *, is_emptied: bool) -> Told | None:
    """Evaluate ambiguous phrases by further evidence."""
    found = [(text, phrase) for text in texts for phrase in MAY_SAY_ERROR if phrase.search(text.said)]
    if not found or not (is_emptied or len(found) > 1 or found[0][0].is_message):
        return None
    return "site-error", _shown(found[0][0])


def _shown(text: _Text) -> str:
    return f"the page shows {text.said!r}; the recorded page did not"


def _recorded(diagnosis: Diagnosis, diverged: Diverged) -> tuple[list[PageSnapshot], list[PageSnapshot]]:
    """Return the recorded pages before and after the step."""
    before: Observation | None = None
    for attempt, step in positions(diagnosis.bundle.trace):
        seen = step.observation if isinstance(step, ActionTrace) else None
        if (attempt.id, step.sequence) == (diverged.attempt, diverged.sequence):
            return list(_pages(diagnosis, before)), list(_pages(diagnosis, seen))
        before = seen or before
    return [], []


def _pages(diagnosis: Diagnosis, observation: Observation | None) -> Iterator[PageSnapshot]:
    for page in () if observation is None else observation.pages:
        snapshot = load_page(diagnosis.bundle.dom, page)
        if snapshot is not None:
            yield snapshot


def _asks_password(page: PageSnapshot) -> bool:
    nodes = (node for frame in page.frames for node, is_shown, _ in _seen(frame) if is_shown)
    return any(node.tag == "input" and (node.attribute("type") or "").lower() == "password" for node in nodes)


def _texts(page: PageSnapshot) -> Iterator[_Text]:
    """Yield the title and texts of a page; including hidden ones, because `display: contents` looks hidden, too."""
    for frame in page.frames:
        for node, _, is_place in _seen(frame):
            if node.text is not None and node.text.strip():
                yield _Text(" ".join(node.text.split()), is_message=is_place)


def _seen(frame: FrameSnapshot) -> Iterator[tuple[DomNode, bool, bool]]:
    """Yield each readable node, whether it is visible, and whether it is in a message element.

    If the snapshot has no visibility data, every node counts as visible.
    """
    flips = set(frame.extras.flips or ())
    waiting = [(frame.root, True, False, True)]
    number = -1
    while waiting:
        node, parent_shown, is_place, is_read = waiting.pop()
        number += 1
        is_shown = parent_shown != (number in flips)
        is_place = is_place or _is_message_place(node)
        is_read = is_read and node.tag not in _UNREAD
        if is_read:
            yield node, is_shown, is_place
        waiting.extend((each, is_shown, is_place, is_read) for each in reversed((*(node.shadow or ()), *node.children)))


def _is_message_place(node: DomNode) -> bool:
    return node.tag in _MESSAGE_TAGS or node.attribute("role") in _MESSAGE_ROLES
