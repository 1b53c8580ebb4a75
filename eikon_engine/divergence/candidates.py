"""Find elements similar to a missing or changed target. They are shown in reports and never acted upon.

The score of an element is the weighted mean of the similarity of its properties to the recorded ones; properties that
neither element has do not count. A candidate is plausible if its score is at least one half, and a naming property (a
text, a name, an id, a URL) is similar to the recorded one.
"""

from __future__ import annotations

import heapq
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

from eikon_engine.divergence.snapshot_elements import locate_elements
from eikon_engine.outcome.divergence import Candidate, PropertyMatch
from eikon_engine.trace.target import compared_positions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.divergence.snapshot_elements import LocatedElement
    from eikon_engine.dom.tree import PageSnapshot
    from eikon_engine.trace.target import Identity

MAX_CANDIDATES: Final = 3
MIN_SCORE: Final = 0.5
MIN_NAME_SIMILARITY: Final = 0.6
"""Minimum similarity of a naming property."""
MAX_COMPARED_ELEMENTS: Final = 60
"""Number of elements with the best preliminary score whose texts are compared in detail."""

_WEIGHTS: Final = {"tag": 1.0, "role": 1.5, "name": 3.0, "text": 2.0, "ancestors": 1.5, "ordinal": 0.5}
_ATTRIBUTE_WEIGHTS: Final = {
    "id": 2.5, "data-testid": 2.5, "data-test": 2.5, "data-id": 2.5, "name": 1.5, "href": 1.5, "for": 1.5,
    "placeholder": 1.5, "formaction": 1.5, "action": 1.5, "alt": 1.5, "title": 1.5, "src": 1.5,
}  # fmt: skip
_DEFAULT_ATTRIBUTE_WEIGHT: Final = 0.5
_NAMING_PROPERTIES: Final = frozenset({"name", "text", *(f"attribute {name}" for name in _ATTRIBUTE_WEIGHTS)})
_MAX_LABEL_LENGTH: Final = 60


def find_candidates(recorded: Identity, page: PageSnapshot) -> tuple[Candidate, ...]:
    """Return the most similar plausible elements of a page, best first."""
    preliminary_scores = (
        (_preliminary_score(recorded, each), each) for frame in page.frames for each in locate_elements(frame)
    )
    likely = heapq.nlargest(MAX_COMPARED_ELEMENTS, preliminary_scores, key=lambda each: each[0])
    judged = ((each, tuple(_compare_properties(recorded, each.identity))) for _, each in likely)
    scored = [(_score(agreements), each, agreements) for each, agreements in judged if _is_plausible(agreements)]
    best = heapq.nlargest(MAX_CANDIDATES, scored, key=lambda each: each[0])
    return tuple(
        Candidate(
            frame=each.frame,
            path=each.path,
            description=_describe(each.identity),
            score=round(score, 3),
            agreements=agreements,
        )
        for score, each, agreements in best
    )


def _is_plausible(agreements: tuple[PropertyMatch, ...]) -> bool:
    named = [each.likeness for each in agreements if each.name in _NAMING_PROPERTIES and each.recorded]
    return _score(agreements) >= MIN_SCORE and (not named or max(named) >= MIN_NAME_SIMILARITY)


def _score(agreements: tuple[PropertyMatch, ...]) -> float:
    weights = [_weight(each.name) for each in agreements]
    return sum(weight * each.likeness for weight, each in zip(weights, agreements, strict=True)) / sum(weights)


def _compare_properties(recorded: Identity, observed: Identity) -> Iterator[PropertyMatch]:
    for name in ("tag", "role"):
        before, after = getattr(recorded, name), getattr(observed, name)
        if before or after:
            yield PropertyMatch(name=name, recorded=before, observed=after, likeness=float(before == after))
    for name in ("name", "text"):
        before, after = getattr(recorded, name), getattr(observed, name)
        if before or after:
            yield PropertyMatch(name=name, recorded=before, observed=after, likeness=_text_similarity(before, after))
    before_all, after_all = dict(recorded.attributes), dict(observed.attributes)
    for name in sorted(before_all.keys() | after_all.keys()):
        before, after = before_all.get(name, ""), after_all.get(name, "")
        yield PropertyMatch(
            name=f"attribute {name}", recorded=before, observed=after, likeness=_text_similarity(before, after)
        )
    ways = _ancestor_path(recorded), _ancestor_path(observed)
    likeness = SequenceMatcher(None, *ways, autojunk=False).ratio()
    yield PropertyMatch(name="ancestors", recorded=" > ".join(ways[0]), observed=" > ".join(ways[1]), likeness=likeness)
    before, after = compared_positions(recorded, observed)
    yield PropertyMatch(name="ordinal", recorded=str(before), observed=str(after), likeness=float(before == after))


def _preliminary_score(recorded: Identity, observed: LocatedElement) -> float:
    """Return a preliminary score that is cheap to compute."""
    expected, seen = dict(recorded.attributes), dict(observed.attributes)
    words = 2 * _shared_words(recorded.text, observed.text)
    if recorded.name:
        words += 3 * _shared_words(recorded.name, observed.name)
    same = (recorded.tag == observed.node.tag) + 1.5 * (recorded.role == observed.role)
    common = expected.keys() & seen.keys()
    equal = (name for name in common if expected[name] == seen[name])
    attributes = sum(_ATTRIBUTE_WEIGHTS.get(name, _DEFAULT_ATTRIBUTE_WEIGHT) for name in equal)
    return words + same + attributes + 0.5 * len(common) + _has_similar_parent(recorded, observed)


def _has_similar_parent(recorded: Identity, observed: LocatedElement) -> bool:
    """Return whether the parents of the observed and the recorded element have the same tag and id."""
    if not recorded.ancestors or observed.parent is None:
        return not recorded.ancestors and observed.parent is None
    nearest, node = recorded.ancestors[0], observed.parent.node
    return nearest.tag == node.tag and nearest.id == (node.attribute("id") or "")


def _shared_words(one: str, other: str) -> float:
    if one == other:
        return float(bool(one))
    words, others = set(one.lower().split()), set(other.lower().split())
    return len(words & others) / len(words | others) if words & others else 0.0


def _text_similarity(one: str, other: str) -> float:
    """Return the similarity of two texts, ignoring case."""
    if one == other:
        return 1.0
    if not one or not other:
        return 0.0
    return SequenceMatcher(None, one.lower(), other.lower(), autojunk=False).ratio()


def _ancestor_path(identity: Identity) -> list[str]:
    return [each.tag + (f"#{each.id}" if each.id else "") for each in reversed(identity.ancestors)]


def _weight(name: str) -> float:
    attribute = name.removeprefix("attribute ")
    return _WEIGHTS[name] if attribute == name else _ATTRIBUTE_WEIGHTS.get(attribute, _DEFAULT_ATTRIBUTE_WEIGHT)


def _describe(identity: Identity) -> str:
    own = dict(identity.attributes).get("id", "")
    label = identity.name or identity.text
    shown = label if len(label) <= _MAX_LABEL_LENGTH else f"{label[: _MAX_LABEL_LENGTH - 3]}..."
    return f"<{identity.tag}{f'#{own}' if own else ''}>{f' {shown!r}' if shown else ''}"
