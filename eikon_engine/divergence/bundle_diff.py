"""Compare two bundles: their steps, pages, observations, requests and results."""

from __future__ import annotations

from collections import Counter
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from eikon_engine.divergence.dom_diff import diff_snapshots, render_diff_tree
from eikon_engine.files.json_text import canonical_json
from eikon_engine.files.models import FileModel, FiniteJson
from eikon_engine.trace.bundle import load_page
from eikon_engine.trace.execution import ActionTrace, Failed
from eikon_engine.trace.labels import step_label
from eikon_engine.trace.steps import iter_steps, without_identities

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.observation import Observation, PageObservation
    from eikon_engine.trace.steps import Step

COMPARED_PARTS: Final = (
    "documents",
    "opened",
    "closed",
    "dialogs",
    "downloads",
    "target",
    "console_errors",
    "page_errors",
    "unanswered",
    "storage",
)
"""Compared fields of an observation; of the storage, cookies that expire within a day are ignored."""


class ObservedDifference(FileModel):
    """Something observed in one of two recordings only."""

    what: str
    """Field of the observation, or `output` of a skill."""
    first: tuple[str, ...]
    """What only the first one has, as JSON."""
    second: tuple[str, ...]


def observed_differences(one: Step, two: Step) -> Iterator[ObservedDifference]:
    """Compare the observations of two steps, part by part."""
    if isinstance(one, ActionTrace) and isinstance(two, ActionTrace):
        if one.observation is not None and two.observation is not None:
            for part in COMPARED_PARTS:
                yield from _difference(
                    part, _observed_values(one.observation, part), _observed_values(two.observation, part)
                )
    elif not isinstance(one, ActionTrace) and not isinstance(two, ActionTrace):
        outputs = [canonical_json(each.output) if each.output_recorded else "not known" for each in (one, two)]
        yield from _difference("output", outputs[:1], outputs[1:])


def _difference(what: str, one: list[str], two: list[str]) -> Iterator[ObservedDifference]:
    before, after = Counter(one), Counter(two)
    first, second = tuple(sorted((before - after).elements())), tuple(sorted((after - before).elements()))
    if first or second:
        yield ObservedDifference(what=what, first=first, second=second)


def _observed_values(observation: Observation, part: str) -> list[str]:
    value = observation.model_dump(mode="json", include={part})[part]
    if part == "storage":
        value = [each for each in value or () if not each["is_brief"]]
    values = value if isinstance(value, list) else [] if value is None else [value]
    return [each if isinstance(each, str) else canonical_json(each) for each in values]


StepKind: TypeAlias = Literal["same", "changed", "only_first", "only_second"]
UNKNOWN: Final = "not known"


class StepSide(FileModel):
    """One step of one of two recordings."""

    iteration: int
    id: str
    label: str
    result: str
    """`ok`, `blocked`, an error code, or `not known`."""


class PageDifference(FileModel):
    """A page that two recordings show differently at the same step."""

    page: int
    first: str | None
    """URL in the first one; None if it is not open."""
    second: str | None
    changes: str
    """Rendered DOM differences, see `render_diff_tree`; empty if equal, or if a snapshot is missing."""


class FieldDifference(FileModel):
    """A field that differs between two steps."""

    path: str
    """As in `eikon trace set`, such as `action.target.selector`."""
    first: FiniteJson
    """None if absent."""
    second: FiniteJson


class StepDifference(FileModel):
    """One row of two aligned missions."""

    kind: StepKind
    first: StepSide | None
    second: StepSide | None
    fields: tuple[FieldDifference, ...] = ()
    """Changed fields of a step that both have."""
    pages: tuple[PageDifference, ...] = ()
    """Page differences, if both results are known."""
    seen: tuple[ObservedDifference, ...] = ()
    """Other observed differences, if both results are known: dialogs, downloads, errors, storage …"""

    @property
    def differs(self) -> bool:
        """Return whether anything about the step differs."""
        if self.kind != "same" or self.first is None or self.second is None:
            return True
        return bool(self.pages or self.seen) or self.first.result != self.second.result


class RequestDifference(FileModel):
    """A request made more often in one recording than in the other."""

    key: str
    first: int
    second: int


class BundleSummary(FileModel):
    """Steps and result of one recording."""

    name: str
    steps: int
    known: int
    """Number of steps with a known result."""
    failed: tuple[StepSide, ...]
    urls: tuple[str, ...]
    """URLs of the open pages after the last known step."""
    diverged: tuple[int, ...] = ()
    """Steps that differed from their recording in the session; the comparison uses the recording."""


class BundleDiff(FileModel):
    """Two recordings side by side."""

    first: BundleSummary
    second: BundleSummary
    steps: tuple[StepDifference, ...]
    requests: tuple[RequestDifference, ...]
    ends: tuple[PageDifference, ...]
    """Page differences after the last known step of each."""

    @property
    def is_same(self) -> bool:
        """Return whether no known difference exists."""
        return not self.requests and not self.ends and not any(each.differs for each in self.steps)


def compare_bundles(first: tuple[str, Bundle], second: tuple[str, Bundle]) -> BundleDiff:
    """Compare two bundles, each with a display name.

    Steps are matched by what they do; among the rest, two steps with the same id count as one changed step.

    Raises:
        AttachmentError: a snapshot cannot be read.
    """
    left, right = _ComparedBundle(*first), _ComparedBundle(*second)
    return BundleDiff(
        first=left.summary(),
        second=right.summary(),
        steps=tuple(_step_rows(left, right)),
        requests=tuple(_requests(left, right)),
        ends=tuple(_pages(left, right, left.last_observation(), right.last_observation())),
    )


class _ComparedBundle:
    """A bundle with its steps."""

    def __init__(self, name: str, bundle: Bundle) -> None:
        self.name = name
        self.bundle = bundle
        self.steps: tuple[Step, ...] = tuple(step for _, step in iter_steps(bundle.trace))

    def step_side(self, place: int) -> StepSide:
        step = self.steps[place]
        return StepSide(iteration=place + 1, id=step.id, label=step_label(step), result=_result(step))

    def observations(self) -> list[Observation]:
        seen = (step.observation for step in self.steps if isinstance(step, ActionTrace))
        return [each for each in seen if each is not None]

    def last_observation(self) -> Observation | None:
        return next(reversed(self.observations()), None)

    def summary(self) -> BundleSummary:
        sides = [self.step_side(place) for place in range(len(self.steps))]
        last = self.last_observation()
        return BundleSummary(
            name=self.name,
            steps=len(sides),
            known=sum(side.result != UNKNOWN for side in sides),
            failed=tuple(side for side in sides if side.result not in {"ok", "blocked", UNKNOWN}),
            urls=() if last is None else tuple(page.url for page in last.pages),
        )


def _step_rows(left: _ComparedBundle, right: _ComparedBundle) -> Iterator[StepDifference]:
    matcher = SequenceMatcher(
        a=[_step_key(step) for step in left.steps], b=[_step_key(step) for step in right.steps], autojunk=False
    )
    for tag, begin, end, begin_second, end_second in matcher.get_opcodes():
        if tag == "equal":
            for place, other in zip(range(begin, end), range(begin_second, end_second), strict=True):
                yield _pair("same", left, right, (place, other))
        else:
            yield from _unmatched_rows(left, right, range(begin, end), range(begin_second, end_second))


def _unmatched_rows(
    left: _ComparedBundle, right: _ComparedBundle, places: range, others: range
) -> Iterator[StepDifference]:
    """Align steps that do different things: those with the same id are one changed step."""
    at = {right.steps[other].id: other for other in others}
    pairs = [(place, at[left.steps[place].id]) for place in places if left.steps[place].id in at]
    done, other_done = places.start, others.start
    for place, other in (*pairs, (places.stop, others.stop)):
        if other < other_done:
            continue  # it was moved
        yield from (
            StepDifference(kind="only_first", first=left.step_side(each), second=None) for each in range(done, place)
        )
        yield from (
            StepDifference(kind="only_second", first=None, second=right.step_side(each))
            for each in range(other_done, other)
        )
        if place < places.stop and other < others.stop:
            yield _pair("changed", left, right, (place, other))
        done, other_done = place + 1, other + 1


def _pair(kind: StepKind, left: _ComparedBundle, right: _ComparedBundle, places: tuple[int, int]) -> StepDifference:
    one, two = left.steps[places[0]], right.steps[places[1]]
    pages: tuple[PageDifference, ...] = ()
    if isinstance(one, ActionTrace) and isinstance(two, ActionTrace) and one.observation and two.observation:
        pages = tuple(_pages(left, right, one.observation, two.observation))
    fields = tuple(_fields("", _step_content(one), _step_content(two))) if kind == "changed" else ()
    first, second = left.step_side(places[0]), right.step_side(places[1])
    seen = tuple(observed_differences(one, two))
    return StepDifference(kind=kind, first=first, second=second, fields=fields, pages=pages, seen=seen)


def _fields(path: str, one: JsonValue, two: JsonValue) -> Iterator[FieldDifference]:
    """Yield the innermost fields that differ."""
    if isinstance(one, dict) and isinstance(two, dict):
        for name in dict.fromkeys((*one, *two)):
            yield from _fields(f"{path}.{name}" if path else name, one.get(name), two.get(name))
    elif one != two:
        yield FieldDifference(path=path, first=one, second=two)


def _pages(
    left: _ComparedBundle, right: _ComparedBundle, one: Observation | None, two: Observation | None
) -> Iterator[PageDifference]:
    before = {} if one is None else {page.page: page for page in one.pages}
    after = {} if two is None else {page.page: page for page in two.pages}
    for number in sorted(before.keys() | after.keys()):
        first, second = before.get(number), after.get(number)
        if first is None or second is None or _page_state(first) != _page_state(second):
            yield PageDifference(
                page=number,
                first=None if first is None else first.url,
                second=None if second is None else second.url,
                changes=_dom_changes(left.bundle, right.bundle, first, second),
            )


def _page_state(page: PageObservation) -> tuple[object, ...]:
    return page.url, page.title, [(frame.path, frame.digest) for frame in page.frames]


def _dom_changes(left: Bundle, right: Bundle, first: PageObservation | None, second: PageObservation | None) -> str:
    before = None if first is None else load_page(left.dom, first)
    after = None if second is None else load_page(right.dom, second)
    return "" if before is None or after is None else render_diff_tree(diff_snapshots(before, after))


def _requests(left: _ComparedBundle, right: _ComparedBundle) -> Iterator[RequestDifference]:
    before = Counter(key for seen in left.observations() for key in seen.requests)
    after = Counter(key for seen in right.observations() for key in seen.requests)
    for key in sorted(before.keys() | after.keys()):
        if before[key] != after[key]:
            yield RequestDifference(key=key, first=before[key], second=after[key])


def _step_key(step: Step) -> str:
    """Return what a step does as canonical JSON: equal texts mean equal steps."""
    return canonical_json(_step_content(step))


def _step_content(step: Step) -> JsonValue:
    if not isinstance(step, ActionTrace):
        return {"skill": step.skill, "parameters": dict(step.parameters)}
    return {"action": without_identities(step.action).model_dump(mode="json")}


def _result(step: Step) -> str:
    if isinstance(step, ActionTrace) and step.timing is not None and step.observation is None:
        return UNKNOWN
    return step.result.code if isinstance(step.result, Failed) else step.result.kind
