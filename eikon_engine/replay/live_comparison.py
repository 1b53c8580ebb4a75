"""Compare live steps: what an unchanged site varies, and what its pages have loaded earlier than in the recording."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from datetime import date, timedelta
from functools import cache, partial
from typing import TYPE_CHECKING, Final, TypeAlias

from eikon_engine.divergence.present_times import (
    ELAPSED_TOLERANCE,
    PRESENT_TIME,
    PresentTimes,
    find_dates,
    find_elapsed,
    page_time,
    page_zone,
    response_without_present_times,
    without_present_times,
)
from eikon_engine.dom.tree import HTML_WHITESPACE
from eikon_engine.files.text import ELLIPSIS
from eikon_engine.network.exchange import SAFE_METHODS
from eikon_engine.network.nearest import MAX_QUERY_PAIRS
from eikon_engine.network.saves import group_saves
from eikon_engine.network.websocket import SOCKET_METHOD
from eikon_engine.replay.effects_policy import RESOURCE_ERROR
from eikon_engine.replay.live_sockets import PageMessages
from eikon_engine.trace.actions import (
    READING_ACTIONS,
    Evaluate,
    Fill,
    InsertText,
    Read,
    SelectOption,
    SetValue,
    TypeText,
)
from eikon_engine.trace.bundle import load_page
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.read_values import is_same_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.outcome.outcomes import NetworkMiss, ResponseChange
    from eikon_engine.replay.plan import Plan
    from eikon_engine.trace.observation import Observation, PageObservation

ENTERING_ACTIONS: Final = (Fill, InsertText, SelectOption, SetValue, TypeText)
"""Actions that enter a text or choose a value."""
MIN_RESPONSE_DELAY_MS: Final = 5_000.0
"""Wall time by which a response must be later than in the recording to be a finding."""
PAGE_AHEAD: Final = "page that was ahead of the recording"
"""Name under which steps report pages that already showed what the agent saw when it read them next."""
_LOADING_PAGE: Final = "content of a page that was loading"
"""Name under which steps report pages whose content is not compared, since the agent did not wait for them."""
_LOADING_TITLE: Final = "title of a page that was loading"
"""The same for a title that the page may have got after the recording looked at it."""


class LiveComparer:
    """Adapts the comparisons of one live replay, step by step; mutable."""

    def __init__(self, plan: Plan, now: Callable[[], datetime]) -> None:
        """Compare with the recording of a plan."""
        self._trace = plan.trace
        self._now = now
        self._begun = now()
        self._zone = page_zone(plan.trace.environment)
        recording = plan.recorded_network() if plan.network == "live" else None
        steps = [each.step for subgoal in plan.subgoals for each in subgoal.steps if isinstance(each.step, ActionTrace)]
        self._other_saves: Counter[str] = Counter()
        """How many saves of each place the baselines have in place of recorded ones, with bodies that are not known."""
        self._sockets = PageMessages() if recording is None else PageMessages.of(plan.trace, steps, recording)
        self._recorded: Counter[str] = Counter()
        """The requests of all steps, with how often they were recorded."""
        self._later_errors: _Errors = Counter()
        """Errors of the steps that were not replayed yet."""
        self._early_errors: _Errors = Counter()
        """Those of them that were reported already."""
        for subgoal in plan.subgoals:
            for each in subgoal.steps:
                if isinstance(each.step, ActionTrace) and each.step.baseline is not None:
                    self._recorded.update(each.step.baseline.requests)
                    self._later_errors.update(_errors(each.step.baseline))
        if recording is not None:
            self._other_saves = _count_other_saves(recording, self._recorded)
        self._later: Counter[str] = Counter()
        """Requests of the steps that were not replayed yet, as far as an earlier step may send them."""
        for subgoal in plan.subgoals:
            for each in subgoal.steps:
                if isinstance(each.step, ActionTrace):
                    self._later.update(self._movable(each.step))
        self._early: Counter[str] = Counter()
        """Those of them that were sent already."""
        self._reads_after = _reads_after(plan)
        waits = (
            each.completed_ms - each.started_ms
            for each in (() if recording is None else recording.as_recorded.exchanges)
            if each.completed_ms is not None
        )
        self._longest_response_ms = max(waits, default=0.0)
        self._target_times = PresentTimes(begin=plan.trace.started_at, recorded=plan.trace.started_at, observed=now())
        self._counting_texts = cache(partial(_counting_texts, plan))
        self._entered_dates = cache(partial(_entered_dates, plan))

    def begin_step(self, recorded: ActionTrace) -> Callable[[str, str], bool]:
        """Return a function that tells which texts of a step's target are the same up to present times."""
        self._target_times = self._times(recorded)
        return self._target_times.are_same

    def adapt(self, comparison: Comparison) -> tuple[Comparison, tuple[str, ...]]:
        """Remove from a comparison what is not compared live; return the names of that, too."""
        action = comparison.recorded
        recorded, observed = action.observation, comparison.observed
        if recorded is None or observed is None:
            return comparison, ()
        names: tuple[str, ...] = ()
        if (read := self._superseding_read(action, observed)) is not None:
            comparison = replace(comparison, recorded=action.model_copy(update={"action": read}))
            names = (PAGE_AHEAD,)
        if recorded.loading_pages:
            comparison, not_compared = self._without_loading_content(comparison, recorded, observed)
            names = (*names, *not_compared)
        comparison = self._without_early_errors(comparison)
        repeated = Counter(key for key in recorded.timer_requests if _is_safe(key) or self._recorded[key] > 1)
        known = Counter(key for key in observed.timer_requests if key in self._recorded)
        known.update(self._unrecorded_saves(recorded, observed))
        later = self._later - self._movable(action) - self._early
        comparison = replace(
            comparison,
            optional_requests=(*(repeated + self._early).elements(), *self._heartbeats_among(recorded)),
            known_requests=(*(known + later).elements(), *self._heartbeats_among(observed)),
        )
        times = replace(
            self._times(action),
            page_shift=page_time(observed) - page_time(recorded),
            counting_texts=self._counting_texts,
            later_values=comparison.later_values,
        )
        comparison, hidden = without_present_times(comparison, times)
        comparison = replace(comparison, clock_gap=times.clock_gap)
        if timed := _requests_with_present_times(comparison, times):
            comparison = replace(
                comparison,
                optional_requests=(*comparison.optional_requests, *(each.nearest for each in timed)),
                known_requests=(*comparison.known_requests, *(each.key for each in timed)),
            )
            hidden = tuple(dict.fromkeys((*hidden, PRESENT_TIME)))
        return comparison, tuple(dict.fromkeys((*names, *hidden, *self._target_times.not_compared)))

    def _unrecorded_saves(self, recorded: Observation, observed: Observation) -> Iterator[str]:
        """Yield what a timer saved with another body, where the baseline has a save whose body is not known, too."""
        missing = Counter(recorded.timer_requests) - Counter(observed.timer_requests)
        free = Counter(map(_save_place, missing.elements())) & self._other_saves
        for key in observed.timer_requests:
            if key not in self._recorded and free[_save_place(key)] > 0:
                free[_save_place(key)] -= 1
                yield key

    def _heartbeats_among(self, seen: Observation) -> Iterator[str]:
        return (key for key in seen.requests if key in self._sockets.heartbeats)

    def _without_loading_content(
        self, comparison: Comparison, recorded: Observation, observed: Observation
    ) -> tuple[Comparison, tuple[str, ...]]:
        """Put the recorded content in the place of that of each page that was loading, if it has the recorded URL.

        A live replay waits for the page, so its title may be another one by now. That is a difference only if the agent
        saw the page later, or if the recorded title was that of a response which has another one now.
        """
        known = {page.page: page for page in recorded.pages if page.page in recorded.loading_pages}
        names: list[str] = []
        pages = []
        for now in observed.pages:
            before = known.get(now.page)
            is_same = before is not None and before == now.model_copy(update={"snapshot": before.snapshot})
            if before is None or before.url != now.url or is_same:
                pages.append(now)
                continue
            names.append(_LOADING_PAGE)
            later = self._later_titles(comparison.recorded, now)
            is_other = now.title not in {before.title, *later}
            is_compared = bool(later) or _is_changed_value(comparison, before.title, now.title)
            if is_other and not is_compared:
                names.append(_LOADING_TITLE)
            pages.append(before.model_copy(update={"title": now.title}) if is_other and is_compared else before)
        observed = observed.model_copy(update={"pages": tuple(pages)})
        return replace(comparison, observed=observed), tuple(dict.fromkeys(names))

    def _later_titles(self, action: ActionTrace, page: PageObservation) -> tuple[str, ...]:
        """Return the titles that the agent saw when it only read the page after an action and the page had loaded."""
        seen = [each.baseline for each in self.later_states(action) if each.baseline is not None]
        return tuple(
            shown.title
            for each in seen
            for shown in each.pages
            if shown.page == page.page and shown.url == page.url and shown.page not in each.loading_pages
        )

    def _without_early_errors(self, comparison: Comparison) -> Comparison:
        """Remove the errors that a page reports in an earlier step than recorded, from both steps."""
        recorded, observed = comparison.recorded.observation, comparison.observed
        if recorded is None or observed is None:
            return comparison
        due, found = _errors(recorded), _errors(observed)
        early = (found - due) & _possibly_early(self._later_errors - due - self._early_errors, recorded)
        reported = self._reported_early(due, found)
        return replace(
            comparison,
            recorded=comparison.recorded.model_copy(update={"observation": _without_errors(recorded, reported)}),
            observed=_without_errors(observed, early),
        )

    def _reported_early(self, due: _Errors, found: _Errors) -> _Errors:
        """Return the errors due in a step that were reported in an earlier one.

        One that is found again was, too, unless a later step has it: then it is that one which was reported early.
        """
        missing = (due - found) & self._early_errors
        surplus = self._early_errors - missing - (self._later_errors - due)
        return missing + (due & found & surplus)

    def adapt_response(self, change: ResponseChange, recorded: ActionTrace) -> ResponseChange:
        """Remove present times from what differs in a response to a step."""
        return response_without_present_times(change, self._times(recorded))

    def _times(self, recorded: ActionTrace) -> PresentTimes:
        begin = self._trace.started_at
        return PresentTimes(
            begin=begin,
            recorded=recorded.ended_at or recorded.started_at or begin,
            observed=self._now(),
            begun=self._begun,
            zone=self._zone,
            entered_dates=self._entered_dates,
        )

    def response_delay_ms(self, recorded: ActionTrace, longest_ms: float) -> float:
        """Return by how much the longest wait for a response exceeds any in the recording; 0 if it does not by much.

        Whatever the action itself took counts as such a wait: page time stands still in some recordings.
        """
        begun, ended = recorded.started_at, recorded.ended_at
        action_ms = 0.0 if begun is None or ended is None else (ended - begun) / timedelta(milliseconds=1)
        delay_ms = longest_ms - max(action_ms, self._longest_response_ms)
        return delay_ms if delay_ms >= MIN_RESPONSE_DELAY_MS else 0.0

    def later_states(self, recorded: ActionTrace) -> tuple[ActionTrace, ...]:
        """Return the recorded steps after one that only read pages: what their pages had come to meanwhile."""
        return self._reads_after.get(recorded.id, ())

    def _superseding_read(self, recorded: ActionTrace, observed: Observation) -> Read | Evaluate | None:
        """Return what the agent read in place of an action whose value differs: it repeated the read after this one.

        That is the repetition that got the observed value, else the last one, whose value the agent had waited for.
        """
        action, value = recorded.action, observed.value
        if not isinstance(action, Read | Evaluate) or action.value is None or value is None:
            return None
        if is_same_value(action, action.value, value):
            return None
        repeated = [
            each.action
            for each in self.later_states(recorded)
            if isinstance(each.action, Read | Evaluate) and _is_repetition(action, each.action)
        ]
        equal = (each for each in repeated if each.value is not None and is_same_value(each, each.value, value))
        return next(equal, repeated[-1] if repeated else None)

    def end_step(self, recorded: ActionTrace, observed: Observation | None) -> None:
        """Note what a step sent, and what it sent earlier than recorded."""
        if recorded.baseline is None:
            return
        self._end_errors(recorded.baseline, observed)
        due = Counter(recorded.baseline.requests)
        self._later -= self._movable(recorded)
        if observed is not None:
            sent = Counter(observed.requests)
            self._early += (sent - due) & (self._later - self._early)
            self._early -= due - sent
            self._other_saves -= Counter(map(_save_place, self._unrecorded_saves(recorded.baseline, observed)))

    def _movable(self, action: ActionTrace) -> Counter[str]:
        """Return the requests of a step that may be sent in an earlier one, since the page waited longer there.

        These are safe requests, with the opening of sockets, and the messages that were sent before the action acted.
        """
        requests = Counter(() if action.baseline is None else action.baseline.requests)
        messages = self._sockets.unprompted.get(action.id, Counter[str]())
        return Counter({key: count if _is_safe(key) else min(count, messages[key]) for key, count in requests.items()})

    def _end_errors(self, recorded: Observation, observed: Observation | None) -> None:
        due = _errors(recorded)
        found = Counter() if observed is None else _errors(observed)
        reported = Counter() if observed is None else self._reported_early(due, found)
        self._later_errors -= due
        self._early_errors += (found - due) & _possibly_early(self._later_errors - self._early_errors, recorded)
        self._early_errors -= reported


_Errors: TypeAlias = "Counter[tuple[str, str]]"
"""How often each error was reported, by the field of the observation and the text."""
_ERROR_FIELDS: Final = ("page_errors", "console_errors")


def _errors(observation: Observation) -> _Errors:
    return Counter((name, text) for name in _ERROR_FIELDS for text in getattr(observation, name))


def _possibly_early(later: _Errors, recorded: Observation) -> _Errors:
    """Return which errors of later steps a live replay may have in this one: it waits for its pages.

    Those are all of a page that was loading, and else those of responses, which the agent may not have waited for.
    """
    if recorded.loading_pages:
        return later
    return Counter({error: count for error, count in later.items() if error[1].startswith(RESOURCE_ERROR)})


def _without_errors(observation: Observation, errors: _Errors) -> Observation:
    if not errors:
        return observation
    left = _errors(observation) - errors
    fields = {name: tuple(text for kind, text in left.elements() if kind == name) for name in _ERROR_FIELDS}
    return observation.model_copy(update=fields)


def _requests_with_present_times(comparison: Comparison, times: PresentTimes) -> tuple[NetworkMiss, ...]:
    """Return the requests of a step that differ from recorded ones in nothing but present times."""
    recorded, observed = comparison.recorded.observation, comparison.observed
    due, sent = (Counter(() if each is None else each.requests) for each in (recorded, observed))
    missing, extra = due - sent, sent - due
    found = []
    for each in comparison.changed_requests:
        if (
            each.is_same_resource
            and missing[each.nearest] > 0
            and extra[each.key] > 0
            and _differs_in_times(each, times)
        ):
            missing[each.nearest] -= 1
            extra[each.key] -= 1
            found.append(each)
    return tuple(found)


def _differs_in_times(changed: NetworkMiss, times: PresentTimes) -> bool:
    pairs = [(each.recorded or "", each.sent or "") for each in changed.differences]
    is_cut = changed.more_differences or any(ELLIPSIS in (text[:1], text[-1:]) for pair in pairs for text in pair)
    is_whole = not is_cut and changed.key.count("&") < MAX_QUERY_PAIRS
    return is_whole and all(times.are_same(*pair) for pair in pairs)


def _is_changed_value(comparison: Comparison, recorded: str, observed: str) -> bool:
    """Return whether a live response has a text in the place of a recorded one."""
    values = (value for change in comparison.response_changes for value in change.what)
    sides = {(value.recorded.strip(), value.live.strip()) for value in values}
    return bool(recorded) and (recorded, observed) in sides


def _reads_after(plan: Plan) -> dict[str, tuple[ActionTrace, ...]]:
    """Return the steps between each step and the next one that acts, by its id."""
    steps = [each.step for subgoal in plan.subgoals for each in subgoal.steps if isinstance(each.step, ActionTrace)]
    found: dict[str, tuple[ActionTrace, ...]] = {}
    reads: tuple[ActionTrace, ...] = ()
    for step, following in zip(reversed(steps), (None, *reversed(steps)), strict=False):
        found[step.id] = reads
        is_read = isinstance(step.action, READING_ACTIONS) or _polls(step, following)
        reads = (step, *reads) if is_read and step.baseline is not None else ()
    return found


def _polls(step: ActionTrace, following: ActionTrace | None) -> bool:
    """Return whether a step runs a script that the agent ran repeatedly, so that it changes nothing."""
    is_repeated = following is not None and isinstance(following.action, Evaluate) and following.action.is_poll
    return isinstance(step.action, Evaluate) and (step.action.is_poll or is_repeated)


def _is_repetition(action: Read | Evaluate, later: Read | Evaluate) -> bool:
    """Return whether two actions read the same, whatever they got and how long they waited."""
    own = {"value", "times", "timeout_ms", "is_poll"}
    return action.model_dump(exclude=own) == later.model_dump(exclude=own)


def _counting_texts(plan: Plan) -> frozenset[str]:
    """Return the texts, with 0 for their number, that showed elapsed times and counted those of the page."""
    shown: dict[str, list[tuple[timedelta, timedelta, timedelta]]] = {}
    steps = (each.step for subgoal in plan.subgoals for each in subgoal.steps if isinstance(each.step, ActionTrace))
    for step in steps:
        seen = step.baseline
        if seen is None:
            continue
        for snapshot in (load_page(plan.bundle.dom, page) for page in seen.pages):
            nodes = (node for frame in snapshot.frames for node in frame.root.walk()) if snapshot is not None else ()
            for text in {node.text.strip(HTML_WHITESPACE) for node in nodes if node.text is not None}:
                if (found := find_elapsed(text)) is not None:
                    shown.setdefault(found[0], []).append((page_time(seen), *found[1:]))
    return frozenset(text for text, times in shown.items() if _counts(times))


def _entered_dates(plan: Plan) -> frozenset[date]:
    """Return the dates that the mission types or selects."""
    steps = (each.step for subgoal in plan.subgoals for each in subgoal.steps if isinstance(each.step, ActionTrace))
    entered = (each.action.model_dump_json() for each in steps if isinstance(each.action, ENTERING_ACTIONS))
    return frozenset[date]().union(*map(find_dates, entered))


def _counts(times: list[tuple[timedelta, timedelta, timedelta]]) -> bool:
    """Return whether times of the page and what was shown then, with its unit, passed alike, and did pass."""
    (begin, first, unit), *later = times
    passed = [(time - begin, shown - first) for time, shown, _ in later]
    return any(shown for _, shown in passed) and all(
        abs(shown - time) <= unit + ELAPSED_TOLERANCE for time, shown in passed
    )


def _count_other_saves(recording: NetworkRecording, baselines: Counter[str]) -> Counter[str]:
    """Count, by places, the saves in baselines that stand for bodies that are not known.

    A sealed replay reports such a save as the recorded one that answered it, so that this one was sent more often than
    it was recorded; and another recorded save of that place was never sent.
    """
    places = group_saves(recording.exchanges, lambda each: _save_place(each.key))
    counts: Counter[str] = Counter()
    for place, saves in places.items():
        stored = Counter(each.key for each in saves)
        sent = Counter({key: baselines[key] for key in stored})
        counts[place] = min((sent - stored).total(), (stored - sent).total())
    return counts


def _save_place(key: str) -> str:
    """Return the method and URL of a request without times, such as those of cache-busters."""
    return re.sub("[0-9]{10,}", "#", " ".join(key.split(" ")[:2]))


def _is_safe(key: str) -> bool:
    """Return whether a request changes nothing on the server, as the one that opens a socket."""
    method, _, rest = key.partition(" ")
    return method in SAFE_METHODS or (method == SOCKET_METHOD and " " not in rest)
