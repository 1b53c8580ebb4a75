"""What an agent waited for in its Playwright client: a URL, a load state, a request, a response or another event.

A wait that ended in time has what it got as its condition. One that timed out has what the agent gave to Playwright: a
pattern for URLs or a load state. What a function of the agent would have accepted is unknown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from pydantic import ValidationError

from eikon_engine.browser.actions.conditions import URL_FLAGS, matches_url
from eikon_engine.browser.actions.targets import POLL_MS
from eikon_engine.browser.attach.call_interceptor import awaited_request, frame_selectors
from eikon_engine.browser.playwright_internals import context_options, has_load_state, impl_of, resolve_glob
from eikon_engine.network.keys import canonical_method, canonical_url
from eikon_engine.trace.actions import (
    UNBOUNDED_TIMEOUT_MS,
    LoadStateCondition,
    Note,
    RequestCondition,
    ResponseCondition,
    TrafficCondition,
    UrlCondition,
    UrlMatchCondition,
    UrlMatcher,
    WaitFor,
)
from eikon_engine.trace.execution import Failed, Succeeded

if TYPE_CHECKING:
    from typing import Any

    from eikon_engine.browser.attach.call_interceptor import PlaywrightWait
    from eikon_engine.browser.request_tracker import LoggedTraffic
    from eikon_engine.browser.session import Session
    from eikon_engine.trace.actions import Condition
    from eikon_engine.trace.execution import Result

_LOAD_STATE_CALL: Final = "wait_for_load_state"
_URL_CALL: Final = "wait_for_url"
_TIMED_OUT: Final = "Timeout "
"""How the client begins the error of a wait that timed out."""
_REQUEST_EVENTS: Final = frozenset({"request"})
_NAVIGATION_EVENTS: Final = frozenset({"", "framenavigated"})
_LOAD_EVENTS: Final = frozenset({"domcontentloaded", "load"})
_TRAFFIC_EVENTS: Final = frozenset({"request", "requestfailed", "requestfinished", "response"})
_RESPONSE_EVENTS: Final = frozenset({"requestfinished", "response"})
_LOADED_BEFORE: Final = re.compile(r'not waiting, "(\w+)" event already fired')
"""What the client logs if it need not wait for a load state."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AgentWait:
    """A wait of the agent, and where it began."""

    wait: PlaywrightWait
    page: int
    since: int
    """Number of steps that had begun when it began."""
    begun_ms: float
    """Page time at which it began."""

    @property
    def has_condition(self) -> bool:
        """Return whether a replay can wait for the same; other events are effects of steps."""
        return self.wait.event in _NAVIGATION_EVENTS | _LOAD_EVENTS | _TRAFFIC_EVENTS

    @property
    def label(self) -> str:
        """Return what the client waits for, as it logs that itself."""
        logged = next((each.strip() for each in self.wait.log if each.strip().startswith("waiting for ")), "")
        return logged or (f'waiting for event "{self.wait.event}"' if self.wait.event else "waiting for a load state")


def build_wait(waited: AgentWait, session: Session) -> tuple[WaitFor | Note, Result]:
    """Return the action of a wait that ended, and its result; it is the last step that began.

    It is a note if a replay cannot tell whether the same happened: waits for functions of the agent, for other events,
    and those that failed for another reason than their timeout.
    """
    wait = waited.wait
    if wait.error is None:
        return _successful_wait(waited, session), Succeeded()
    why = f"{waited.label}: {wait.error.splitlines()[0] if wait.error else 'failed'}"
    condition = _missed_condition(waited, session) if wait.error.startswith(_TIMED_OUT) else None
    if condition is None:
        return Note(page=waited.page, text=why), Succeeded()
    action = WaitFor(
        page=waited.page,
        timeout_ms=wait.timeout_ms,
        condition=condition,
        elapsed_ms=max(0.0, session.timeline.begun_ms - waited.begun_ms),
    )
    return action, Failed(code="wait-timeout", message=why)


def unchecked_reason(waited: AgentWait, action: WaitFor | Note) -> str | None:
    """Return why no replay checks that a wait times out, as it did in the recording; None for other waits."""
    wait = waited.wait
    if wait.error is None or not wait.error.startswith(_TIMED_OUT) or isinstance(action, WaitFor):
        return None
    has_url = wait.event in _REQUEST_EVENTS | _RESPONSE_EVENTS or wait.call.api_name.endswith(_URL_CALL)
    if has_url and not isinstance(wait.pattern, str | re.Pattern):
        return "it depends on a function of the agent"
    if wait.event == "" and (wait.state or has_url):
        if wait.state == "networkidle":
            return "a replay always waits until the page is idle"
        return "its condition held after the timeout, before its step began"
    return "they cannot check that such an event does not fire"


def _successful_wait(waited: AgentWait, session: Session) -> WaitFor | Note:
    wait = waited.wait
    condition, page = _condition_of(waited, session)
    if condition is None:
        return Note(page=waited.page, text=f"{waited.label}: the event fired")
    return WaitFor(page=page, timeout_ms=wait.timeout_ms or UNBOUNDED_TIMEOUT_MS, condition=condition)


def _missed_condition(waited: AgentWait, session: Session) -> Condition | None:
    """Return the condition that did not hold in time; None if a replay cannot evaluate it.

    A URL or load state that was reached after the timeout, but before the step began, cannot be evaluated either: a
    replay would only see that it was reached.
    """
    wait = waited.wait
    if wait.event in _REQUEST_EVENTS | _RESPONSE_EVENTS:
        return _missed_traffic(waited, session)
    if wait.event != "" or wait.frame is None:
        return None
    condition: LoadStateCondition | UrlMatchCondition
    frames, matcher = frame_selectors(wait.frame), _matcher(wait.pattern, session)
    if wait.state in {"load", "domcontentloaded"}:
        state: Literal["load", "domcontentloaded"] = "load" if wait.state == "load" else "domcontentloaded"
        condition, holds = LoadStateCondition(state=state, frames=frames), has_load_state(wait.frame, state)
    elif matcher is not None and not wait.state and wait.call.api_name.endswith(_URL_CALL):
        condition, holds = UrlMatchCondition(matcher=matcher, frames=frames), matches_url(matcher, wait.frame.url)
    else:
        return None
    is_over = session.timeline.begun_ms >= waited.begun_ms + wait.timeout_ms
    return None if is_over and holds else condition


def _missed_traffic(waited: AgentWait, session: Session) -> TrafficCondition | None:
    """Return the condition for one more request or response than arrived just before the wait."""
    matcher, is_response = _matcher(waited.wait.pattern, session), waited.wait.event in _RESPONSE_EVENTS
    if matcher is None:
        return None
    matching = [
        each
        for each in session.traffic_log.since_wait(waited.since, waited.begun_ms - POLL_MS)
        if (each.status is not None) == is_response
        and each.page is session.page(waited.page)
        and each.at_ms <= waited.begun_ms + waited.wait.timeout_ms
        and matches_url(matcher, each.request.url)
    ]
    return TrafficCondition(
        event="response" if is_response else "request",
        matcher=matcher,
        count=len(matching) + 1,
        steps=session.timeline.steps_begun - waited.since,
    )


def _matcher(pattern: object, session: Session) -> UrlMatcher | None:
    """Return the pattern of an agent; None for a function, or without one."""
    if isinstance(pattern, str) and pattern:
        glob = resolve_glob(context_options(session.context).get("baseURL"), pattern)
        session.detect_in_text(glob, by_page=True)
        try:
            return UrlMatcher(syntax="glob", text=glob)
        except ValidationError:  # Playwright rejected it, too
            return None
    if isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, str):
        flags = "".join(letter for letter, flag in URL_FLAGS.items() if pattern.flags & flag)
        return UrlMatcher(syntax="regex", text=pattern.pattern, flags=flags)
    return None


def _condition_of(waited: AgentWait, session: Session) -> tuple[Condition | None, int]:
    """Return the condition that held in the end, and the ordinal of its page; no condition for other events."""
    wait = waited.wait
    if wait.event in _TRAFFIC_EVENTS:
        return _traffic_condition(waited, session)
    if wait.event in _LOAD_EVENTS:
        return LoadStateCondition(state="load" if wait.event == "load" else "domcontentloaded"), waited.page
    if wait.event not in _NAVIGATION_EVENTS:
        return None, waited.page
    frame = wait.frame if wait.event == "" else wait.results[-1]
    frames = frame_selectors(frame)
    if wait.call.api_name.endswith(_LOAD_STATE_CALL):
        is_parsed = _load_state(wait) == "domcontentloaded"
        return LoadStateCondition(state="domcontentloaded" if is_parsed else "load", frames=frames), waited.page
    return UrlCondition(url=frame.url, frames=frames), waited.page


def _load_state(wait: PlaywrightWait) -> str:
    """Return the load state that was waited for; `networkidle` counts as `load`, as replays wait for idle pages."""
    if wait.results:
        return str(wait.results[-1])
    found = next((found for line in wait.log if (found := _LOADED_BEFORE.search(line))), None)
    return found[1] if found is not None else "load"


def _traffic_condition(waited: AgentWait, session: Session) -> tuple[Condition | None, int]:
    """Return the condition for a request or response, with its number among the equal ones of its page."""
    request, status = awaited_request(waited.wait.results[-1])
    awaited_status = status if waited.wait.event in _RESPONSE_EVENTS else None
    place = method, url = canonical_method(request.method), canonical_url(request.url)
    entries = [each for each in session.traffic_log.since(waited.since) if each.status == awaited_status]
    own = next((each for each in entries if impl_of(each.request) is request), None)
    if own is None or own.page is None:
        return None, waited.page
    equal = [each for each in entries if each.page is own.page and _place(each) == place]
    fields: dict[str, Any] = {
        "method": method,
        "url": url,
        "count": equal.index(own) + 1,
        "steps": session.timeline.steps_begun - waited.since,
    }
    page = session.tracker.ordinal(own.page)
    if awaited_status is None:
        return RequestCondition(**fields), page
    return ResponseCondition(**fields, status=awaited_status), page


def _place(entry: LoggedTraffic) -> tuple[str, str]:
    return canonical_method(entry.request.method), canonical_url(entry.request.url)
