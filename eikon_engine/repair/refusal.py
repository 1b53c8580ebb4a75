"""Divergences that must not be repaired by changing the recording, including error and login pages with status 200.

A page is judged by English phrases of error and session pages, in texts short enough to be a message, and by visible
password fields. Texts of the recorded page are ignored. Ambiguous phrases ("Sorry, sold out") count only with further
evidence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from eikon_engine.errors import LOST_TARGET_CODES
from eikon_engine.network.exchange import SAFE_METHODS
from eikon_engine.repair.diagnostic_replay import APPEARANCE_LAYERS
from eikon_engine.trace.actions import Assert
from eikon_engine.trace.bundle import load_page
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.steps import iter_steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eikon_engine.dom.tree import DomNode, FrameSnapshot, PageSnapshot
    from eikon_engine.outcome.divergence import Cause
    from eikon_engine.repair.diagnosis import Diagnosis, DivergedStep
    from eikon_engine.trace.observation import Observation

CauseEvidence: TypeAlias = "tuple[Cause, str]"
"""The cause, and the evidence for it."""

MAX_MESSAGE_LENGTH: Final = 200
ERROR_PHRASES: Final = re.compile(
    r"\b(?:something|what) went wrong\b|\b(?:internal|unexpected|unknown|server|system|fatal|database) error\b"
    r"|\ban error (?:has )?occurred\b|^\s*(?:error|oops)\b|\berror \d{3}\b|^\s*[45]\d\d\s*$|\"errors?\"\s*:"
    r"|\b(?:service|temporarily|currently) unavailable\b|\bbad gateway\b|\bgateway time-?out\b|\btimed out\b"
    r"|\b(?:page|file|resource) (?:was )?not found\b|\b(?:access|permission) denied\b|\bforbidden\b"
    r"|\btry again later\b|\b(?:under|down for) maintenance\b|\bstack ?trace\b|\btraceback\b|\buncaught\b"
    r"|\bcould not be (?:loaded|processed|completed|saved)\b",
    re.IGNORECASE,
)
AMBIGUOUS_ERROR_PHRASES: Final = tuple(
    re.compile(each, re.IGNORECASE) for each in (r"^\s*sorry\b", r"\bfailed to \w+", r"\bunable to \w+")
)
"""Ambiguous phrases, which need a second one, a message element, or a page that lost half of its texts."""
LOGGED_OUT_PHRASES: Final = re.compile(
    r"\bsession (?:has )?(?:expired|ended|timed out)\b|\bplease (?:log|sign) ?in\b|\b(?:log|sign) ?in again\b"
    r"|\b(?:log|sign) ?in to continue\b|\b(?:logged|signed) out\b|\byou (?:must|need to) (?:log|sign) ?in\b",
    re.IGNORECASE,
)
_UNREADABLE_TAGS: Final = frozenset({"script", "style", "template", "noscript"})
_MESSAGE_TAGS: Final = frozenset({"title", "h1", "h2", "h3", "h4", "h5", "h6", "dialog", "output"})
_MESSAGE_ROLES: Final = frozenset({"alert", "alertdialog", "heading", "status"})


@dataclass(frozen=True, slots=True)
class _Text:
    """A text of a page, stripped."""

    text: str
    is_message: bool
    """Whether it is in a message element: title, heading, alert."""


def shown_cause(diagnosis: Diagnosis, diverged: DivergedStep) -> CauseEvidence | None:
    """Return a login or error shown by the pages of a diverged step; None if there is none."""
    before, after = _recorded_pages(diagnosis, diverged)
    known = (*before, *after)
    pages = diagnosis.replay.pages.get((diverged.attempt, diverged.sequence), {}).values()
    login_pages = {frame.url for page in pages for frame in page.frames[:1] if _has_password_field(page)}
    if login_pages and not any(_has_password_field(each) for each in known):
        return "session-expired", f"{min(login_pages)} asks for a password; the recorded page did not"
    read = {text.text for each in known for text in _page_texts(each)}
    shown = [text for page in pages for text in _page_texts(page)]
    new = [text for text in shown if text.text not in read and len(text.text) <= MAX_MESSAGE_LENGTH]
    expected = {text.text for each in after for text in _page_texts(each)}
    gone = expected - {text.text for text in shown}
    return _stated_cause(new) or _ambiguous_cause(new, is_emptied=bool(expected) and 2 * len(gone) >= len(expected))


def _stated_cause(texts: Iterable[_Text]) -> CauseEvidence | None:
    for text in texts:
        if LOGGED_OUT_PHRASES.search(text.text):
            return "session-expired", _evidence(text)
        if ERROR_PHRASES.search(text.text):
            return "site-error", _evidence(text)
    return None


def _ambiguous_cause(texts: Iterable[_Text], *, is_emptied: bool) -> CauseEvidence | None:
    """Evaluate ambiguous phrases by further evidence."""
    found = [(text, phrase) for text in texts for phrase in AMBIGUOUS_ERROR_PHRASES if phrase.search(text.text)]
    if not found or not (is_emptied or len(found) > 1 or found[0][0].is_message):
        return None
    return "site-error", _evidence(found[0][0])


def _evidence(text: _Text) -> str:
    return f"the page shows {text.text!r}; the recorded page did not"


def _recorded_pages(diagnosis: Diagnosis, diverged: DivergedStep) -> tuple[list[PageSnapshot], list[PageSnapshot]]:
    """Return the recorded pages before and after the step."""
    before: Observation | None = None
    for attempt, step in iter_steps(diagnosis.bundle.trace):
        seen = step.observation if isinstance(step, ActionTrace) else None
        if (attempt.id, step.sequence) == (diverged.attempt, diverged.sequence):
            return list(_stored_pages(diagnosis, before)), list(_stored_pages(diagnosis, seen))
        before = seen or before
    return [], []


def _stored_pages(diagnosis: Diagnosis, observation: Observation | None) -> Iterator[PageSnapshot]:
    for page in () if observation is None else observation.pages:
        snapshot = load_page(diagnosis.bundle.dom, page)
        if snapshot is not None:
            yield snapshot


def _has_password_field(page: PageSnapshot) -> bool:
    nodes = (node for frame in page.frames for node, is_shown, _ in _readable_nodes(frame) if is_shown)
    return any(node.tag == "input" and (node.attribute("type") or "").lower() == "password" for node in nodes)


def _page_texts(page: PageSnapshot) -> Iterator[_Text]:
    """Yield the title and texts of a page; including hidden ones, because `display: contents` looks hidden, too."""
    for frame in page.frames:
        for node, _, is_place in _readable_nodes(frame):
            if node.text is not None and node.text.strip():
                yield _Text(" ".join(node.text.split()), is_message=is_place)


def _readable_nodes(frame: FrameSnapshot) -> Iterator[tuple[DomNode, bool, bool]]:
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
        is_place = is_place or _is_message_element(node)
        is_read = is_read and node.tag not in _UNREADABLE_TAGS
        if is_read:
            yield node, is_shown, is_place
        waiting.extend((each, is_shown, is_place, is_read) for each in reversed((*(node.shadow or ()), *node.children)))


def _is_message_element(node: DomNode) -> bool:
    return node.tag in _MESSAGE_TAGS or node.attribute("role") in _MESSAGE_ROLES


REFUSED_CAUSES: Final[Mapping[Cause, str]] = MappingProxyType(
    {
        "site-error": "the recording is right, the site is broken. Fix the site",
        "session-expired": "the mission needs a login. Pass --storage-state, or record the login with it",
        "network": "the site is unreachable. Retry later",
        "environment": "the replay environment differs from the recorded one. Replay in the recorded environment",
        "timing": "the site was slow, which is not a fault of the mission. Retry, or raise --timeout",
        "skill-changed": "the site is as recorded, the skill changed. Run `eikon skills rerun`",
        "unknown": "the cause is unknown, and a change would hide it",
    }
)
"""By cause (docs/causes.md): why the recording is right, and what to do instead."""
_METHOD: Final = re.compile(r"([A-Z]+) \S")


def refusal_reason(diagnosis: Diagnosis) -> str | None:
    """Return why a mission must not be repaired; None if it may be."""
    return next(
        (why for each in diagnosis.steps if (why := _cause_refusal(diagnosis, each) or _step_refusal(each))), None
    )


def changed_write_request(diagnosis: Diagnosis) -> str | None:
    """Return a differing request that writes to the site: that is an effect of the mission, not something it sees."""
    for each in diagnosis.steps:
        for found in each.findings:
            for key in (found.expected, found.observed) if found.layer == "network" else ():
                method = _METHOD.match(key)
                if method is not None and method[1] not in SAFE_METHODS:
                    return f"{found.message.rstrip('.')} (recorded: {found.expected}; now: {found.observed})"
    return None


def _cause_refusal(diagnosis: Diagnosis, diverged: DivergedStep) -> str | None:
    explanation = diverged.explanation
    why = explanation.why if explanation.cause != "unknown" else explanation.sentence.rstrip(".")
    cause = explanation.cause
    if cause not in REFUSED_CAUSES or cause == "unknown":
        cause, why = shown_cause(diagnosis, diverged) or (cause, why)
    advice = REFUSED_CAUSES.get(cause)
    return None if advice is None else f"the cause is {cause} ({why}): {advice}"


def _step_refusal(diverged: DivergedStep) -> str | None:
    where = f"at step {diverged.sequence} of {diverged.first.subgoal_id}"
    if diverged.step is not None and isinstance(diverged.step.action, Assert):
        failed = [each for each in diverged.findings if each.layer not in APPEARANCE_LAYERS]
        if failed:
            detail = f"{failed[0].code}: {failed[0].observed.splitlines()[0]}"
            return f"an assertion of the mission fails {where} ({detail}), and assertions are never changed"
    unmade = [each for each in diverged.findings if each.layer == "result"]
    if unmade and diverged.first.code not in LOST_TARGET_CODES:
        detail = f"{unmade[0].code}: {unmade[0].observed.splitlines()[0]}"
        return f"the action failed {where} ({detail}), and another target would not help. Check the site"
    return None
