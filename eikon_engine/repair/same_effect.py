"""Check that a repaired step has the recorded effect: on its element, on browser storage, and on the results of skills.

The element itself is masked in the page comparison, since its label changed. So the effect of the action on it is
compared here: if the recorded button became "Saved", this one must, too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from eikon_engine.divergence.dom_diff import diff_snapshots
from eikon_engine.divergence.snapshot_elements import locate_elements
from eikon_engine.dom.roles import FIELD_TAGS
from eikon_engine.files.text import shorten_pair
from eikon_engine.trace.bundle import load_page
from eikon_engine.trace.execution import ActionTrace, SkillUsage
from eikon_engine.trace.steps import iter_steps
from eikon_engine.trace.trace_file import read_trace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from eikon_engine.divergence.snapshot_elements import LocatedElement
    from eikon_engine.dom.tree import PageSnapshot
    from eikon_engine.repair.diagnostic_replay import DiagnosticReplay
    from eikon_engine.repair.replacement import ReplacedElement
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import ExecutionTrace
    from eikon_engine.trace.observation import Observation, StoredItem

ElementView: TypeAlias = "dict[str, str]"
"""Visible properties of an element by key: `text`, `attribute …`, `class …`, `state …`."""

ABSENT: Final = "(absent)"
GONE: Final = "gone"
_COOKIE: Final = "cookie "
_VALUE_ROLES: Final = frozenset({"checkbox", "combobox", "listbox", "option", "radio", "searchbox", "slider"}) | {
    "spinbutton",
    "switch",
    "textbox",
}
"""Roles of elements that hold a value, which a later step submits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _StepStates:
    """One action: the recorded and the replayed state after it."""

    step: ActionTrace
    recorded_page: PageSnapshot | None
    replayed_page: PageSnapshot | None
    replayed: Observation | None
    reference: Observation | None
    """Observation of a replay of the unchanged recording; None if there was none or it ended earlier."""
    databases: tuple[frozenset[str], frozenset[str]] | None
    """Names of databases found by the replay of the recording and by that of the repaired mission; None if either is
    missing."""


def effect_difference(
    bundle: Bundle, replayed: DiagnosticReplay, replacement: ReplacedElement, reference: DiagnosticReplay | None
) -> str | None:
    """Return how a replaced element behaves differently or why that is unverifiable; None if it behaves the same.

    `reference` is a replay of the unchanged recording: values that vary between runs are ignored, and databases are
    compared with it, since recordings do not contain them. None if the recording cannot be replayed sealed.
    """
    moments = list(_step_states(bundle, replayed, replacement.page, reference))
    place = next((number for number, each in enumerate(moments) if each.step.id == replacement.step), None)
    if place is None or moments[place].replayed is None:
        return None  # the replay ended before this step, for another reason
    if reference is not None and moments[place].reference is None:
        return "the unchanged recording does not replay up to this step; run `eikon certify` to see why"
    before = moments[place - 1] if place else None
    return (
        _element_difference(replacement, before, moments[place:])
        or _storage_difference(before, moments[place])
        or _database_difference(before, moments[place])
        or _unverifiable_effect(replacement, before, moments[place:])
    )


def _step_states(
    bundle: Bundle, tested: DiagnosticReplay, page: int, again: DiagnosticReplay | None
) -> Iterator[_StepStates]:
    seen, seen_again = _observations(tested), {} if again is None else _observations(again)
    for attempt, step in iter_steps(bundle.trace):
        place = (attempt.id, step.sequence)
        if not isinstance(step, ActionTrace) or step.observation is None:
            continue
        known = next((each for each in step.observation.pages if each.page == page), None)
        databases = (None if again is None else again.databases.get(place), tested.databases.get(place))
        yield _StepStates(
            step=step,
            recorded_page=None if known is None else load_page(bundle.dom, known),
            replayed_page=tested.pages.get(place, {}).get(page),
            replayed=seen.get(place),
            reference=seen_again.get(place),
            databases=None if databases[0] is None or databases[1] is None else (databases[0], databases[1]),
        )


def _observations(tested: DiagnosticReplay) -> dict[tuple[str, int], Observation | None]:
    steps = ((each.id, step) for each in tested.outcome.subgoals for step in each.steps)
    return {(attempt, step.sequence): step.observation for attempt, step in steps if step.kind == "action"}


def _element_difference(replaced: ReplacedElement, before: _StepStates | None, later: list[_StepStates]) -> str | None:
    """Compare how the element changes, until the page is left."""
    if before is None or before.recorded_page is None or replaced.recorded_path is None:
        return None
    was, now = (
        _element_view(before.recorded_page, replaced.frame, replaced.recorded_path),
        _element_view(before.replayed_page, replaced.frame, replaced.replacement_path),
    )
    if was is None or now is None:
        return None
    for each in later:
        if (
            each.recorded_page is None
            or each.replayed_page is None
            or _page_url(each.recorded_page) != _page_url(before.recorded_page)
        ):
            return None
        recorded = _changed_properties(was, _element_view(each.recorded_page, replaced.frame, replaced.recorded_path))
        found = _changed_properties(now, _element_view(each.replayed_page, replaced.frame, replaced.replacement_path))
        if recorded != found:
            return f"the action changes it differently: expected {_changes_text(recorded)}, got {_changes_text(found)}"
    return None


def _page_url(page: PageSnapshot) -> str:
    return page.frames[0].url if page.frames else ""


def _element_view(page: PageSnapshot | None, frame: str, path: str) -> ElementView | None:
    frames = () if page is None else page.frames
    found = [each for one in frames if one.path == frame for each in locate_elements(one) if each.path == path]
    return _describe(found[0]) if len(found) == 1 else None


def _describe(element: LocatedElement) -> ElementView:
    node = element.node
    text = " ".join(" ".join(each.text for each in node.walk() if each.text is not None).split())
    attributes = {f"attribute {name}": value for name, value in node.attributes if name != "class"}
    classes = {f"class {name}": "set" for name in (node.attribute("class") or "").split()}
    states = {f"state {name}": str(value) for name, value in node.state if name != "focus"}
    return {"text": text, **attributes, **classes, **states}


def _changed_properties(before: ElementView, after: ElementView | None) -> ElementView:
    """Return the properties that changed, with their new values."""
    if after is None:
        return {"element": GONE}
    names = before.keys() | after.keys()
    return {name: after.get(name, ABSENT) for name in sorted(names) if before.get(name) != after.get(name)}


def _changes_text(change: ElementView) -> str:
    return ", ".join(f"{name} {value!r}" for name, value in change.items()) or "no change"


def _storage_difference(before: _StepStates | None, here: _StepStates) -> str | None:
    """Compare the storage written by the action; values only if they cannot depend on responses of the site."""
    then, seen = here.step.observation, here.replayed
    assert then is not None  # noqa: S101 - set for every moment
    assert seen is not None  # noqa: S101 - checked by the caller
    recorded = _new_storage(None if before is None else before.step.observation, then)
    found = _new_storage(None if before is None else before.replayed, seen)
    again = (
        recorded
        if here.reference is None
        else _new_storage(None if before is None else before.reference, here.reference)
    )
    names = {name for name in recorded.keys() | found.keys() if recorded.get(name) == again.get(name)}
    if then.requests or then.documents:  # presence of cookies is compared with the page
        other = {name for name in names if (name in recorded) != (name in found) and not name.startswith(_COOKIE)}
    else:
        other = {name for name in names if recorded.get(name) != found.get(name)}
    other -= _expiring_cookies(then, seen) - (recorded.keys() & found.keys())
    return f"it stores different data in the browser: {', '.join(sorted(other))}" if other else None


def _new_storage(before: Observation | None, after: Observation) -> Mapping[str, str]:
    """Return digests of new or changed storage items, by name."""
    known = set(() if before is None else before.storage or ())
    return {_item_name(each): each.digest for each in after.storage or () if each not in known}


def _expiring_cookies(*seen: Observation) -> set[str]:
    """Return cookies that may expire in real time."""
    return {_item_name(each) for one in seen for each in one.storage or () if each.is_brief}


def _item_name(item: StoredItem) -> str:
    return f"{_COOKIE}{item.name!r}" if item.kind == "cookie" else f"{item.kind} item {item.name!r}"


def _database_difference(before: _StepStates | None, here: _StepStates) -> str | None:
    """Compare the names of databases, stores and caches that the action created or deleted."""
    if here.databases is None:
        return None
    none: frozenset[str] = frozenset()
    then, now = (none, none) if before is None or before.databases is None else before.databases
    other = (here.databases[0] ^ then) ^ (here.databases[1] ^ now)
    return f"it stores different data in the browser: {', '.join(sorted(other))}" if other else None


def _unverifiable_effect(replaced: ReplacedElement, before: _StepStates | None, later: list[_StepStates]) -> str | None:
    """Return a message if the element differs in label or place and its effect is not observable."""
    differs = replaced.differs_in
    is_form_field = replaced.identity.role in _VALUE_ROLES or replaced.identity.tag in FIELD_TAGS
    shown = later if is_form_field else later[:1]
    if (
        not differs
        or any(_has_outside_effect(each) for each in shown)
        or (before is not None and _changes_page_or_storage(replaced, before, later[0]))
    ):
        return None
    return (
        f"its effect cannot be verified: its {' and '.join(differs)} differ, and the recorded action had no observable "
        "effect outside the element. If it is the same element, set its selector with `eikon trace set`"
    )


def _has_outside_effect(moment: _StepStates) -> bool:
    """Return whether an action had an effect beyond its page."""
    seen = moment.step.observation
    assert seen is not None  # noqa: S101 - set for every moment
    return any((seen.documents, seen.requests, seen.opened, seen.closed, seen.dialogs, seen.downloads))


def _changes_page_or_storage(replaced: ReplacedElement, before: _StepStates, here: _StepStates) -> bool:
    """Return whether the recorded action changed the page outside its element, or browser storage."""
    then = here.step.observation
    assert then is not None  # noqa: S101 - set for every moment
    if _new_storage(before.step.observation, then):
        return True
    if (
        before.recorded_page is None
        or here.recorded_page is None
        or _page_url(before.recorded_page) != _page_url(here.recorded_page)
    ):
        return before.recorded_page is not None and here.recorded_page is not None
    changes = diff_snapshots(before.recorded_page, here.recorded_page)
    inside = replaced.recorded_path or ""
    return any(
        (each.kind, each.name) != ("state", "focus") and f"{each.path} > ".find(f"{inside} > ") != 0 for each in changes
    )


_SHOWN: Final = 120


def changed_skill_results(old: Bundle, repaired: Path) -> tuple[str, ...]:
    """Return one sentence for each skill use with another result in the re-recorded mission."""
    pairs = zip(_skill_uses(old.trace), _skill_uses(read_trace(repaired)), strict=True)
    return tuple(
        f"skill {before.skill} ({before.id}): expected {texts[0]}, got {texts[1]}"
        for before, after in pairs
        for texts in (shorten_pair(_result_text(before), _result_text(after), _SHOWN),)
        if before.output_recorded and (before.output, before.result.kind) != (after.output, after.result.kind)
    )


def _skill_uses(trace: ExecutionTrace) -> list[SkillUsage]:
    return [step for _, step in iter_steps(trace) if isinstance(step, SkillUsage)]


def _result_text(usage: SkillUsage) -> str:
    return (
        json.dumps(usage.output, ensure_ascii=False) if usage.result.kind == "ok" else f"an error ({usage.result.kind})"
    )
