"""Tell why a replay diverged: the first class, in causal order, for which there is evidence.

No class is a guess. Where nothing speaks for any of them, the cause is unknown, and what would tell is named.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.outcome.explanation import Cause
    from eikon_engine.outcome.outcomes import NetworkMode, ResponseChange, ValueChange
    from eikon_engine.trace.observation import DocumentLoad, Observation

LOGIN: Final = re.compile(r"(?:^|[/_.-])(?:log-?_?in|log-?_?on|sign-?_?in|auth|sso|session)(?:[/_.-]|$)", re.IGNORECASE)
"""Parts of a path that name a page on which people log in."""
NO_SESSION: Final = frozenset({401, 403, 407, 419, 440})
"""Statuses that ask for a login: RFC 9110, section 15.5; 419 and 440 are those of Laravel and of IIS."""
FIRST_ERROR: Final = 400
DATA: Final = re.compile(r"body \$|(?:message|event) \d")
"""How parts of answers begin that carry data, and neither markup nor scripts."""
_TARGET: Final = "target"
_CSS: Final = re.compile(r"hidden|covered by|outside of the viewport")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """The first step that diverged, and what is known around it."""

    first: Divergence
    also: tuple[Divergence, ...] = ()
    """Other findings at the same step."""
    before: Observation | None = None
    """What the recording saw before the step."""
    recorded: Observation | None = None
    observed: Observation | None = None
    changes: tuple[ResponseChange, ...] = ()
    """Answers up to this step that differ from the recorded ones."""
    network_mode: NetworkMode = "sealed"
    possible_cause: str | None = None
    """What is different in the environment of the replay."""

    @property
    def values(self) -> Iterator[tuple[ResponseChange, ValueChange]]:
        """Yield every changed value of an answer, the newest answer first."""
        return ((change, value) for change in reversed(self.changes) for value in change.what)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A class of causes, with what it follows from."""

    cause: Cause
    why: str
    settle: str = ""


def judge(case: Case) -> Judged:
    """Return the cause of a divergence."""
    for cause, judges in JUDGES:
        why = judges(case)
        if why is not None:
            return Judged(cause=cause, why=why)
    return _unknown(case)


def _environment(case: Case) -> str | None:
    if case.first.layer != "environment":
        return None
    return f"the replay could not be set up as the recording was: {case.first.expected}, now {case.first.observed}"


def _skill(case: Case) -> str | None:
    if case.first.layer != "skill":
        return None
    return "the skill was rerun on the stored document, so only the skill, or what it uses, can be another one"


def _session(case: Case) -> str | None:
    for load in _new_documents(case):
        if load.status in NO_SESSION:
            return f"{load.url} was answered with status {load.status}, which asks for a login"
        if _is_login(load.url) and not any(_is_login(each.url) for each in _documents(case.recorded)):
            return f"the site led to {load.url}, where one logs in"
    for change, value in case.values:
        if value.part == "status" and value.live.isdigit() and int(value.live) in NO_SESSION:
            return f"{change.key} was answered with status {value.live}, which asks for a login"
        if value.part == "header location" and _is_login(value.live) and not _is_login(value.recorded):
            return f"{change.key} led to {value.live}, where one logs in"
    return None


def _site_error(case: Case) -> str | None:
    for load in _new_documents(case):
        if load.status is not None and load.status >= FIRST_ERROR:
            return f"{load.url} was answered with status {load.status}"
    for change, value in case.values:
        if value.part == "status" and value.live.isdigit() and int(value.live) >= FIRST_ERROR:
            return f"{change.key} was answered with status {value.live} instead of {value.recorded}"
    return None


def _network(case: Case) -> str | None:
    for change, value in case.values:
        if value.part == "ending" and value.live.startswith("net::"):
            return f"{change.key} got no answer: {value.live}"
    found = re.search(r"net::ERR_\w+", case.first.observed)
    return None if found is None or found[0] in case.first.expected else f"the browser got no answer: {found[0]}"


def _trace(case: Case) -> str | None:
    """Find a target that is not on a page which is the recorded one to the last node: then the trace is at odds."""
    if case.first.layer != _TARGET or case.changes or case.network_mode == "live" or _CSS.search(case.first.observed):
        return None
    if case.before is None or case.observed is None or _shown(case.before) != _shown(case.observed):
        return None
    return "the page was as recorded when the action began, so its recorded target never was on it"


def _timing(case: Case) -> str | None:
    if case.first.code != "wait-timeout" or case.network_mode != "live" or case.changes:
        return None
    return "what was waited for did not come in time, and no answer differs from the recorded ones"


def _test_data(case: Case) -> str | None:
    """Find a change of data alone: values of JSON, or messages, while markup and scripts are as recorded."""
    parts = [value.part for _, value in case.values]
    if not parts or not all(DATA.match(part) for part in parts):
        return None
    change, value = next(case.values)
    return f"{change.key} brought other data: {value}"


def _site(case: Case) -> str | None:
    told = next(case.values, None)
    if told is not None:
        change, value = told
        return f"the site answers otherwise than when it was recorded: {change.key}: {value}"
    if case.network_mode == "live":
        return "the page is another one, and came from the live site"
    return None


def _unknown(case: Case) -> Judged:
    if case.possible_cause is not None:
        why = f"nothing the site sent differs; {case.possible_cause}"
        return Judged(cause="unknown", why=why, settle="replay with the recorded browser, on the recorded platform")
    return Judged(
        cause="unknown",
        why="every answer was served as recorded, in the recorded environment",
        settle="`eikon certify` shows whether this bundle replays alike at all; if it does, the trace was changed",
    )


JUDGES: Final[tuple[tuple[Cause, Callable[[Case], str | None]], ...]] = (
    ("environment", _environment),
    ("skill-changed", _skill),
    ("session-expired", _session),
    ("site-error", _site_error),
    ("network", _network),
    ("trace-invalid", _trace),
    ("test-data", _test_data),
    ("timing", _timing),
    ("site-changed", _site),
)
"""In the order in which one class hides another: a page that asks for a login is another page, too."""


def _documents(observation: Observation | None) -> tuple[DocumentLoad, ...]:
    return () if observation is None else observation.documents


def _new_documents(case: Case) -> Iterator[DocumentLoad]:
    """Yield the documents that came otherwise than recorded."""
    known = _documents(case.recorded)
    return (load for load in _documents(case.observed) if load not in known)


def _is_login(url: str) -> bool:
    return LOGIN.search(urlsplit(url).path) is not None


def _shown(observation: Observation) -> list[tuple[int, tuple[tuple[str, str], ...]]]:
    return [(page.page, tuple((frame.path, frame.digest) for frame in page.frames)) for page in observation.pages]
