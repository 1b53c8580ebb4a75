"""Saves of pages: PUT requests that pages send once nothing changed for a while, so that each change puts them off.

How often a page saves, and what, depends on how long it computes. A PUT replaces what its URL had before (RFC 9110,
section 9.3.4), so a replay may send fewer or others, as long as what is saved last is the same.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

from eikon_engine.files.origins import split_url
from eikon_engine.network.keys import is_json
from eikon_engine.network.rules import recorded_request

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from eikon_engine.network.exchange import Exchange
    from eikon_engine.network.nearest import BodyReader

SAVE_METHOD: Final = "PUT"
PUT_OFF_MS: Final = 1000.0
"""Page time by which a replay may send a save earlier or later than it was recorded."""
REPLACED_MS: Final = 5000.0
"""Page time between two recorded saves within which the later one may replace the earlier one."""
_CONTENT_HEADERS: Final = frozenset({"content-location", "etag", "last-modified", "location"})
"""Response headers that tell a page about the content that it stored (RFC 9110, sections 8.7, 8.8 and 10.2.2)."""
_PARTIAL: Final = "content-range"
"""Request header of a PUT that replaces only a part (RFC 9110, section 14.5)."""


def group_saves(
    exchanges: Iterable[Exchange], address: Callable[[Exchange], str]
) -> Mapping[str, tuple[Exchange, ...]]:
    """Return the answered saves of each address, in the order sent.

    Only of addresses whose responses had no content: a page learns nothing from them about what it saved.
    """
    groups: defaultdict[str, list[Exchange]] = defaultdict(list)
    for each in exchanges:
        if each.request.method == SAVE_METHOD and each.response is not None:
            groups[address(each)].append(each)
    return {place: tuple(group) for place, group in groups.items() if all(map(_saved_without_content, group))}


def _saved_without_content(exchange: Exchange) -> bool:
    """Return whether a whole was saved, and the response says no more than that."""
    response = exchange.response
    if response is None or response.body_missing is not None:
        return False
    if any(name.lower() in _CONTENT_HEADERS for name, _ in response.headers):
        return False
    is_whole = not any(name.lower() == _PARTIAL for name, _ in exchange.request.headers)
    is_success = HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES
    return is_whole and is_success and not (response.body is not None and response.body.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentSave:
    """A PUT request that a replay sent, and the recorded one that answered it."""

    ordinal: int
    has_other_body: bool
    """Whether its body was not recorded."""
    sent_ms: float
    """Page time, in the recorded timeline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavesOfReplay:
    """What a replay saved at one URL."""

    saves: Sequence[Exchange]
    """The recorded saves there, with their recorded times, in the order sent."""
    last: SentSave | None
    """The last save that the replay sent there."""
    sent_ms: Mapping[int, float]
    """Page time at which each recorded request was sent, by ordinal."""
    by_timer: Collection[int]
    """Ordinals of those that a timer sent, and not an action."""
    end_ms: float
    """Page time at the end of the replay."""
    recorded_end_ms: float
    """Page time at the end of the recording; infinity if it does not matter when that ended."""
    exchanges: Sequence[Exchange]
    """All recorded requests."""
    read_body: BodyReader | None

    def explain(self, save: Exchange) -> str:
        """Return why a recorded save that the replay did not send does not matter; empty if it does."""
        is_save = save.is_cancelled or any(each.ordinal == save.ordinal for each in self.saves)
        if not is_save or self.ends_otherwise:
            return ""
        if self._is_saved_again(save):
            return "the same was saved later"
        return "a later save replaced it" if any(self._replaces(each, save) for each in self.saves) else ""

    @property
    def ends_otherwise(self) -> bool:
        """Whether the replay did not save last what the recording did, unless either was just before the end."""
        if self.last is None or self.last.sent_ms > self.end_ms - PUT_OFF_MS:
            return False
        is_sent_by_timer = self.last.has_other_body or self.last.ordinal in self.by_timer
        if is_sent_by_timer and self.saves[-1].started_ms > self.recorded_end_ms - PUT_OFF_MS:
            return False  # a little later, the page might have saved more
        if self.last.has_other_body:
            return True
        recorded, answered = self.saves[-1], next(each for each in self.saves if each.ordinal == self.last.ordinal)
        return recorded.ordinal in self.sent_ms and answered.request.body != recorded.request.body

    def _is_saved_again(self, save: Exchange) -> bool:
        """Return whether an equal save that was sent, by a timer, stands for it: when it was recorded, and the last."""
        sent = [each for each in self.saves if each.ordinal in self.sent_ms and each.ordinal < save.ordinal]
        last = max(sent, key=lambda each: self.sent_ms[each.ordinal], default=None)
        return (
            last is not None
            and last.ordinal in self.by_timer
            and last.request.body == save.request.body
            and self.sent_ms[last.ordinal] >= save.started_ms - PUT_OFF_MS
            and not self._is_observed(last, save, self.sent_ms[last.ordinal])
        )

    def _replaces(self, later: Exchange, save: Exchange) -> bool:
        """Return whether a later save, sent by a timer, made this one unnecessary, and nothing observed it."""
        if not 0 <= later.started_ms - save.started_ms <= REPLACED_MS or later.ordinal <= save.ordinal:
            return False
        if later.ordinal not in self.sent_ms:
            return self._is_saved_again(later) and self._has_all_parts(later, save)
        return (
            later.ordinal in self.by_timer
            and self._has_all_parts(later, save)
            and not self._is_observed(save, later, self.sent_ms[later.ordinal])
        )

    def _is_observed(self, save: Exchange, later: Exchange, sent_ms: float) -> bool:
        """Return whether something may have shown the earlier save: between both, or before the later one was sent."""
        return later.request.frame != save.request.frame or any(
            _observes(each, save)
            and (each.ordinal < later.ordinal or self.sent_ms.get(each.ordinal, math.inf) < sent_ms)
            for each in self.exchanges
            if each.ordinal > save.ordinal
        )

    def _has_all_parts(self, later: Exchange, save: Exchange) -> bool:
        ours, theirs = (_parts(each, self.read_body) for each in (save, later))
        return ours is not None and theirs is not None and ours <= theirs


def _observes(exchange: Exchange, save: Exchange) -> bool:
    """Return whether a request may show what was saved before: it loads a document, or is about the same or a part."""
    if exchange.request.is_navigation:
        return True
    ours, theirs = (split_url(each.request.url) for each in (save, exchange))
    if ours.netloc != theirs.netloc or (ours.path == theirs.path and exchange.request.method == SAVE_METHOD):
        return False
    inner, outer = f"{theirs.path.rstrip('/')}/", f"{ours.path.rstrip('/')}/"
    return inner.startswith(outer) or (outer.startswith(inner) and inner != "/")


def _parts(save: Exchange, read_body: BodyReader | None) -> frozenset[str] | None:
    """Return the names of the fields of a form or JSON object; empty for a body without parts, None if unknown."""
    request = recorded_request(save, read_body)
    if request is None:
        return None
    body = request.body or b""
    try:
        if request.media_type == "application/x-www-form-urlencoded":
            return frozenset(parse_qs(body.decode(), keep_blank_values=True))
        if is_json(request.media_type) or body.lstrip().startswith(b"{"):
            found = json.loads(body)
            return frozenset(found) if isinstance(found, dict) else frozenset()
    except (ValueError, RecursionError):
        return None
    return frozenset()
