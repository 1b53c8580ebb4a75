"""Tell why a replay diverged: the first class, in causal order, for which there is evidence.

No class is a guess. Where nothing speaks for any of them, the cause is unknown, and what would tell is named.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from eikon_engine.divergence.no_answer import no_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.outcome.explanation import Cause
    from eikon_engine.outcome.outcomes import NetworkMode, ResponseChange, ValueChange
    from eikon_engine.trace.observation import DocumentLoad, Observation

LOGIN: Final = re.compile(r"(?:^|[/_.-])(?:log-?_?in|log-?_?on|sign-?_?in|auth|sso)(?:[/_.-]|$)", re.IGNORECASE)
"""Parts of a path that name a page on which people log in."""
NO_SESSION: Final[Mapping[int, str]] = MappingProxyType(
    {401: "asks for a login", 403: "refuses access", 419: "says that the page has expired", 440: "asks for a login"}
)
"""What statuses say to who is not logged in: RFC 9110, section 15.5; 419 and 440 are those of Laravel and of IIS."""
FIRST_ERROR: Final = 400
DATA: Final = re.compile(r"body \$|(?:message|event) \d")
"""How parts of answers begin that carry data, and neither markup nor scripts."""
_LOST: Final = frozenset({"target-missing", "target-ambiguous", "target-changed"})


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
    behind: tuple[ResponseChange, ...] = ()
    """Those of them that the divergence may follow from, likeliest first."""
    network_mode: NetworkMode = "sealed"
    is_answered_by_other: bool = False
    """Whether another recording answered."""
    possible_cause: str | None = None
    """What is different in the environment of the replay."""

    @property
    def values(self) -> Iterator[tuple[ResponseChange, ValueChange]]:
        """Yield every changed value of the answers behind the divergence, the likeliest first."""
        return ((change, value) for change in self.behind for value in change.what)


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
        if load.status is not None and load.status in NO_SESSION and load.status not in _recorded_statuses(case):
            return f"{load.url} was answered with status {load.status}, which {NO_SESSION[load.status]}"
        if _is_login(load.url) and not any(_is_login(each.url) for each in _documents(case.recorded)):
            return f"the site led to {load.url}, where one logs in"
    for change, value in case.values:
        if value.part == "status" and value.live.isdigit() and int(value.live) in NO_SESSION:
            return f"{change.key} was answered with status {value.live}, which {NO_SESSION[int(value.live)]}"
        if value.part == "header location" and _is_login(value.live) and not _is_login(value.recorded):
            return f"{change.key} led to {value.live}, where one logs in"
    return None


def _site_error(case: Case) -> str | None:
    for load in _new_documents(case):
        if load.status is not None and load.status >= FIRST_ERROR and load.status not in _recorded_statuses(case):
            return f"{load.url} was answered with status {load.status}"
    for change, value in case.values:
        if value.part == "status" and value.live.isdigit() and int(value.live) >= FIRST_ERROR:
            return f"{change.key} was answered with status {value.live} instead of {value.recorded}"
    return None


def _network(case: Case) -> str | None:
    for change, value in case.values:
        said = no_answer(change, value)
        if said is not None:
            return said
    found = re.search(r"net::ERR_\w+", case.first.observed)
    return None if found is None or found[0] in case.first.expected else f"the browser got no answer: {found[0]}"


def _trace(case: Case) -> str | None:
    """Find a target that is not on a page which is the recorded one to the last node: then the trace is at odds."""
    if case.first.code not in _LOST or case.changes or case.network_mode == "live" or case.possible_cause is not None:
        return None
    if any(each.code == "request-not-recorded" for each in case.also):
        return None
    if case.first.candidates and case.first.candidates[0].score == 1:
        return "the recorded element is on the page in every respect, and its recorded target does not find it alone"
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
    if case.network_mode == "live" and case.possible_cause is None:
        return "the page is another one, and came from the live site"
    return None


_SERVED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "sealed": "every answer was served as recorded, in the recorded environment",
        "other": "no answer of the other recording differs so far, and the environment is the recorded one",
        "live": "no answer is known to differ, and the environment is the recorded one",
        "snapshot": "the documents were shown as they were stored, in the recorded environment",
    }
)


def _unknown(case: Case) -> Judged:
    if case.possible_cause is not None:
        why = f"no answer is known to differ; {case.possible_cause}"
        return Judged(cause="unknown", why=why, settle="replay with the recorded browser, on the recorded platform")
    return Judged(
        cause="unknown",
        why=_SERVED["other" if case.is_answered_by_other else case.network_mode],
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
    """Yield the documents that came otherwise than recorded: at another address, or with another status."""
    known = _documents(case.recorded)
    return (load for load in _documents(case.observed) if load not in known)


def _recorded_statuses(case: Case) -> set[int | None]:
    return {load.status for load in _documents(case.recorded)}


def _is_login(url: str) -> bool:
    return LOGIN.search(urlsplit(url).path) is not None


def _shown(observation: Observation) -> list[tuple[int, tuple[tuple[str, str], ...]]]:
    return [(page.page, tuple((frame.path, frame.digest) for frame in page.frames)) for page in observation.pages]
