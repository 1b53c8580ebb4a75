"""Check that a replaced element has the same effect as the recorded one: on itself, on browser storage, and at all.

The element itself is masked in the page comparison, since its label changed. So the effect of the action on it is
compared here: if the recorded button became "Saved", this one must, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from eikon_engine.divergence.dom_diff import diff_snapshots
from eikon_engine.divergence.identities import locate_all
from eikon_engine.divergence.roles import FIELDS
from eikon_engine.trace.dom.stored import load_page
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.located import positions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eikon_engine.divergence.identities import Located
    from eikon_engine.fix.missions.mended_element import Mended
    from eikon_engine.fix.missions.watched_replay import Tested
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.dom.tree import PageSnapshot
    from eikon_engine.trace.observation import Observation, StoredItem

Look: TypeAlias = "dict[str, str]"
"""Visible properties of an element by key: `text`, `attribute …`, `class …`, `state …`."""

ABSENT: Final = "(absent)"
GONE: Final = "gone"
_COOKIE: Final = "cookie "
_GIVES_LATER: Final = frozenset({"checkbox", "combobox", "listbox", "option", "radio", "searchbox", "slider"}) | {
    "spinbutton",
    "switch",
    "textbox",
}
"""Roles of elements that hold a value, which a later step submits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moment:
    """One action: the recorded and the replayed state after it."""

    step: ActionTrace
    then: PageSnapshot | None
    now: PageSnapshot | None
    seen: Observation | None
    again: Observation | None
    """Observation of a replay of the unchanged recording; None if there was none or it ended earlier."""
    databases: tuple[frozenset[str], frozenset[str]] | None
    """Names of databases found by the replay of the recording and by that of the repaired mission; None if either is
    missing."""


def other_doing(bundle: Bundle, tested: Tested, mended: Mended, again: Tested | None) -> str | None:
    """Return how a replaced element behaves differently or why that is unverifiable; None if it behaves the same.

    `again` is a replay of the unchanged recording: values that vary between runs are ignored, and databases are
    compared with it, since recordings do not contain them. None if the recording cannot be replayed sealed.
    """
    moments = list(_moments(bundle, tested, mended.page, again))
    place = next((number for number, each in enumerate(moments) if each.step.id == mended.step), None)
    if place is None or moments[place].seen is None:
        return None  # the replay ended before this step, for another reason
    if again is not None and moments[place].again is None:
        return "the unchanged recording does not replay up to this step; run `eikon certify` to see why"
    before = moments[place - 1] if place else None
    return (
        _inside(mended, before, moments[place:])
        or _kept(before, moments[place])
        or _databases(before, moments[place])
        or _unwitnessed(mended, before, moments[place:])
    )


def _moments(bundle: Bundle, tested: Tested, page: int, again: Tested | None) -> Iterator[_Moment]:
    seen, seen_again = _seen(tested), {} if again is None else _seen(again)
    for attempt, step in positions(bundle.trace):
        place = (attempt.id, step.sequence)
        if not isinstance(step, ActionTrace) or step.observation is None:
            continue
        known = next((each for each in step.observation.pages if each.page == page), None)
        databases = (None if again is None else again.databases.get(place), tested.databases.get(place))
        yield _Moment(
            step=step,
            then=None if known is None else load_page(bundle.dom, known),
            now=tested.pages.get(place, {}).get(page),
            seen=seen.get(place),
            again=seen_again.get(place),
            databases=None if databases[0] is None or databases[1] is None else (databases[0], databases[1]),
        )


def _seen(tested: Tested) -> dict[tuple[str, int], Observation | None]:
    steps = ((each.id, step) for each in tested.outcome.subgoals for step in each.steps)
    return {(attempt, step.sequence): step.observation for attempt, step in steps if step.kind == "action"}


def _inside(mended: Mended, before: _Moment | None, later: list[_Moment]) -> str | None:
    """Compare how the element changes, until the page is left."""
    if before is None or before.then is None or mended.was is None:
        return None
    was, now = _look(before.then, mended.frame, mended.was), _look(before.now, mended.frame, mended.now)
    if was is None or now is None:
        return None
    for each in later:
        if each.then is None or each.now is None or _url(each.then) != _url(before.then):
            return None
        wanted = _change(was, _look(each.then, mended.frame, mended.was))
        found = _change(now, _look(each.now, mended.frame, mended.now))
        if wanted != found:
            return f"after the action it is expected to become {_shown(wanted)}, got {_shown(found)}"
    return None


def _url(page: PageSnapshot) -> str:
    return page.frames[0].url if page.frames else ""


def _look(page: PageSnapshot | None, frame: str, path: str) -> Look | None:
    frames = () if page is None else page.frames
    found = [each for one in frames if one.path == frame for each in locate_all(one) if each.path == path]
    return _described(found[0]) if len(found) == 1 else None


def _described(element: Located) -> Look:
    node = element.node
    text = " ".join(" ".join(each.text for each in node.walk() if each.text is not None).split())
    attributes = {f"attribute {name}": value for name, value in node.attributes if name != "class"}
    classes = {f"class {name}": "set" for name in (node.attribute("class") or "").split()}
    states = {f"state {name}": str(value) for name, value in node.state if name != "focus"}
    return {"text": text, **attributes, **classes, **states}


def _change(before: Look, after: Look | None) -> Look:
    """Return the properties that changed, with their new values."""
    if after is None:
        return {"element": GONE}
    names = before.keys() | after.keys()
    return {name: after.get(name, ABSENT) for name in sorted(names) if before.get(name) != after.get(name)}


def _shown(change: Look) -> str:
    return ", ".join(f"{name} {value!r}" for name, value in change.items()) or "unchanged"


def _kept(before: _Moment | None, here: _Moment) -> str | None:
    """Compare the storage written by the action; values only if they cannot depend on responses of the site."""
    then, seen = here.step.observation, here.seen
    assert then is not None  # noqa: S101 - set for every moment
    assert seen is not None  # noqa: S101 - checked by the caller
    wanted = _stored(None if before is None else before.step.observation, then)
    found = _stored(None if before is None else before.seen, seen)
    again = wanted if here.again is None else _stored(None if before is None else before.again, here.again)
    names = {name for name in wanted.keys() | found.keys() if wanted.get(name) == again.get(name)}
    if then.requests or then.documents:  # presence of cookies is compared with the page
        other = {name for name in names if (name in wanted) != (name in found) and not name.startswith(_COOKIE)}
    else:
        other = {name for name in names if wanted.get(name) != found.get(name)}
    other -= _brief(then, seen) - (wanted.keys() & found.keys())
    return f"it stores different data in the browser: {', '.join(sorted(other))}" if other else None


def _stored(before: Observation | None, after: Observation) -> Mapping[str, str]:
    """Return digests of new or changed storage items, by name."""
    known = set(() if before is None else before.storage or ())
    return {_words(each): each.digest for each in after.storage or () if each not in known}


def _brief(*seen: Observation) -> set[str]:
    """Return cookies that may expire in real time."""
    return {_words(each) for one in seen for each in one.storage or () if each.is_brief}


def _words(item: StoredItem) -> str:
    return f"{_COOKIE}{item.name!r}" if item.kind == "cookie" else f"{item.kind} item {item.name!r}"


def _databases(before: _Moment | None, here: _Moment) -> str | None:
    """Compare the names of databases, stores and caches that the action created or deleted."""
    if here.databases is None:
        return None
    none: frozenset[str] = frozenset()
    then, now = (none, none) if before is None or before.databases is None else before.databases
    other = (here.databases[0] ^ then) ^ (here.databases[1] ^ now)
    return f"it stores different data in the browser: {', '.join(sorted(other))}" if other else None


def _unwitnessed(mended: Mended, before: _Moment | None, later: list[_Moment]) -> str | None:
    """Return a message if the element differs in label or place and its effect is not observable."""
    differs = mended.differs_in
    gives_later = mended.identity.role in _GIVES_LATER or mended.identity.tag in FIELDS
    shown = later if gives_later else later[:1]
    if not differs or any(_asks(each) for each in shown) or (before is not None and _shows(mended, before, later[0])):
        return None
    return (
        f"its effect cannot be verified: its {' and '.join(differs)} differ, and the recorded action had no observable "
        "effect outside the element. If it is the same element, set its selector with `eikon trace set`"
    )


def _asks(moment: _Moment) -> bool:
    """Return whether an action had an effect beyond its page."""
    seen = moment.step.observation
    assert seen is not None  # noqa: S101 - set for every moment
    return any((seen.documents, seen.requests, seen.opened, seen.closed, seen.dialogs, seen.downloads))


def _shows(mended: Mended, before: _Moment, here: _Moment) -> bool:
    """Return whether the recorded action changed the page outside its element, or browser storage."""
    then = here.step.observation
    assert then is not None  # noqa: S101 - set for every moment
    if _stored(before.step.observation, then):
        return True
    if before.then is None or here.then is None or _url(before.then) != _url(here.then):
        return before.then is not None and here.then is not None
    changes = diff_snapshots(before.then, here.then)
    inside = mended.was or ""
    return any(
        (each.kind, each.name) != ("state", "focus") and f"{each.path} > ".find(f"{inside} > ") != 0 for each in changes
    )
