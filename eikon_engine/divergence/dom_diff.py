"""Find the smallest differences between two snapshots.

Equal subtrees are skipped by digest. Children are matched by digest, then by identifying attribute (id, name, key),
then by order. The diff explains a difference; the digests alone decide whether there is one.
"""

from __future__ import annotations

import json
import operator
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

from eikon_engine.divergence.response_diff import ABSENT
from eikon_engine.dom.digest import node_digest
from eikon_engine.dom.html import block_texts
from eikon_engine.dom.inline_scripts import SCRIPT_STATE
from eikon_engine.dom.paths import append_step, sibling_steps
from eikon_engine.dom.tree import HTML_WHITESPACE, DomNode, FrameSnapshot, PageSnapshot, StateValue, is_significant
from eikon_engine.errors import TraceFieldError
from eikon_engine.files.json_text import canonical_json
from eikon_engine.files.text import ELLIPSIS, shorten_pair
from eikon_engine.outcome.json_diff import JsonChangeKind, diff_json

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from eikon_engine.files.json_text import JsonValue
    from eikon_engine.outcome.json_diff import JsonChange

DOCUMENT: Final = "document"
"""Path of changes of a whole document."""
MAX_SHOWN_VALUES: Final = 3
"""Maximum number of values shown; the others are counted."""


def data_block_texts(frame: FrameSnapshot) -> dict[int, str]:
    """Return the stored texts of the data blocks of a document, by `id(node)`."""
    texts = block_texts(frame.extras)
    if not texts:
        return {}
    found = ((node, texts.get(place)) for place, node in enumerate(frame.root.walk()))
    return {id(node): text for node, text in found if isinstance(text, str)}


def diff_data_blocks(expected: str, observed: str) -> tuple[str, str]:
    """Return the differing values of two data blocks; the whole texts if they cannot be compared as JSON."""
    try:
        changes = diff_json(json.loads(expected), json.loads(observed))
    except (ValueError, RecursionError, TraceFieldError):
        return expected, observed
    if not changes:
        return expected, observed
    more = f"; {len(changes) - MAX_SHOWN_VALUES} more" if len(changes) > MAX_SHOWN_VALUES else ""
    before = "; ".join(_format_side(each, JsonChangeKind.ADDED, each.expected) for each in changes[:MAX_SHOWN_VALUES])
    after = "; ".join(_format_side(each, JsonChangeKind.REMOVED, each.observed) for each in changes[:MAX_SHOWN_VALUES])
    return f"{before}{more}", f"{after}{more}"


def _format_side(change: JsonChange, absent: JsonChangeKind, value: JsonValue) -> str:
    return f"{change.path} {ABSENT if change.kind is absent else canonical_json(value)}"


_KEY_ATTRIBUTES: Final = frozenset({"id", "name", "data-key", "data-id", "data-testid", "key"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildMatch:
    """The matched children of two elements."""

    partner: dict[int, int]
    """Index of the observed child by index of the expected child."""
    moved: frozenset[int]
    """Indices of expected children that are in a different order."""


def match_children(
    before: Sequence[DomNode], after: Sequence[DomNode], digests: tuple[list[bytes], list[bytes]]
) -> ChildMatch:
    """Match children by digest, then by key, then by order."""
    partner: dict[int, int] = {}
    end = _match_ends(digests, partner)
    rest = (range(len(partner) - end, len(before) - end), range(len(partner) - end, len(after) - end))
    _match_unique([digests[0][i] for i in rest[0]], [digests[1][i] for i in rest[1]], rest, partner)
    left = _unmatched(rest, partner)
    _match_unique([_sibling_key(before[i]) for i in left[0]], [_sibling_key(after[i]) for i in left[1]], left, partner)
    pairs = sorted(partner.items())
    unmoved = _longest_increasing_subsequence([found for _, found in pairs])
    moved = frozenset(pairs[place][0] for place in range(len(pairs)) if place not in unmoved)
    anchors = [pair for pair in pairs if pair[0] not in moved]
    kinds = ([(node.tag, node.namespace) for node in before], [(node.tag, node.namespace) for node in after])
    anything = ([True] * len(before), [True] * len(after))
    for values in (digests, kinds, anything):
        anchors = _match_gaps(values, anchors, partner)
    return ChildMatch(partner=partner, moved=moved)


def _match_ends(digests: tuple[list[bytes], list[bytes]], partner: dict[int, int]) -> int:
    """Match equal children at both ends; return the number matched at the far end."""
    shorter = min(map(len, digests))
    start = 0
    while start < shorter and digests[0][start] == digests[1][start]:
        partner[start] = start
        start += 1
    end = 0
    while end < shorter - start and digests[0][-1 - end] == digests[1][-1 - end]:
        end += 1
        partner[len(digests[0]) - end] = len(digests[1]) - end
    return end


def _match_unique(
    before: Sequence[Hashable | None],
    after: Sequence[Hashable | None],
    places: tuple[Sequence[int], Sequence[int]],
    partner: dict[int, int],
) -> None:
    """Match values that occur exactly once on both sides; `None` matches nothing."""
    counted = (_unique_indices(before), _unique_indices(after))
    for value, place in counted[0].items():
        found = counted[1].get(value)
        if found is not None and place is not None:
            partner[places[0][place]] = places[1][found]


def _unique_indices(values: Sequence[Hashable | None]) -> dict[Hashable, int | None]:
    """Return the index of each value, `None` for repeated values."""
    seen: dict[Hashable, int | None] = {}
    for place, value in enumerate(values):
        if value is not None:
            seen[value] = None if value in seen else place
    return seen


def _unmatched(rest: tuple[range, range], partner: dict[int, int]) -> tuple[list[int], list[int]]:
    """Return the indices that have no partner yet."""
    taken = set(partner.values())
    return [i for i in rest[0] if i not in partner], [i for i in rest[1] if i not in taken]


def _sibling_key(node: DomNode) -> tuple[str, str, str] | None:
    """Return the attribute that identifies an element among its siblings."""
    for name, value in node.attributes:
        if name in _KEY_ATTRIBUTES and value:
            return (node.tag, name, value)
    return None


def _longest_increasing_subsequence(numbers: Sequence[int]) -> set[int]:
    """Return the indices of a longest increasing subsequence: the items that kept their order."""
    tails: list[int] = []
    ends: list[int] = []
    previous: list[int] = []
    for place, number in enumerate(numbers):
        length = bisect_left(tails, number)
        previous.append(ends[length - 1] if length else -1)
        tails[length : length + 1] = [number]
        ends[length : length + 1] = [place]
    kept: set[int] = set()
    place = ends[-1] if ends else -1
    while place >= 0:
        kept.add(place)
        place = previous[place]
    return kept


def _match_gaps(
    values: tuple[Sequence[Hashable], Sequence[Hashable]], anchors: list[tuple[int, int]], partner: dict[int, int]
) -> list[tuple[int, int]]:
    """Match equal values between two anchors, in order; return the anchors together with the new pairs."""
    taken = set(partner.values())
    found: list[tuple[int, int]] = []
    start = (0, 0)
    for stop in (*anchors, (len(values[0]), len(values[1]))):
        left = [i for i in range(start[0], stop[0]) if i not in partner]
        right = [i for i in range(start[1], stop[1]) if i not in taken]
        found.extend(_pair_in_order(values, left, right))
        start = (stop[0] + 1, stop[1] + 1)
    partner.update(found)
    return sorted([*anchors, *found])


def _pair_in_order(
    values: tuple[Sequence[Hashable], Sequence[Hashable]], left: list[int], right: list[int]
) -> Iterator[tuple[int, int]]:
    """Pair each value with the next equal one on the other side."""
    places: dict[Hashable, list[int]] = {}
    for place in right:
        places.setdefault(values[1][place], []).append(place)
    last = -1
    for place in left:
        same = places.get(values[0][place], [])
        following = bisect_left(same, last + 1)
        if following < len(same):
            last = same[following]
            yield place, last


DomChangeKind = Literal["text", "attribute", "state", "added", "removed", "replaced", "moved"]

_MAX_VALUE_LENGTH: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class DomChange:
    """One difference between an expected and an observed page."""

    kind: DomChangeKind
    frame: str
    """Frame path; empty for the main frame."""
    path: str
    """Path in the expected document; for added nodes, in the observed one."""
    name: str = ""
    """Name of the attribute or state."""
    expected: str = ""
    """Shortened for display."""
    observed: str = ""
    """Shortened for display."""
    is_text: bool = False
    """Whether the added or removed node is a text. An only text has the path of its element."""
    content: str = field(default="", compare=False, repr=False)
    """Both sides whole: the texts, or digests of the nodes."""
    scripts: tuple[str, str] | None = field(default=None, compare=False, repr=False)
    """Texts of a data block or inline script on both sides, if they are known."""

    @property
    def key(self) -> tuple[str, ...]:
        """Return what distinguishes it from other changes; what is shown is shortened."""
        return self.kind, self.frame, self.path, self.name, self.content

    @property
    def whole(self) -> tuple[str, str]:
        """Return what was expected and observed: whole for a changed text or value, else as it is shown."""
        sides = self.content.split("\0")
        return (sides[0], sides[1]) if len(sides) == len(("expected", "observed")) else (self.expected, self.observed)


def diff_snapshots(expected: PageSnapshot, observed: PageSnapshot) -> tuple[DomChange, ...]:
    """Return the differences of two pages in document order; empty if and only if their digests are equal."""
    before = {frame.path: frame for frame in expected.frames}
    after = {frame.path: frame for frame in observed.frames}
    changes: list[DomChange] = []
    for path, frame in before.items():
        other = after.get(path)
        if other is None:
            changes.append(_make_change("removed", path, DOCUMENT, expected=_outline(frame.root), observed=ABSENT))
        else:
            changes.extend(_diff_frames(frame, other))
    for path, frame in after.items():
        if path not in before:
            changes.append(_make_change("added", path, DOCUMENT, expected=ABSENT, observed=_outline(frame.root)))
    order = [frame.path for frame in observed.frames if frame.path in before]
    expected_lines = [frame.path for frame in expected.frames if frame.path in after]
    if order != expected_lines:
        changes.append(
            _make_change("moved", "", "frames", expected=", ".join(expected_lines), observed=", ".join(order))
        )
    return tuple(changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reordering:
    """An element whose child elements are the same on two pages, in another order."""

    frame: str
    """Frame path; empty for the main frame."""
    path: str
    expected: tuple[bytes, ...]
    """Digests of the child elements, in order."""
    observed: tuple[bytes, ...]


def find_reorderings(expected: PageSnapshot, observed: PageSnapshot) -> tuple[Reordering, ...]:
    """Return the outermost elements of two pages that differ only in the order of their child elements."""
    after = {frame.path: frame for frame in observed.frames}
    return tuple(
        found
        for frame in expected.frames
        if frame.path in after
        for found in _reorderings_of_frame(frame, after[frame.path])
    )


def _reorderings_of_frame(expected: FrameSnapshot, observed: FrameSnapshot) -> Iterator[Reordering]:
    root = sibling_steps((expected.root,))[0]
    waiting = [_Pair(path=root, expected=expected.root, observed=observed.root)]
    while waiting:
        pair = waiting.pop()
        before, after = pair.expected, pair.observed
        if node_digest(before) == node_digest(after) or before.is_text or after.is_text:
            continue
        orders = tuple(
            tuple(node_digest(each) for each in node.children if not each.is_text) for node in (before, after)
        )
        if _is_reordered(before, after, orders):
            yield Reordering(frame=expected.path, path=pair.path, expected=orders[0], observed=orders[1])
            continue
        below = _FrameDiff(frame=expected.path)
        found = [*_diff_children(f"{pair.path} > #shadow", (before.shadow or (), after.shadow or ()), below)]
        found += _diff_children(pair.path, (before.children, after.children), below)
        waiting.extend(each for each in reversed(found) if isinstance(each, _Pair))


def _is_reordered(before: DomNode, after: DomNode, orders: tuple[tuple[bytes, ...], ...]) -> bool:
    """Return whether two elements are equal but for the order of their child elements."""
    texts = (
        [_outline(each) for each in node.children if each.is_text and is_significant(each)] for node in (before, after)
    )
    return (
        orders[0] != orders[1]
        and Counter(orders[0]) == Counter(orders[1])
        and operator.eq(*texts)
        and node_digest(replace(before, children=())) == node_digest(replace(after, children=()))
    )


def render_diff(changes: Sequence[DomChange]) -> str:
    """Format changes as readable text, one block each."""
    return "\n".join(_render_change(change) for change in changes)


@dataclass(slots=True)
class _Branch:
    """The changes at a path and below it."""

    changes: list[DomChange] = field(default_factory=list)
    below: dict[str, _Branch] = field(default_factory=dict)

    def lines(self, indent: str = "") -> Iterator[str]:
        """Yield the changes, then the paths below, each indented; paths that do not branch are on one line."""
        for change in self.changes:
            yield f"{indent}{change.kind}{f' {change.name}' if change.name else ''}"
            sides = (("-", "added", change.expected), ("+", "removed", change.observed))
            shown = ((sign, value.splitlines() or [""]) for sign, absent, value in sides if change.kind != absent)
            yield from (f"{indent}{sign} {line}" for sign, lines in shown for line in lines)
        for step, branch in self.below.items():
            path = [step]
            while not branch.changes and len(branch.below) == 1:
                ((following, branch),) = branch.below.items()  # noqa: PLW2901 - walks down to the next branch
                path.append(following)
            yield f"{indent}{' > '.join(path)}"
            yield from branch.lines(f"{indent}  ")


def render_diff_tree(changes: Sequence[DomChange]) -> str:
    """Format changes as an indented tree of their places, with `-` for what was expected and `+` for what was seen."""
    documents: dict[str, _Branch] = {}
    for change in changes:
        branch = documents.setdefault(change.frame, _Branch())
        for step in change.path.split(" > "):
            branch = branch.below.setdefault(step, _Branch())
        branch.changes.append(change)
    titles = {frame: f"frame {frame}\n" if frame else "" for frame in documents}
    return "\n".join(titles[frame] + "\n".join(document.lines()) for frame, document in documents.items())


def _render_change(change: DomChange) -> str:
    """Format one change."""
    frame = f"frame {change.frame}: " if change.frame else ""
    name = f" {change.name}" if change.name else ""
    values = f"  expected: {change.expected}\n  observed: {change.observed}\n"
    return f"{change.kind}{name} at {frame}{change.path}\n{values}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """Two matched nodes that differ."""

    path: str
    expected: DomNode
    observed: DomNode


@dataclass(slots=True)
class _FrameDiff:
    """State of the comparison of two documents."""

    frame: str
    blocks: dict[int, str] = field(default_factory=dict)
    """Texts of data blocks of both documents, by `id(node)`."""
    waiting: list[_Pair | DomChange] = field(default_factory=list)


def _diff_frames(expected: FrameSnapshot, observed: FrameSnapshot) -> Iterator[DomChange]:
    """Compare two documents."""
    for name in ("name", "doctype"):
        before, after = getattr(expected, name), getattr(observed, name)
        if before != after:
            yield _make_change("attribute", expected.path, DOCUMENT, name=name, expected=before, observed=after)
    if node_digest(expected.root) == node_digest(observed.root):
        return
    walk = _FrameDiff(frame=expected.path, blocks=data_block_texts(expected) | data_block_texts(observed))
    walk.waiting.append(_Pair(path=sibling_steps((expected.root,))[0], expected=expected.root, observed=observed.root))
    while walk.waiting:
        item = walk.waiting.pop()
        if isinstance(item, DomChange):
            yield item
        else:
            walk.waiting.extend(reversed(list(_diff_nodes(item, walk))))


def _diff_nodes(pair: _Pair, walk: _FrameDiff) -> Iterator[_Pair | DomChange]:
    """Compare two nodes, and yield their differences and the differing pairs below them."""
    before, after = pair.expected, pair.observed
    if before.text is not None or after.text is not None or not _same_kind(before, after):
        kind: DomChangeKind = "text" if before.is_text and after.is_text else "replaced"
        change = _make_change(kind, walk.frame, pair.path, expected=_outline(before), observed=_outline(after))
        if kind == "replaced":
            change = replace(change, content=f"{node_digest(before).hex()} {node_digest(after).hex()}")
        yield change
        return
    yield from _diff_values("attribute", pair, walk, (before.attributes, after.attributes))
    yield from _diff_values("state", pair, walk, (before.state, after.state))
    if before.shadow_mode != after.shadow_mode:
        modes = (before.shadow_mode or ABSENT, after.shadow_mode or ABSENT)
        yield _make_change("attribute", walk.frame, pair.path, name="#shadow", expected=modes[0], observed=modes[1])
    if before.shadow or after.shadow:
        yield from _diff_children(f"{pair.path} > #shadow", (before.shadow or (), after.shadow or ()), walk)
    yield from _diff_children(pair.path, (before.children, after.children), walk)


def _same_kind(before: DomNode, after: DomNode) -> bool:
    """Return whether two nodes have the same tag and namespace."""
    return before.tag == after.tag and before.namespace == after.namespace


def _diff_values(
    kind: DomChangeKind,
    pair: _Pair,
    walk: _FrameDiff,
    values: tuple[tuple[tuple[str, StateValue], ...], tuple[tuple[str, StateValue], ...]],
) -> Iterator[DomChange]:
    """Yield one change for each attribute or state that differs."""
    before, after = dict(values[0]), dict(values[1])
    for name in sorted(before.keys() | after.keys()):
        expected_lines, found = _format_value(before.get(name)), _format_value(after.get(name))
        if before.get(name) != after.get(name) or type(before.get(name)) is not type(after.get(name)):
            texts = (walk.blocks.get(id(pair.expected)), walk.blocks.get(id(pair.observed)))
            scripts = None
            if (kind, name) == ("state", SCRIPT_STATE) and texts[0] is not None and texts[1] is not None:
                scripts = texts[0], texts[1]
                expected_lines, found = diff_data_blocks(*scripts)
            change = _make_change(kind, walk.frame, pair.path, name=name, expected=expected_lines, observed=found)
            yield replace(change, scripts=scripts)


def _format_value(value: StateValue | None) -> str:
    """Format the value of an attribute or state."""
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else f"[{', '.join(value)}]"


def _diff_children(
    path: str, children: tuple[tuple[DomNode, ...], tuple[DomNode, ...]], walk: _FrameDiff
) -> Iterator[_Pair | DomChange]:
    """Match two lists of children and yield the differences."""
    before = tuple(node for node in children[0] if is_significant(node))
    after = tuple(node for node in children[1] if is_significant(node))
    digests = ([node_digest(node) for node in before], [node_digest(node) for node in after])
    if digests[0] == digests[1]:
        return
    match = match_children(before, after, digests)
    places, new_places = sibling_steps(before), sibling_steps(after)
    for index, node in enumerate(before):
        found = match.partner.get(index)
        place = append_step(path, places[index])
        if found is None:
            removed = _make_change("removed", walk.frame, place, expected=_outline(node), observed=ABSENT)
            yield replace(removed, is_text=node.is_text, content=digests[0][index].hex())
            continue
        if index in match.moved:
            where = (f"{_outline(node)} as child {index + 1}", f"{_outline(after[found])} as child {found + 1}")
            yield _make_change("moved", walk.frame, place, expected=where[0], observed=where[1])
        if digests[0][index] != digests[1][found]:
            yield _Pair(path=place, expected=node, observed=after[found])
    taken = set(match.partner.values())
    for index, node in enumerate(after):
        if index not in taken:
            place = append_step(path, new_places[index])
            added = _make_change("added", walk.frame, place, expected=ABSENT, observed=_outline(node))
            yield replace(added, is_text=node.is_text, content=digests[1][index].hex())


def _outline(node: DomNode) -> str:
    """Format a node as one line: its start tag and the beginning of its text."""
    if node.text is not None:
        return node.text.strip(HTML_WHITESPACE)
    attributes = "".join(f' {name}="{_shorten(value, _MAX_VALUE_LENGTH // 4)}"' for name, value in node.attributes)
    words: list[str] = []
    length = 0
    for inner in node.walk():
        if inner.text is not None and is_significant(inner):
            words.append(inner.text.strip(HTML_WHITESPACE))
            length += len(words[-1])
        if length > _MAX_VALUE_LENGTH:
            break
    return f"<{node.tag}{attributes}>{' '.join(words)}"


def _shorten(text: str, length: int) -> str:
    """Shorten a text by removing its middle."""
    if len(text) <= length:
        return text
    half = (length - 3) // 2
    return f"{text[:half]}...{text[-half:]}"


def _make_change(
    kind: DomChangeKind, frame: str, path: str, *, expected: str, observed: str, name: str = ""
) -> DomChange:
    """Create a change with shortened values that still show the difference."""
    if kind in {"added", "removed", "moved"}:  # one side, or the same element with its place at the end
        expected_lines, found = _shorten(expected, _MAX_VALUE_LENGTH), _shorten(observed, _MAX_VALUE_LENGTH)
    else:
        expected_lines, found = shorten_pair(expected, observed, _MAX_VALUE_LENGTH - 2 * len(ELLIPSIS))
    return DomChange(
        kind=kind,
        frame=frame,
        path=path,
        name=name,
        expected=expected_lines,
        observed=found,
        content=f"{expected}\0{observed}",
    )
