"""Whether a mended element does what the recorded one did: within itself, in what the browser keeps, and at all.

What differs in the element is not compared with the page, since its label is what was mended. So what the action makes
of it is compared here: a button that became "Saved" has to become "Saved".
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
"""What is to be seen of an element, by what it is: `text`, `attribute …`, `class …`, `state …`."""

ABSENT: Final = "(absent)"
GONE: Final = "gone"
_COOKIE: Final = "cookie "
_GIVES_LATER: Final = frozenset({"checkbox", "combobox", "listbox", "option", "radio", "searchbox", "slider"}) | {
    "spinbutton",
    "switch",
    "textbox",
}
"""Roles of elements that hold a value, which a later step hands in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moment:
    """One action: what was recorded after it, and what the replay saw."""

    step: ActionTrace
    then: PageSnapshot | None
    now: PageSnapshot | None
    seen: Observation | None
    again: Observation | None
    """What a replay of the recording as it was saw; None where there was none, or it did not get so far."""
    databases: tuple[frozenset[str], frozenset[str]] | None
    """Names of databases that the replay of the recording, and that of today, found; None where one did not look."""


def other_doing(bundle: Bundle, tested: Tested, mended: Mended, again: Tested | None) -> str | None:
    """Say in what a mended element does something else, or that nothing shows it; None if it does the same.

    `again` is a replay of the recording as it was: a value that changes from run to run is no difference, and databases
    are compared with it, as no recording holds them. None where the recording cannot be replayed by itself.
    """
    moments = list(_moments(bundle, tested, mended.page, again))
    place = next((number for number, each in enumerate(moments) if each.step.id == mended.step), None)
    if place is None or moments[place].seen is None:
        return None  # the replay ended before it, for a reason of its own
    if again is not None and moments[place].again is None:
        return "the recording as it was does not replay as far as it; `eikon certify` tells why"
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
    """Compare what becomes of the element, up to where its page is left."""
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
            return f"it became {_shown(wanted)} when it was recorded, and becomes {_shown(found)} today"
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
    """Return what an element became, by what is another one."""
    if after is None:
        return {"element": GONE}
    names = before.keys() | after.keys()
    return {name: after.get(name, ABSENT) for name in sorted(names) if before.get(name) != after.get(name)}


def _shown(change: Look) -> str:
    return ", ".join(f"{name} {value!r}" for name, value in change.items()) or "nothing else"


def _kept(before: _Moment | None, here: _Moment) -> str | None:
    """Compare what the action had the browser keep; its values only where no answer of the site can be in them."""
    then, seen = here.step.observation, here.seen
    assert then is not None  # noqa: S101 - moments have one
    assert seen is not None  # noqa: S101 - the caller looked
    wanted = _stored(None if before is None else before.step.observation, then)
    found = _stored(None if before is None else before.seen, seen)
    again = wanted if here.again is None else _stored(None if before is None else before.again, here.again)
    names = {name for name in wanted.keys() | found.keys() if wanted.get(name) == again.get(name)}
    if then.requests or then.documents:  # what cookies there are, is compared with the page
        other = {name for name in names if (name in wanted) != (name in found) and not name.startswith(_COOKIE)}
    else:
        other = {name for name in names if wanted.get(name) != found.get(name)}
    other -= _brief(then, seen) - (wanted.keys() & found.keys())
    return f"it has the browser keep something else: {', '.join(sorted(other))}" if other else None


def _stored(before: Observation | None, after: Observation) -> Mapping[str, str]:
    """Return digests of what is kept that is new or another one, by what it is."""
    known = set(() if before is None else before.storage or ())
    return {_words(each): each.digest for each in after.storage or () if each not in known}


def _brief(*seen: Observation) -> set[str]:
    """Name cookies that may be gone by the real clock."""
    return {_words(each) for one in seen for each in one.storage or () if each.is_brief}


def _words(item: StoredItem) -> str:
    return f"{_COOKIE}{item.name!r}" if item.kind == "cookie" else f"{item.kind} item {item.name!r}"


def _databases(before: _Moment | None, here: _Moment) -> str | None:
    """Compare the names of databases, stores and caches that the action made or took away."""
    if here.databases is None:
        return None
    none: frozenset[str] = frozenset()
    then, now = (none, none) if before is None or before.databases is None else before.databases
    other = (here.databases[0] ^ then) ^ (here.databases[1] ^ now)
    return f"it has the browser keep something else: {', '.join(sorted(other))}" if other else None


def _unwitnessed(mended: Mended, before: _Moment | None, later: list[_Moment]) -> str | None:
    """Say so where the element is another one by its label or its place, and its deed is to be seen nowhere."""
    differs = mended.differs_in
    gives_later = mended.identity.role in _GIVES_LATER or mended.identity.tag in FIELDS
    shown = later if gives_later else later[:1]
    if not differs or any(_asks(each) for each in shown) or (before is not None and _shows(mended, before, later[0])):
        return None
    return (
        f"nothing shows what it does: its {' and '.join(differs)} differ, and the recorded action did nothing that can "
        "be seen beside it; if it is the same element, `eikon trace set` gives the step its selector"
    )


def _asks(moment: _Moment) -> bool:
    """Say whether an action had something happen beyond its page."""
    seen = moment.step.observation
    assert seen is not None  # noqa: S101 - moments have one
    return any((seen.documents, seen.requests, seen.opened, seen.closed, seen.dialogs, seen.downloads))


def _shows(mended: Mended, before: _Moment, here: _Moment) -> bool:
    """Say whether the recorded action changed something of the page but its element, or of what the browser keeps."""
    then = here.step.observation
    assert then is not None  # noqa: S101 - moments have one
    if _stored(before.step.observation, then):
        return True
    if before.then is None or here.then is None or _url(before.then) != _url(here.then):
        return before.then is not None and here.then is not None
    changes = diff_snapshots(before.then, here.then)
    inside = mended.was or ""
    return any(
        (each.kind, each.name) != ("state", "focus") and f"{each.path} > ".find(f"{inside} > ") != 0 for each in changes
    )
