"""Classify the cause of a divergence: the first cause, in causal order, for which there is evidence.

A cause is never a guess. Without evidence the cause is unknown, and the explanation says how to find it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.response_diff import (
    ABSENT,
    DATA_PART,
    ENDING_PARTS,
    ERROR_TEXT_PART,
    FIRST_ERROR_STATUS,
    REDIRECT_PART,
    SIGN_IN_PART,
    WITHHELD_ENDING,
)
from eikon_engine.errors import LOST_TARGET_CODES, NavigationError
from eikon_engine.files.origins import split_url
from eikon_engine.files.text import read_digits
from eikon_engine.network.exchange import PASSIVE_TYPES
from eikon_engine.network.websocket import SOCKET_METHOD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.outcome.divergence import Cause, Divergence, Refusal
    from eikon_engine.outcome.outcomes import NetworkMode, ResponseChange, ValueChange
    from eikon_engine.trace.observation import DocumentLoad, Observation


def describe_missing_response(change: ResponseChange, value: ValueChange) -> str | None:
    """Describe a request that got no response, with the browser's error; None if it got one.

    A redirect to another origin whose response the page may not read is a response, although the browser reports an
    error.
    """
    if value.part != "ending" or not value.live.startswith("net::") or withheld_redirect(change) is not None:
        return None
    return f"{change.key} got no response: {value.live}"


def withheld_redirect(change: ResponseChange) -> str | None:
    """Return where a site redirected a call to, if the page may not read the response there (CORS); else None.

    The browser's console says so, or the redirect led to another origin.
    """
    ending = next((each.live for each in change.what if each.part == "ending"), "")
    redirect = next((each.live for each in reversed(change.what) if each.part == REDIRECT_PART), None)
    if redirect is None or ending not in {_WITHHELD_ERROR, WITHHELD_ENDING}:
        return None
    is_elsewhere = _origin(redirect) != _origin(change.key.split(" ")[1])
    return redirect if is_elsewhere or ending == WITHHELD_ENDING else None


_WITHHELD_ERROR: Final = "net::ERR_FAILED"
"""Chromium's error for a response that CORS withholds from the page, and for other failures."""


def describe_missing_document(load: DocumentLoad, comparison: Comparison) -> str | None:
    """Describe the request for a recorded document that got no response in the compared action; None if all did."""
    urls = {url.partition("#")[0] for url in (load.url, *(hop.url for hop in load.hops))}
    place = comparison.position
    for change in comparison.response_changes:
        is_here = (change.subgoal, change.sequence) == (place.subgoal, place.sequence)
        if not is_here or change.key.split(" ")[1] not in urls:
            continue
        for value in change.what:
            reason = describe_missing_response(change, value)
            if reason is not None:
                return reason
    return None


LOGIN_PATH: Final = re.compile(r"(?:^|[/_.-])(?:log-?_?in|log-?_?on|sign-?_?in|auth|sso)(?:[/_.-]|$)", re.IGNORECASE)
"""Parts of a URL path that indicate a login page."""
SESSION_STATUSES: Final[Mapping[int, str]] = MappingProxyType(
    {401: "login required", 403: "access denied", 419: "page expired", 440: "login required"}
)
"""Statuses sent to users who are not logged in: RFC 9110, section 15.5; 419 is from Laravel, 440 from IIS."""
_REFUSALS: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
"""Statuses that also refuse visitors who never signed in, and wrong passwords."""
_GONE: Final = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})
_LOGIN_PAGE_PATH: Final = re.compile(
    r"(?:^|[/_.-])(?:log-?_?in|log-?_?on|sign-?_?in)(?:[/_.-]|$)|(?:^|[/_.-])(?:auth|sso)(?:\.\w+)?/?$", re.IGNORECASE
)
_API_PATH: Final = re.compile(r"(?:^|/)(?:api|rest|ajax|rpc|graphql|v\d+)/(?:.*/)?(?:auth|sso)/?$", re.IGNORECASE)
_LOGIN_HOST: Final = re.compile(r"(?:log-?in|log-?on|sign-?in|sso)\.", re.IGNORECASE)
_SIGN_IN_QUERY: Final = re.compile(r"(?:^|&)(?:SAMLRequest=|wa=wsignin1\.0)")
"""Sign-in requests of SAML 2.0 (Bindings, section 3.4.4.1) and WS-Federation (section 13.2.1)."""
_AUTHORIZE_PATH: Final = re.compile(r"/authori[sz]e/?$", re.IGNORECASE)
_AUTHORIZE_QUERY: Final = re.compile(r"(?:^|&)(?:client_id|response_type)=")
"""An authorization request of OAuth 2.0: RFC 6749, section 4.1.1."""
_TIMEOUT: Final = re.compile(r"Timeout (\d+)ms exceeded")
_ERROR_MEMBERS: Final = ("message", "detail", "error", "title", "reason", "description")
_ERROR_PART: Final = re.compile(rf"body \$(?:\.errors?)?\.({'|'.join(_ERROR_MEMBERS)})")
"""Members of JSON bodies that say what went wrong: RFC 9457, section 3.1, and what is common."""
_LITERAL: Final = re.compile(r"true|false|null|-?[\d.]+|[\[{].*|")
"""Values that are no text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DivergenceCase:
    """The first step that diverged, with everything known about it."""

    first: Divergence
    other_divergences: tuple[Divergence, ...] = ()
    """Other divergences at the same step."""
    before: Observation | None = None
    """Last recorded observation before the step."""
    recorded: Observation | None = None
    observed: Observation | None = None
    changes: tuple[ResponseChange, ...] = ()
    """Responses up to this step that differ from the recorded ones."""
    related_changes: tuple[ResponseChange, ...] = ()
    """The responses among them that may have caused the divergence, most likely first."""
    network_mode: NetworkMode = "sealed"
    is_answered_by_other: bool = False
    """Whether another recording served the responses."""
    is_before_sign_in: bool = False
    """Whether the step began without a sign-in, in the mission or before it, so that no session could end."""
    possible_cause: str | None = None
    """The differences of the environment, if there are any."""
    is_possible_cause_unlikely: bool = False
    """Whether the possible cause is one only if nothing else is found."""
    is_other_playwright: bool = False
    """Whether another release of Playwright than the recorded one found the targets."""

    @property
    def has_likely_possible_cause(self) -> bool:
        """Whether the differences of the environment may explain the divergence as well as anything else."""
        return self.possible_cause is not None and not self.is_possible_cause_unlikely

    @property
    def changed_values(self) -> Iterator[tuple[ResponseChange, ValueChange]]:
        """Yield every changed value of the responses behind the divergence, most likely first."""
        return ((change, value) for change in self.related_changes for value in change.what)

    @property
    def unrelated_calls(self) -> Iterator[tuple[ResponseChange, ValueChange]]:
        """Yield the changed values of the calls of the action whose values the page does not show."""
        for change in self.changes:
            is_here = (change.subgoal, change.sequence) == (self.first.subgoal, self.first.sequence)
            if is_here and change.resource_type not in PASSIVE_TYPES and change not in self.related_changes:
                yield from ((change, value) for value in change.what)


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseAssessment:
    """A cause with its evidence."""

    cause: Cause
    why: str
    settle: str = ""
    refusal: Refusal | None = None


def classify_cause(case: DivergenceCase) -> CauseAssessment:
    """Return the cause of a divergence."""
    for cause, judges in CAUSE_TESTS:
        why = judges(case)
        if why is not None:
            return CauseAssessment(cause=cause, why=why, refusal=_find_refusal(case, cause))
    return _unknown(case)


def _find_refusal(case: DivergenceCase, cause: Cause) -> Refusal | None:
    """Return what the site refused, if a cause is a response that says so; None for errors of the site itself."""
    if cause == "session-expired":
        return "sign-in" if _refused_sign_in(case) is not None else None
    failed = _failed_response(case) if cause == "site-error" else None
    if failed is None:
        return None
    if _refused(failed.url, failed.status):
        return "sign-in"
    return "address" if failed.status in _GONE else None


def _environment(case: DivergenceCase) -> str | None:
    if case.first.layer != "environment":
        return None
    return f"the replay could not reproduce the recorded environment: {case.first.expected}, now {case.first.observed}"


def _skill(case: DivergenceCase) -> str | None:
    if case.first.layer != "skill":
        return None
    return "the skill was rerun on the stored document, so the skill or its dependencies must have changed"


def _session(case: DivergenceCase) -> str | None:
    refused = _refused_sign_in(case)
    if refused is not None:
        return refused
    for load in _new_documents(case):
        ended = _session_end(case, load.url, load.status)
        if ended and load.status not in _recorded_statuses(case):
            return f"{load.url} returned status {load.status} ({ended}){_quoted_title(case, load)}"
        if _is_login_shown(load) and not any(is_login_document(each.url) for each in _documents(case.recorded)):
            return f"the site {'redirected to' if load.hops else 'showed'} a login page, {load.url}"
    return _session_end_in(case, case.changed_values)


def _refused_sign_in(case: DivergenceCase) -> str | None:
    """Return that a sign-in of this step led to the login page again; None if there was none, or if it did not."""
    recorded = any(is_login_document(load.url) for load in _documents(case.recorded))
    if recorded or not any(map(_is_login_shown, _new_documents(case))):
        return None
    for change in _changes_here(case):
        method, url = change.key.split(" ")[:2]
        is_sent_back = any(each.part == "url" and is_login_document(each.live) for each in change.what)
        if method == "POST" and is_login_document(url) and is_sent_back:
            return f"POST {url} led to the login page again (the sign-in was refused){_quoted(_error_text(change))}"
    return None


def _changes_here(case: DivergenceCase) -> Iterator[ResponseChange]:
    here = (case.first.subgoal, case.first.sequence)
    return (each for each in case.changes if (each.subgoal, each.sequence) == here)


def _is_login_shown(load: DocumentLoad) -> bool:
    """Return whether a document is a login page; the error that a sign-in itself ended with is none."""
    is_error = load.status is not None and load.status >= FIRST_ERROR_STATUS and not load.hops
    return is_login_document(load.url) and not is_error


def _session_of_unrelated_call(case: DivergenceCase) -> str | None:
    """Find the end of a session in any call of the action, if no related response explains the divergence.

    A page seldom shows why a call failed, so what a response says of the session counts although the page lacks it.
    """
    return None if case.related_changes else _session_end_in(case, case.unrelated_calls)


def _session_end_in(case: DivergenceCase, values: Iterable[tuple[ResponseChange, ValueChange]]) -> str | None:
    return next((reason for each in values if (reason := _session_of_call(case, *each)) is not None), None)


def _session_of_call(case: DivergenceCase, change: ResponseChange, value: ValueChange) -> str | None:
    """Return how the response to a request shows that the session ended; None if the recorded one was refused, too."""
    url = change.key.split(" ")[1]
    statuses = [read_digits(each.recorded) for each in change.what if each.part == "status" and each.recorded.isdigit()]
    if any(status in SESSION_STATUSES for status in statuses):
        return None
    if value.part == "status" and value.live.isdigit():
        ended = _session_end(case, url, read_digits(value.live))
        return f"{change.key} returned status {value.live} ({ended}){_quoted_error(change)}" if ended else None
    if value.part in {REDIRECT_PART, "url"} and _leads_to_login(url, value):
        is_no_end = case.is_before_sign_in and withheld_redirect(change) is not None
        return None if is_no_end else f"{change.key} was redirected to a login page, {value.live}"
    if value.part == SIGN_IN_PART and change.resource_type != "document" and not case.is_before_sign_in:
        return f"{change.key} returned a page with a sign-in form: '{value.live}'"
    return None


def _leads_to_login(url: str, value: ValueChange) -> bool:
    """Return whether a request is redirected to a login page, and neither was in the recording nor is itself for one.

    A host that is called like one for logins says nothing about redirects within it.
    """
    own = split_url(url).netloc
    requested, recorded, live = (_without_host(each, own) for each in (url, value.recorded, value.live))
    return is_login_page(live) and not is_login_document(recorded) and not is_login_document(requested)


def _without_host(url: str, host: str) -> str:
    """Return path and query of a URL if it has this host, else the URL."""
    parts = split_url(url)
    return parts._replace(scheme="", netloc="").geturl() if parts.netloc == host else url


@dataclass(frozen=True, slots=True, kw_only=True)
class _FailedResponse:
    """A response that is an error, unlike the recorded one."""

    url: str
    status: int
    reason: str


def _site_error(case: DivergenceCase) -> str | None:
    failed = _failed_response(case)
    return None if failed is None else failed.reason


def _failed_response(case: DivergenceCase) -> _FailedResponse | None:
    for load in _new_documents(case):
        url, status = load.url, load.status
        if status is not None and status >= FIRST_ERROR_STATUS and status not in _recorded_statuses(case):
            documents = (each for each in _changes_here(case) if each.resource_type == "document")
            sent = _sent(_changes_of(case, load) or documents)
            reason = f"{url} returned status {status}{_refused(url, status)}{_quoted_title(case, load)}{sent}"
            return _FailedResponse(url=url, status=status, reason=reason)
    for change, value in case.changed_values:
        if value.part == "status" and value.live.isdigit() and read_digits(value.live) >= FIRST_ERROR_STATUS:
            url, status = change.key.split(" ")[1], read_digits(value.live)
            ended = f"returned status {status} instead of {value.recorded}{_refused(url, status)}"
            reason = f"{change.key} {ended}{_quoted_error(change)}{_sent((change,))}"
            return _FailedResponse(url=url, status=status, reason=reason)
    return None


def _session_end(case: DivergenceCase, url: str, status: int | None) -> str:
    """Return what a status means for the session; empty if nothing.

    401 and 403 count only if there was a sign-in, and not for the sign-in itself; 403 only if the site stored anything.
    """
    shown = case.before or case.observed
    has_storage = shown is None or shown.storage is None or bool(shown.storage)
    is_without_session = case.is_before_sign_in or is_login(url)
    if status in _REFUSALS and (is_without_session or (status == HTTPStatus.FORBIDDEN and not has_storage)):
        return ""
    return SESSION_STATUSES.get(status or 0, "")


def _refused(url: str, status: int) -> str:
    """Return that a status refuses a sign-in, in parentheses; empty if it does not."""
    return " (the sign-in was refused)" if status in _REFUSALS and is_login(url) else ""


def _quoted_title(case: DivergenceCase, load: DocumentLoad) -> str:
    """Return what an error page says, quoted: the error in its text or, if there is none, its title."""
    error = next((text for each in _changes_of(case, load) if (text := _error_text(each))), "")
    pages = () if case.observed is None else case.observed.pages
    return _quoted(error or next((page.title for page in pages if page.page == load.page), ""))


def _quoted(text: str) -> str:
    return f": '{text}'" if text else ""


def _changes_of(case: DivergenceCase, load: DocumentLoad) -> list[ResponseChange]:
    """Return the changed responses to the requests for a document, in the step that loaded it."""
    urls = {url.partition("#")[0] for url in (load.url, *(hop.url for hop in load.hops))}
    return [each for each in _changes_here(case) if each.key.split(" ")[1] in urls]


def _sent(answers: Iterable[ResponseChange]) -> str:
    """Return what this replay sent to get the first of these responses, if that differs from the recorded request."""
    sent = next((each.sent for each in answers if each.sent), "")
    return f"; sent in this run as {sent}" if sent else ""


def _quoted_error(change: ResponseChange) -> str:
    """Return what a body says went wrong, quoted; empty if it does not."""
    texts: dict[str, str] = {}
    for each in change.what:
        found = _ERROR_PART.fullmatch(each.part)
        if found is not None and each.live != ABSENT and not _LITERAL.fullmatch(each.live):
            texts.setdefault(found[1], each.live)
    text = next((texts[name] for name in _ERROR_MEMBERS if name in texts), _error_text(change))
    return _quoted(text)


def says_how_it_ended(value: ValueChange) -> bool:
    """Return whether a changed value says how a request ended: its status or error, a redirect, or a message."""
    is_ending = value.part in {*ENDING_PARTS, "url", REDIRECT_PART, SIGN_IN_PART, ERROR_TEXT_PART}
    return is_ending or _ERROR_PART.fullmatch(value.part) is not None


def _error_text(change: ResponseChange) -> str:
    """Return the error that an HTML page or a plain text reports; empty if it does not."""
    return next((each.live for each in change.what if each.part == ERROR_TEXT_PART), "")


def _network(case: DivergenceCase) -> str | None:
    for change, value in case.changed_values:
        reason = describe_missing_response(change, value)
        if reason is not None:
            return reason
    if any(withheld_redirect(change) is not None for change in case.related_changes):
        return None
    found = re.search(r"net::ERR_\w+", case.first.observed)
    return None if found is None or found[0] in case.first.expected else f"the browser got no response: {found[0]}"


def _trace(case: DivergenceCase) -> str | None:
    """Find a target that is missing on a page equal to the recorded one, which means that the trace is inconsistent.

    What a selector finds depends on the page and Playwright; another browser may only show an element elsewhere.
    """
    if case.first.code not in LOST_TARGET_CODES or case.changes or case.network_mode in SITE_MODES:
        return None
    if case.has_likely_possible_cause and (case.is_other_playwright or case.first.code == "target-changed"):
        return None
    if any(each.code == "request-not-recorded" for each in case.other_divergences):
        return None
    if case.first.candidates and case.first.candidates[0].score == 1:
        return "the recorded element is on the page unchanged, but the recorded selector does not match it alone"
    if case.before is None or case.observed is None or _frame_digests(case.before) != _frame_digests(case.observed):
        return None
    is_there = case.first.code == "target-changed"
    so = "the target never was what the trace says" if is_there else "the recorded target was never on it"
    return f"the page equalled the recorded one before the action, so {so}"


def _timing(case: DivergenceCase) -> str | None:
    if case.network_mode != "live":
        return None
    timeout = _TIMEOUT.search(case.first.observed)
    if case.first.code == NavigationError.code and timeout is not None:
        return f"the page did not load within {timeout[1]} ms"
    if case.first.code != "wait-timeout" or case.changes:
        return None
    return "the awaited condition was not met in time, and no response differs from the recorded ones"


def _test_data(case: DivergenceCase) -> str | None:
    """Find a change of data only: JSON values or messages, while markup and scripts are as recorded."""
    parts = [value.part for _, value in case.changed_values]
    if not parts or not all(DATA_PART.match(part) for part in parts):
        return None
    change, value = next(case.changed_values)
    what = "received different messages" if change.key.startswith(f"{SOCKET_METHOD} ") else "returned different data"
    return f"{change.key} {what}: {value}"


def _site(case: DivergenceCase) -> str | None:
    first = next(case.changed_values, None)
    if first is None:
        return None
    change, value = first
    redirect = withheld_redirect(change)
    if redirect is not None:
        return f"{change.key} was redirected to {redirect}, whose origin does not let the page read the response"
    return f"the site responds differently than in the recording: {change.key}: {value}"


def _site_alone(case: DivergenceCase) -> str | None:
    """Find the site as all that is left: no changed value is on the page, and the environment is hardly the cause."""
    why = None if case.has_likely_possible_cause else _site_alone_in(case)
    return f"{why}; {case.possible_cause}" if why is not None and case.possible_cause is not None else why


def _site_alone_in(case: DivergenceCase) -> str | None:
    if case.network_mode == "live":
        return "the page, served by the live site, differs from the recorded one"
    if case.network_mode == "recorded-api":
        return "the front end of the deployment shows something else, with the recorded responses of the back end"
    if case.is_answered_by_other and case.changes:
        return (
            "the page differs, and so do responses of the other recording; none of their changed values is on the page"
        )
    return None


CERTIFY_TO_SETTLE: Final = (
    "run `eikon certify` to check that this bundle replays deterministically; if so, the trace was edited"
)
SITE_MODES: Final = frozenset({"live", "recorded-api"})
"""Network modes in which a site responds, at least in part."""
_UNKNOWN_REASONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "sealed": "every response was served from the recording, in the recorded environment",
        "other": "no response of the other recording differs so far, and the environment is the recorded one",
        "live": "no response is known to differ, and the environment is the recorded one",
        "recorded-api": "no response of the deployment is known to differ, and the environment is the recorded one",
        "snapshot": "the stored documents were shown, in the recorded environment",
    }
)


def _unknown(case: DivergenceCase) -> CauseAssessment:
    blocked = next(
        (each for each in (case.first, *case.other_divergences) if each.code == "request-not-recorded"), None
    )
    if blocked is not None:
        return CauseAssessment(
            cause="unknown",
            why=f"the recording has no response for {blocked.observed}, so it was blocked",
            settle="if a value in it varies from run to run, `eikon certify` learns a rule for it; otherwise the page "
            "did something else than in the recording",
        )
    if case.possible_cause is not None:
        known = "the page shows no changed value of a response" if case.changes else "no response is known to differ"
        why = f"{known}; {case.possible_cause}"
        return CauseAssessment(
            cause="unknown", why=why, settle="replay with the recorded browser on the recorded platform"
        )
    return CauseAssessment(
        cause="unknown",
        why=_UNKNOWN_REASONS["other" if case.is_answered_by_other else case.network_mode],
        settle=CERTIFY_TO_SETTLE,
    )


CAUSE_TESTS: Final[tuple[tuple[Cause, Callable[[DivergenceCase], str | None]], ...]] = (
    ("environment", _environment),
    ("skill-changed", _skill),
    ("session-expired", _session),
    ("site-error", _site_error),
    ("network", _network),
    ("trace-invalid", _trace),
    ("test-data", _test_data),
    ("timing", _timing),
    ("session-expired", _session_of_unrelated_call),
    ("site-changed", _site),
    ("site-changed", _site_alone),
)
"""Ordered by precedence: a login page, for example, is also a changed page, so session-expired is tested first.

A call that the page shows nothing of is weaker evidence of it than a changed response that the page shows.
"""


def _documents(observation: Observation | None) -> tuple[DocumentLoad, ...]:
    return () if observation is None else observation.documents


def _new_documents(case: DivergenceCase) -> Iterator[DocumentLoad]:
    """Yield the documents that were not recorded with the same URL, status and redirects."""
    known = _documents(case.recorded)
    return (load for load in _documents(case.observed) if load not in known)


def _recorded_statuses(case: DivergenceCase) -> set[int | None]:
    return {load.status for load in _documents(case.recorded)}


def _origin(url: str) -> tuple[str, str]:
    parts = split_url(url)
    return parts.scheme, parts.netloc


def is_login(url: str) -> bool:
    """Return whether the path of a URL is that of a login page."""
    return LOGIN_PATH.search(split_url(url).path) is not None


def is_login_page(url: str) -> bool:
    """Return whether the path of a URL is that of a page to log in, and not of an API such as `/api/auth/me`."""
    parts = split_url(url)
    if _API_PATH.search(parts.path) is not None:
        return False
    if _LOGIN_PAGE_PATH.search(parts.path) or _LOGIN_HOST.match(parts.netloc) or _SIGN_IN_QUERY.search(parts.query):
        return True
    return _AUTHORIZE_PATH.search(parts.path) is not None and _AUTHORIZE_QUERY.search(parts.query) is not None


def is_login_document(url: str) -> bool:
    """Return whether a document is a login page, by its URL; documents of an API are none that a browser shows."""
    return is_login(url) or is_login_page(url)


def _frame_digests(observation: Observation) -> list[tuple[int, tuple[tuple[str, str], ...]]]:
    return [(page.page, tuple((frame.path, frame.digest) for frame in page.frames)) for page in observation.pages]
