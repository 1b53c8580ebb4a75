"""Values that a server draws for each run, such as the id of a new record: find them, and pair them with recorded ones.

Such a value has the same place in two responses to one request: the same text before and after it.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from difflib import SequenceMatcher
from functools import cached_property, partial
from itertools import accumulate, zip_longest
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from eikon_engine.files.patterns import find_matches
from eikon_engine.network.drawn_values import value_pattern
from eikon_engine.network.keys import read_json, write_json
from eikon_engine.network.rules import split_path
from eikon_engine.secrets.detection import looks_random
from eikon_engine.secrets.stand_ins import looks_like_stand_in
from eikon_engine.trace.masks import matches_wildcard
from eikon_engine.trace.rules import ResponseValueRule

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    import regex

    from eikon_engine.network.exchange import Exchange
    from eikon_engine.network.matching import RuleUsage
    from eikon_engine.network.rule_learner import RuleLearner
    from eikon_engine.trace.rules import VolatileRule

MAX_COMPARED_LENGTH: Final = 2_000_000
"""Longer responses, in characters, teach nothing."""
MAX_ALIGNED: Final = 4_000
"""More lines, words or values are only compared place by place."""
MAX_REPLACED: Final = 0.2
"""Share of the words that may differ between two lines that are compared place by place."""
MIN_VALUE_LENGTH: Final = 8
"""Shorter values occur by chance in other places."""
_WORD: Final = re.compile(rf"[A-Za-z0-9_-]{{{MIN_VALUE_LENGTH},}}|[A-Za-z0-9_]+|[^A-Za-z0-9_]")
_FIELD: Final = re.compile(r"""(?:[\w:.$-]+\s*[=:]\s*["']?|["'][^"'\n]{1,60}["']\s*:\s*["']?)[^"'<>\n]*$""")
"""The start of an attribute, member, parameter or header, up to a value in it."""
_MAX_CONTEXT: Final = 120
_PLAIN_CONTEXT: Final = 16
"""Characters before a value that belongs to no field."""
_MIN_CONTEXT: Final = 3
_SHORT_NUMBER: Final = re.compile(r"[1-9][0-9]{0,6}")
_ID_MEMBER: Final = re.compile(r"""["'](?:[\w$]*(?:[_-]id|I[dD])|id|ID|pk|key|number|no|nr)["']\s*:\s*["']?$""")
"""The name of a member whose value is an id, up to the value."""
_READING_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""Requests that create nothing (RFC 9110, section 9.2.1)."""
_JOINT: Final = re.compile(r"[~.:|/+$!*@=-]{1,2}")
"""What joins the parts of one value, such as the two of a signed id."""
_MAX_PARTS: Final = 8
_BASE64: Final = re.compile(r"[A-Za-z0-9+/=_-]+")
"""A text that may be Base64, which is compared as a whole."""


def pair_values(pattern: str, recorded: str, live: str) -> dict[str, str]:
    """Return the recorded values by the live ones that have their places; `pattern` has one group.

    Values are paired in their order, if the text before them is the same or as many values changed their text. A value
    that would stand for two is skipped, and so are empty ones.
    """
    ours, theirs = list(find_matches(pattern, recorded)), list(find_matches(pattern, live))
    before, after = _texts_between(ours, recorded), _texts_between(theirs, live)
    pairs: dict[str, str] = {}
    for i1, i2, j1, j2 in _paired_runs(before, after):
        for one, other in zip(ours[i1:i2], theirs[j1:j2], strict=True):
            pairs.setdefault(other[1], one[1])
    times = Counter(pairs.values())
    return {value: one for value, one in pairs.items() if value and one and value != one and times[one] == 1}


def with_recorded_values(rules: Iterable[VolatileRule], url: str, recorded: str, live: str) -> str:
    """Return the text of a live response with the recorded values where rules say that the server draws them."""
    for rule in rules:
        if not isinstance(rule, ResponseValueRule) or not matches_wildcard(rule.url, url_location(url)):
            continue
        ours = (each[1] for each in find_matches(rule.pattern, recorded))
        parts, end = [], 0
        for found, value in zip(find_matches(rule.pattern, live), ours, strict=False):
            parts += [live[end : found.start(1)], value]
            end = found.end(1)
        live = "".join((*parts, live[end:]))
    return live


class RequestedSegments:
    """The segments in the paths of recorded requests, to find the records that a mission uses after creating them."""

    def __init__(self, exchanges: Iterable[Exchange]) -> None:
        """Index the URLs that pages requested and were redirected to."""
        self._last: dict[str, dict[str, tuple[int, int]]] = {}
        """The URLs before each segment, and the last place among the requests at which they had it."""
        self._first_change: int | None = None
        """Ordinal of the first request that may create something."""
        for each in sorted(exchanges, key=lambda exchange: exchange.ordinal):
            if self._first_change is None and each.request.method not in _READING_METHODS:
                self._first_change = each.ordinal
            self._add(each.request.url, (each.ordinal, 0))
            redirected = [hop.url for hop in each.hops[1:]]
            for url in (*redirected, *((each.response.url,) if each.hops and each.response is not None else ())):
                self._add(url, (each.ordinal, 1))

    def _add(self, url: str, place: tuple[int, int]) -> None:
        site, segments = split_path(url_location(url))
        for number, segment in enumerate(segments):
            if number and all(segments[: number + 1]) and "*" not in "".join(segments[:number]):
                before = "/".join((site, *segments[:number], ""))
                self._last.setdefault(segment, {})[before] = place

    def urls_before(self, segment: str, exchange: Exchange) -> tuple[str, ...]:
        """Return the URLs, up to a segment, with which requests because of an exchange, or after it, have the segment.

        The first segment of a path is none of them.
        """
        last = self._last.get(segment, {})
        return tuple(url for url, place in last.items() if place > (exchange.ordinal, 0))

    def may_be_created_by(self, exchange: Exchange) -> bool:
        """Return whether an exchange, or one before it, may have created a record."""
        return self._first_change is not None and self._first_change <= exchange.ordinal


class DrawnValues:
    """Learns the values that a server drew in one run, response by response; mutable."""

    def __init__(
        self,
        rules: Iterable[VolatileRule],
        learner: RuleLearner | None,
        rule_use: RuleUsage,
        substitute: Callable[[Mapping[str, str], Collection[str]], None],
        exchanges: Collection[Exchange] = (),
    ) -> None:
        """Use rules, and a `learner` that learns more of them.

        `substitute` gets the recorded values by the drawn ones that stand for them, as they are learned, and the URLs
        after which they do so; none if they do so everywhere. `exchanges` are those of the recording.
        """
        self.rules = [rule for rule in rules if isinstance(rule, ResponseValueRule)]
        self._learner = learner
        self._rule_use = rule_use
        self._substitute = substitute
        self._exchanges = exchanges
        self._recorded: dict[tuple[str | None, str], str] = {}
        """Recorded values by the drawn ones, and the path in which these stand for them."""
        self._drawn: dict[str, str] = {}
        """Drawn values by the recorded ones for which they stand everywhere, the first one for each."""

    @cached_property
    def _requested(self) -> RequestedSegments:
        return RequestedSegments(self._exchanges)

    def learn(self, urls: tuple[str, str], recorded: str, drawn: str, exchange: Exchange | None = None) -> None:
        """Let the values of one text stand for those of a recorded one; `urls` are those of both responses.

        `exchange` is the recorded one; without it, no values are learned that stand for others in paths only.
        """
        location, other = map(url_location, urls)
        if self._learner is not None:
            known = tuple(self.rules)
            learned = self._learner.learn_response((location, other), recorded, drawn, known, self._uses(exchange))
            self.rules += learned
            self._rule_use.add(learned)
        for rule in self.rules:
            if not matches_wildcard(rule.url, location):
                continue
            pairs = pair_values(rule.pattern, recorded, drawn)
            found = {value: one for value, one in pairs.items() if self._may_stand(value, one, rule.path)}
            if rule.path is None:
                found |= self._parts(found)
            if self._let_stand(found, rule.path, exchange):
                self._rule_use.count_use((rule,))

    def _may_stand(self, value: str, recorded: str, path: str | None) -> bool:
        """Return whether a drawn value agrees with what was learned before.

        It stands for one recorded value only. One that looks random is not drawn again by chance, so the record or
        session that it names has one drawn value, too; a time may be the same in two recorded responses.
        """
        if self._recorded.get((path, value), recorded) != recorded:
            return False
        is_name = path is None and looks_random(recorded) and not recorded.isdigit()
        return not is_name or self._drawn.get(recorded, value) == value

    def _uses(self, exchange: Exchange | None) -> Callable[[str], tuple[str, ...]] | None:
        """Return what finds the URLs before the id of a record that an exchange may have created; None if it cannot."""
        if exchange is None or not self._requested.may_be_created_by(exchange):
            return None
        return partial(self._unknown_uses, exchange=exchange)

    def _unknown_uses(self, recorded: str, exchange: Exchange) -> tuple[str, ...]:
        """Return the URLs before an id, without those after which a rule lets a drawn one stand for it already."""
        known = {path for (path, _), one in self._recorded.items() if one == recorded}
        urls = self._requested.urls_before(recorded, exchange)
        return tuple(url for url in urls if f"{path_before(url)}*" not in known)

    def _let_stand(self, found: Mapping[str, str], path: str | None, exchange: Exchange | None) -> bool:
        """Let drawn values stand for recorded ones, with a path only there; return whether any do."""
        if path is None and found:
            self._substitute(found, ())
            self._drawn = {one: value for value, one in found.items()} | self._drawn
        elif path is not None:
            found = {value: one for value, one in found.items() if self._let_stand_in(path, value, one, exchange)}
        self._recorded |= {(path, value): one for value, one in found.items()}
        return bool(found)

    def _let_stand_in(self, path: str, value: str, recorded: str, exchange: Exchange | None) -> bool:
        urls = () if exchange is None else self._requested.urls_before(recorded, exchange)
        here = [url for url in urls if path_before(url) == path.removesuffix("*")]
        if here:
            self._substitute({value: recorded}, here)
        return bool(here)

    def learn_from_equal(self, urls: tuple[str, str], recorded: str, drawn: str) -> None:
        """Learn, as `learn` does, from two texts that are equal but for such values; from no others."""
        location, other = map(url_location, urls)
        proposed = () if self._learner is None else propose_response_rules((location, other), recorded, drawn)
        if with_recorded_values((*self.rules, *proposed), location, recorded, drawn) == recorded:
            self.learn(urls, recorded, drawn)

    def _parts(self, found: Mapping[str, str]) -> dict[str, str]:
        """Return the random parts of recorded values by those of the drawn ones, which pages may send alone.

        A part that would stand for two recorded ones, or for one that has another drawn value, is skipped.
        """
        pairs = dict.fromkeys(pair for value, one in found.items() for pair in _paired_parts(value, one))
        if not pairs:
            return {}
        known = {(value, one) for (path, value), one in self._recorded.items() if path is None}
        drawn, recorded = map(Counter, zip(*known.union(found.items(), pairs), strict=True))
        return {
            part: one
            for part, one in pairs
            if part != one and drawn[part] == recorded[one] == 1 and looks_random(part) and looks_random(one)
        }


def _paired_parts(value: str, recorded: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a joined value, with those in their places in the recorded one."""
    parts, recorded_parts = _WORD.findall(value), _WORD.findall(recorded)
    if 1 < len(parts) == len(recorded_parts):
        yield from zip(parts, recorded_parts, strict=True)


def path_before(url: str) -> str:
    """Return the path of a URL that ends before a segment."""
    return f"/{'/'.join(split_path(url)[1])}"


def url_location(url: str) -> str:
    """Return a URL without query and fragment."""
    return url.partition("#")[0].partition("?")[0]


def comparable_text(body: bytes) -> str:
    """Return a body as text; JSON is written in canonical form, so that member order and spaces do not matter."""
    if body.lstrip().startswith((b"{", b"[")):
        with suppress(ValueError, RecursionError):
            return write_json(read_json(body)).decode(errors="replace")
    return body.decode(errors="replace")


def header_lines(url: str, headers: Iterable[tuple[str, str]]) -> str:
    """Return the URL and headers of a response as a text of one line each."""
    return "\n".join(f"{name.lower()}: {value}" for name, value in (("url", url), *headers))


def _paired_runs(before: list[str], after: list[str]) -> Iterator[tuple[int, int, int, int]]:
    """Yield the begins and ends of runs that are equal, or of one length in the same place."""
    if before == after or max(len(before), len(after)) > MAX_ALIGNED:
        if len(before) == len(after):
            yield 0, len(before), 0, len(after)
        return
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal" or (kind == "replace" and i2 - i1 == j2 - j1):
            yield i1, i2, j1, j2


def _texts_between(found: list[regex.Match[str]], text: str) -> list[str]:
    """Return the text between each value and the one before it."""
    ends = [0, *(each.end(1) for each in found)]
    return [text[end : each.start(1)] for end, each in zip(ends, found, strict=False)]


def propose_response_rules(
    location: tuple[str, str],
    recorded: str,
    live: str,
    near_s: float | None = None,
    uses: Callable[[str], tuple[str, ...]] | None = None,
) -> tuple[ResponseValueRule, ...]:
    """Return rules for the values that differ between two responses to one request, and that the server drew.

    They look drawn, or are short numbers that later requests have in their paths, in each after a URL that `uses`
    returns: those of new records. `location` is the URL of both responses, recorded and live, without query and
    fragment; `near_s` is the time of the recording, in Unix seconds.
    """
    if recorded == live or max(len(recorded), len(live)) > MAX_COMPARED_LENGTH:
        return ()
    url = _common_location(*location)
    rules: dict[tuple[str, str | None], ResponseValueRule] = {}
    for (begin, until), drawn, value, context in _values_in_place(recorded, live, near_s):
        following = re.escape(recorded[until : until + 1])
        proposed = (
            *_drawn_rule(recorded[begin:until], value, context),
            *(_number_rules(recorded, (begin, until), drawn, context, uses) if uses is not None else ()),
        )
        for each, path, reason in proposed:
            pattern = f"{re.escape(context)}({each})(?={following or '$'})"
            rules.setdefault((pattern, path), ResponseValueRule(url=url, reason=reason, pattern=pattern, path=path))
    return tuple(rules.values())


def _values_in_place(
    recorded: str, live: str, near_s: float | None
) -> Iterator[tuple[tuple[int, int], str, str | None, str]]:
    """Yield the recorded spans of values that replace each other in the same text, and what replaces them.

    Then the pattern of what both are drawn from, if they are, and the text before them.
    """
    end = end_live = 0
    for (begin, until), (begin_live, until_live), value in _replaced_values(recorded, live, near_s):
        context = _context(recorded, end, begin)
        is_same_place = (
            live[max(end_live, begin_live - len(context)) : begin_live] == context
            and recorded[until : until + 1] == live[until_live : until_live + 1]
        )
        end, end_live = until, until_live
        if is_same_place:
            yield (begin, until), live[begin_live:until_live], value, context


def _drawn_rule(recorded: str, value: str | None, context: str) -> Iterator[tuple[str, None, str]]:
    """Yield the pattern of a value that looks drawn, no path, and the reason."""
    is_long = len(recorded) >= MIN_VALUE_LENGTH and len(context.strip()) >= _MIN_CONTEXT
    if value is None or not is_long or looks_like_stand_in(recorded):
        return  # a stand-in is that of a token, which replays recognize anyway
    yield value, None, f"the server draws it: recorded {recorded!r}, another value in another run"  # may be a secret


def _number_rules(
    recorded: str, span: tuple[int, int], live: str, context: str, uses: Callable[[str], tuple[str, ...]]
) -> Iterator[tuple[str, str, str]]:
    """Yield the pattern of the id of a new record, a path that has it, and the reason.

    It is a short number that a later request has after some URL, and that the response has after the same path, or in a
    member that is named as an id. `span` is its begin and end in the recorded text.
    """
    number = recorded[slice(*span)]
    if not (_SHORT_NUMBER.fullmatch(number) and _SHORT_NUMBER.fullmatch(live)):
        return
    for path in dict.fromkeys(map(path_before, uses(number))):
        if recorded.endswith(path, 0, span[0]) or _ID_MEMBER.search(context):
            found = f"recorded {number} in a response, requested as {path}{number} later; another one in another run"
            yield "[0-9]{1,9}", f"{path}*", f"id: {found}"


def _replaced_values(
    recorded: str, live: str, near_s: float | None
) -> Iterator[tuple[tuple[int, int], tuple[int, int], str | None]]:
    """Yield the spans of values that replace each other, and the pattern of what both are drawn from, if they are.

    Words that are joined, as in `8hQ2~3965df`, are one value if they are drawn together.
    """
    for words in _joined_words(recorded, live):
        begin = 0
        while begin < len(words):
            spans, value, begin = _longest_value(recorded, live, words, begin, near_s)
            yield *spans, value


def _longest_value(
    recorded: str, live: str, words: list[tuple[re.Match[str], re.Match[str]]], begin: int, near_s: float | None
) -> tuple[tuple[tuple[int, int], tuple[int, int]], str | None, int]:
    """Return the spans and the pattern of the longest value that begins with a word, and where the next one begins."""
    first, first_live = words[begin]
    for end in range(len(words), begin, -1):
        last, last_live = words[end - 1]
        span, span_live = (first.start(), last.end()), (first_live.start(), last_live.end())
        text = recorded[slice(*span)]
        value = value_pattern("", text, live[slice(*span_live)], near_s)
        if value is not None and (end - begin == 1 or _are_joined(text, words[begin:end], near_s)):
            return (span, span_live), value, end
    return (first.span(), first_live.span()), None, begin + 1


def _are_joined(text: str, words: list[tuple[re.Match[str], re.Match[str]]], near_s: float | None) -> bool:
    """Return whether words that look drawn together are one value.

    A text that may be Base64 looks drawn even if one of its words, such as a status behind an id, may matter: each word
    has to look drawn. All other texts were compared part by part.
    """
    return _BASE64.fullmatch(text) is None or all(
        value_pattern("", one[0], other[0], near_s) is not None for one, other in words
    )


def _joined_words(recorded: str, live: str) -> Iterator[list[tuple[re.Match[str], re.Match[str]]]]:
    """Yield the words that replace each other, together with those that are joined to them in both texts."""
    run: list[tuple[re.Match[str], re.Match[str]]] = []
    for one, other in _replaced_words(recorded, live):
        if run:
            joint = recorded[run[-1][0].end() : one.start()]
            is_joined = joint == live[run[-1][1].end() : other.start()] and _JOINT.fullmatch(joint)
            if not is_joined or len(run) == _MAX_PARTS:
                yield run
                run = []
        run.append((one, other))
    if run:
        yield run


def _replaced_words(recorded: str, live: str) -> Iterator[tuple[re.Match[str], re.Match[str]]]:
    """Yield the words that replace each other."""
    lines, live_lines = recorded.splitlines(keepends=True), live.splitlines(keepends=True)
    begins, live_begins = ([0, *accumulate(map(len, each))] for each in (lines, live_lines))
    for i1, i2, j1, j2 in _paired_runs(lines, live_lines):
        for one, other in zip(range(i1, i2), range(j1, j2), strict=True):
            if lines[one] != live_lines[other]:
                ours = list(_WORD.finditer(recorded, begins[one], begins[one + 1]))
                theirs = list(_WORD.finditer(live, live_begins[other], live_begins[other + 1]))
                yield from _replaced_in_line(ours, theirs)


def _replaced_in_line(
    ours: list[re.Match[str]], theirs: list[re.Match[str]]
) -> Iterator[tuple[re.Match[str], re.Match[str]]]:
    """Yield the words of two lines that replace each other: those in one place, if the lines have as many words."""
    words, other_words = [each[0] for each in ours], [each[0] for each in theirs]
    if len(words) == len(other_words):
        pairs = [pair for pair in zip(ours, theirs, strict=True) if pair[0][0] != pair[1][0]]
        if len(pairs) <= MAX_REPLACED * len(words):
            yield from pairs
            return
    for i1, i2, j1, j2 in _paired_runs(words, other_words):
        yield from (pair for pair in zip(ours[i1:i2], theirs[j1:j2], strict=True) if pair[0][0] != pair[1][0])


def _context(text: str, begin: int, end: int) -> str:
    """Return what stands before a value: its field, or a few characters; at most from `begin`."""
    before = text[max(begin, end - _MAX_CONTEXT) : end]
    field = _FIELD.search(before)
    return field[0] if field is not None else before[-_PLAIN_CONTEXT:].rpartition("\n")[2]


def _common_location(recorded: str, live: str) -> str:
    """Return a glob of two URLs, with `*` for each segment that differs."""
    (site, ours), (_, theirs) = split_path(recorded), split_path(live)
    same = (one if unquote(one or "") == unquote(other or "") else "*" for one, other in zip_longest(ours, theirs))
    return "/".join((site, *(each or "" for each in same)))
