"""Propose masks for exactly the parts that differed among runs."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from eikon_engine.certify.money import is_about_money
from eikon_engine.divergence.detectors.read import READ_CHANGED
from eikon_engine.files.text import shorten_pair
from eikon_engine.network.drawn_values import classify_texts, differ_in_numbers
from eikon_engine.trace.labels import action_label
from eikon_engine.trace.masks import (
    NODE_PATH,
    SHADOW_ROOT,
    AttributePart,
    ConsoleErrorPart,
    Mask,
    OrderPart,
    ReadPart,
    RequestPart,
    SelectorPart,
    StoragePart,
    SubtreePart,
    TextPart,
    TitlePart,
    ValuePart,
)
from eikon_engine.trace.read_values import read_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eikon_engine.certify.compare_runs import ActionComparison, PageChange
    from eikon_engine.divergence.dom_diff import DomChange, Reordering
    from eikon_engine.network.drawn_values import VaryingText
    from eikon_engine.trace.masks import MaskedPart

SHOWN_VALUES: Final = 3
_MAX_SHOWN: Final = 60
"""Maximum number of characters shown of a value."""
SHORTEST_PREFIX: Final = 10
"""Minimum common prefix of console errors to mask together; a shorter one would hide unrelated errors."""
MASKABLE: Final = frozenset({"dom-changed", "title-changed", "console-error-changed"})
"""Divergence codes that a mask can hide."""
MaskKind: TypeAlias = Literal["part", "noise"]
_Place: TypeAlias = "tuple[str, str | None, MaskedPart]"


def propose_masks(action: ActionComparison, known: Sequence[Mask], kind: MaskKind = "part") -> tuple[Mask, ...]:
    """Return new masks for the differences among the runs of an action.

    * `part`: masks for all of them, or none if masks cannot hide them all; with the values in their reasons.
    * `noise`: of live runs. Everything that differs is masked; no value, which may be a secret of the site, is shown.
    """
    if kind == "part" and not {each.code for each in action.unstable} <= MASKABLE:
        return ()
    return _named_masks(
        (
            (place, _reason(values, len(action.outcomes)) if kind == "part" else _count_of_differing(values))
            for place, values, _ in _unstable_parts(action)
        ),
        known,
    )


def propose_typed_masks(
    action: ActionComparison, known: Sequence[Mask], *, tried: Sequence[Mask] = (), has_recording: bool = False
) -> tuple[Mask, ...]:
    """Return new masks for what varies by a known type among live runs, or recordings, of an action.

    Each mask is as narrow as its type: a text keeps its words, a list its elements. Anything else is not masked. A mask
    of the same type that was `tried` on fewer runs, and covers what all runs showed, is proposed once more. With
    `has_recording`, the first of the compared outcomes is the recording: what differs from it, but not among the runs,
    is a change of the site.
    """
    first = 1 if has_recording else 0
    orders = dict(_reordered_parts(action, first))
    typed = {place: _order_evidence(seen) for place, seen in orders.items()}
    for place, values, is_money in _unstable_parts(action):
        url, frame, part = place
        if len(set(values[first:])) == 1 or _is_below(place, orders):
            continue
        is_text = isinstance(part, TextPart | AttributePart | TitlePart)
        found = classify_texts(values, is_money=is_money) if is_text else None
        if found is None or any(_covers(mask, place, values) for mask in known):
            continue
        before = next((each for each in tried if _covers(each, place, values) and _is_alike(each, found)), None)
        if before is not None:
            typed[url, frame, before.part] = before.reason
        else:
            typed[url, frame, part.model_copy(update={"pattern": found.pattern})] = found.evidence
    return _named_masks(typed.items(), known)


def has_number_without_type(action: ActionComparison, known: Sequence[Mask]) -> bool:
    """Return whether a number differs among live runs of an action that further runs may tell the type of.

    The first of the compared outcomes is the recording.
    """
    return any(
        isinstance(place[2], TextPart | AttributePart | TitlePart)
        and not is_money
        and any(differ_in_numbers(values[1], value) for value in values[2:] if value != values[1])
        and not any(_covers(mask, place, values) for mask in known)
        for place, values, is_money in _unstable_parts(action)
    )


def _is_alike(mask: Mask, found: VaryingText) -> bool:
    """Return whether a mask was proposed for the types that were found."""
    one, other = ([part.partition(" ")[0] for part in text.split("; ")] for text in (mask.reason, found.evidence))
    return one == other


def _covers(mask: Mask, place: _Place, values: Sequence[str]) -> bool:
    """Return whether a mask with a pattern covers all values of a place, such as those of an earlier action."""
    url, frame, part = place
    known = mask.part
    if (mask.url, mask.frame) != (url, frame) or not isinstance(known, TextPart | AttributePart | TitlePart):
        return False
    return known.model_copy(update={"pattern": None}) == part and all(map(known.covers, values))


def _named_masks(requested: Iterable[tuple[_Place, str]], known: Sequence[Mask]) -> tuple[Mask, ...]:
    """Return masks with names of their own for the places, given with their reasons, that no known mask covers."""
    covered = {(mask.url, mask.frame, mask.part) for mask in known}
    names = {mask.name for mask in known}
    made = []
    for place, reason in requested:
        if place in covered:
            continue
        covered.add(place)
        url, frame, part = place
        name = _free_name(_mask_name(part), names)
        names.add(name)
        made.append(Mask(name=name, reason=reason, url=url, frame=frame, part=part))
    return tuple(made)


def _reordered_parts(action: ActionComparison, first: int) -> Iterator[tuple[_Place, list[tuple[bytes, ...]]]]:
    """Yield each element whose children came in several orders, with their order in each of the outcomes.

    The outcomes from `first` on must differ, and nothing else may differ in the element in any of them.
    """
    by_place: dict[_Place, dict[int, Reordering]] = {}
    for each in action.reorderings:
        if re.search(NODE_PATH, each.reordering.path) is not None:
            part = OrderPart(path=each.reordering.path)
            place: _Place = (_url_glob(each.url), each.reordering.frame, part)
            by_place.setdefault(place, {})[each.run] = each.reordering
    for place, found in by_place.items():
        usual = next(iter(found.values())).expected
        orders = [found[run].observed if run in found else usual for run in range(len(action.outcomes))]
        others = [each for each in action.dom_changes if each.run not in found]
        if len(set(orders[first:])) > 1 and not any(_is_in(place, each) for each in others):
            yield place, orders


def _is_in(place: _Place, change: PageChange) -> bool:
    """Return whether a DOM difference is in an element."""
    url, frame, part = place
    inside = isinstance(part, OrderPart) and f"{change.change.path} > ".startswith(f"{part.path} > ")
    return inside and (url, frame) == (_url_glob(change.url), change.change.frame)


def _is_below(place: _Place, orders: Iterable[_Place]) -> bool:
    """Return whether a part is in an element whose children come in several orders: only these differ then."""
    path = getattr(place[2], "path", None)
    return path is not None and any(
        place[:2] == order[:2] and isinstance(order[2], OrderPart) and path.startswith(f"{order[2].path} > ")
        for order in orders
    )


def _order_evidence(orders: Sequence[tuple[bytes, ...]]) -> str:
    return f"order: the same {len(orders[0])} elements came in {len(set(orders))} orders in {len(orders)} observations"


def _count_of_differing(values: Sequence[str]) -> str:
    return f"differed in {sum(value != values[0] for value in values)} of {len(values)} runs"


def propose_read_mask(action: ActionComparison, known: Sequence[Mask]) -> Mask | None:
    """Return a mask for what a script returned, if that varies by its nature, such as a time; None if it needs none.

    Any other value is what the agent came for, as is what it read from elements.
    """
    found = next((each for each in (*action.unstable, *action.diverged) if each.code == READ_CHANGED), None)
    if found is None or action.drawn_value is None:
        return None
    recorded = action.recorded.action
    part = ReadPart(action=action_label(recorded), reads=read_digest(recorded), pattern=action.drawn_value)
    if part in {mask.part for mask in known}:
        return None
    reason = f"the script returned {found.expected} in the recording, {found.observed} in a replay"
    return Mask(name=_free_name(_mask_name(part), {mask.name for mask in known}), reason=reason, part=part)


def maskable_part(change: DomChange) -> MaskedPart | None:
    """Return the part that a mask must cover to hide a DOM difference; None if no mask can."""
    if re.search(NODE_PATH, change.path) is None or change.path.endswith(SHADOW_ROOT):
        return None
    match change.kind:
        case "text":
            return TextPart(path=change.path)
        case "attribute":
            return None if change.name == SHADOW_ROOT else AttributePart(path=change.path, name=change.name)
        case "state":
            return ValuePart(path=change.path, name=change.name)
        case "added" | "removed" | "replaced":
            return TextPart(path=change.path) if change.is_text else SubtreePart(path=change.path)
        case _:
            return None


def _unstable_parts(action: ActionComparison) -> Iterator[tuple[_Place, tuple[str, ...], bool]]:
    """Yield each differing part with its value in each run, and whether that is about money."""
    for code, part_values in (("title-changed", _titles), ("console-error-changed", _console_errors)):
        if any(each.code == code for each in action.unstable):
            for place, values in part_values(action):
                yield place, values, any(map(is_about_money, values))
    by_place: dict[_Place, dict[int, PageChange]] = {}
    for each in action.dom_changes:
        part = maskable_part(each.change)
        if part is not None:
            by_place.setdefault((_url_glob(each.url), each.change.frame, part), {})[each.run] = each
    for place, changes in by_place.items():
        shown = {run: each.change.whole for run, each in changes.items()}
        first = next(iter(shown.values()))[0]
        values = tuple(shown[run][1] if run in shown else first for run in range(len(action.outcomes)))
        yield place, values, any(each.is_money for each in changes.values())


def _titles(action: ActionComparison) -> Iterator[tuple[_Place, tuple[str, ...]]]:
    first = action.first.observation
    for page in first.pages if first is not None else ():
        values = tuple(
            next((shown.title for shown in each.observation.pages if shown.page == page.page), "")
            for each in action.outcomes
            if each.observation is not None
        )
        if len(set(values)) > 1:
            yield (_url_glob(page.url), None, TitlePart()), values


def _console_errors(action: ActionComparison) -> Iterator[tuple[_Place, tuple[str, ...]]]:
    runs = [each.observation.console_errors for each in action.outcomes if each.observation is not None]
    shared = Counter(runs[0])
    for errors in runs[1:]:
        shared &= Counter(errors)
    differing = [tuple((Counter(errors) - shared).elements()) for errors in runs]
    prefix = _common_prefix(tuple(error for errors in differing for error in errors))
    if len(prefix) >= SHORTEST_PREFIX:
        yield ("*", None, ConsoleErrorPart(prefix=prefix)), tuple("; ".join(errors) or "none" for errors in differing)


def _common_prefix(texts: tuple[str, ...]) -> str:
    """Return the longest common prefix."""
    first, last = min(texts, default=""), max(texts, default="")
    length = next(
        (place for place, letters in enumerate(zip(first, last, strict=False)) if len(set(letters)) > 1), None
    )
    return first if length is None else first[:length]


def _url_glob(url: str) -> str:
    """Return a glob for the URL without query and fragment, which usually vary with the data."""
    location = re.split(r"[?#]", url, maxsplit=1)[0]
    return location if location == url else f"{location}*"


def _mask_name(part: MaskedPart) -> str:
    """Name a mask after the part that it hides."""
    match part:
        case TitlePart() | ConsoleErrorPart() | SelectorPart() | RequestPart() | StoragePart() | ReadPart():
            return part.kind.replace("_", "-")
        case AttributePart(path=path, name=name) | ValuePart(path=path, name=name):
            return f"{_last_element(path)}-{name}"
        case TextPart(path=path):
            return f"{_last_element(path)}-text"
        case OrderPart(path=path):
            return f"{_last_element(path)}-order"
        case SubtreePart(path=path):
            return _last_element(path)


def _free_name(requested: str, taken: set[str]) -> str:
    numbered = (f"{requested}-{number}" for number in range(2, len(taken) + 3))
    return next(name for name in (requested, *numbered) if name not in taken)


def _last_element(path: str) -> str:
    """Return the id or the tag of the last element of a path."""
    steps = [step for step in path.split(" > ") if not step.startswith(("text()", "#", "*"))]
    return re.sub(r":nth\(.*", "", steps[-1]).rpartition("#")[2] if steps else "node"


def _reason(values: tuple[str, ...], runs: int) -> str:
    """Return how often a value differed, with some of the values, each cut around its difference from the first."""
    first, *others = dict.fromkeys(values)
    differing = sum(value != first for value in values)
    pairs = [shorten_pair(first, other, _MAX_SHOWN) for other in others[: SHOWN_VALUES - 1]]
    shown = ", ".join(map(repr, (*(before for before, _ in pairs[:1]), *(after for _, after in pairs))))
    more = len(others) - len(pairs)
    return f"differed in {differing} of {runs} runs: {shown}{f' and {more} more' if more > 0 else ''}"
