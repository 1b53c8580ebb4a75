"""Values that a server draws for each run, such as the id of a new record: find them, and pair them with recorded ones.

Such a value has the same place in two responses to one request: the same text before and after it.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from difflib import SequenceMatcher
from itertools import accumulate, zip_longest
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from eikon_engine.network.drawn_values import value_pattern
from eikon_engine.network.keys import read_json, write_json
from eikon_engine.network.rules import split_path
from eikon_engine.secrets.stand_ins import looks_like_stand_in
from eikon_engine.trace.masks import matches_wildcard
from eikon_engine.trace.rules import ResponseValueRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

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


def pair_values(pattern: str, recorded: str, live: str) -> dict[str, str]:
    """Return the recorded values by the live ones that have their places; `pattern` has one group.

    Values are paired in their order, if the text before them is the same or as many values changed their text. A value
    that would stand for two is skipped.
    """
    ours, theirs = list(re.finditer(pattern, recorded)), list(re.finditer(pattern, live))
    before, after = _texts_between(ours, recorded), _texts_between(theirs, live)
    pairs: dict[str, str] = {}
    for i1, i2, j1, j2 in _paired_runs(before, after):
        for one, other in zip(ours[i1:i2], theirs[j1:j2], strict=True):
            pairs.setdefault(other[1], one[1])
    times = Counter(pairs.values())
    return {value: one for value, one in pairs.items() if value != one and times[one] == 1}


def with_recorded_values(rules: Iterable[VolatileRule], url: str, recorded: str, live: str) -> str:
    """Return the text of a live response with the recorded values where rules say that the server draws them."""
    for rule in rules:
        if not isinstance(rule, ResponseValueRule) or not matches_wildcard(rule.url, url_location(url)):
            continue
        ours = (each[1] for each in re.finditer(rule.pattern, recorded))
        parts, end = [], 0
        for found, value in zip(re.finditer(rule.pattern, live), ours, strict=False):
            parts += [live[end : found.start(1)], value]
            end = found.end(1)
        live = "".join((*parts, live[end:]))
    return live


class DrawnValues:
    """Learns the values that a server drew in one run, response by response; mutable."""

    def __init__(
        self,
        rules: Iterable[VolatileRule],
        learner: RuleLearner | None,
        rule_use: RuleUsage,
        substitute: Callable[[dict[str, str]], None],
    ) -> None:
        """Use rules, and a `learner` that learns more of them.

        `substitute` gets the recorded values by the drawn ones that stand for them, as they are learned.
        """
        self.rules = [rule for rule in rules if isinstance(rule, ResponseValueRule)]
        self._learner = learner
        self._rule_use = rule_use
        self._substitute = substitute
        self._recorded: dict[str, str] = {}
        """Recorded values by the drawn ones."""

    def learn(self, urls: tuple[str, str], recorded: str, drawn: str) -> None:
        """Let the values of one text stand for those of a recorded one; `urls` are those of both responses."""
        location, other = map(url_location, urls)
        if self._learner is not None:
            learned = self._learner.learn_response((location, other), recorded, drawn, tuple(self.rules))
            self.rules += learned
            self._rule_use.add(learned)
        for rule in self.rules:
            if not matches_wildcard(rule.url, location):
                continue
            pairs = pair_values(rule.pattern, recorded, drawn)
            found = {value: one for value, one in pairs.items() if self._recorded.get(value, one) == one}
            if found:
                self._recorded |= found
                self._rule_use.count_use((rule,))
                self._substitute(found)


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


def _texts_between(found: list[re.Match[str]], text: str) -> list[str]:
    """Return the text between each value and the one before it."""
    ends = [0, *(each.end(1) for each in found)]
    return [text[end : each.start(1)] for end, each in zip(ends, found, strict=False)]


def propose_response_rules(
    location: tuple[str, str], recorded: str, live: str, near_s: float | None = None
) -> tuple[ResponseValueRule, ...]:
    """Return rules for the values that look drawn and differ between two responses to one request.

    `location` is the URL of both, recorded and live, without query and fragment; `near_s` is the time of the recording,
    in Unix seconds.
    """
    if recorded == live or max(len(recorded), len(live)) > MAX_COMPARED_LENGTH:
        return ()
    url = _common_location(*location)
    rules: dict[str, ResponseValueRule] = {}
    end = end_live = 0
    for one, other in _replaced_words(recorded, live):
        value = value_pattern("", one[0], other[0], near_s)
        context = _context(recorded, end, one.start())
        is_same_place = (
            live[max(end_live, other.start() - len(context)) : other.start()] == context
            and recorded[one.end() : one.end() + 1] == live[other.end() : other.end() + 1]
        )
        end, end_live = one.end(), other.end()
        if value is None or len(one[0]) < MIN_VALUE_LENGTH or len(context.strip()) < _MIN_CONTEXT or not is_same_place:
            continue
        if looks_like_stand_in(one[0]):
            continue  # a token, which replays recognize anyway
        following = re.escape(recorded[one.end() : one.end() + 1])
        pattern = f"{re.escape(context)}({value})(?={following or '$'})"
        reason = f"the server draws it: recorded {one[0]!r}, another value in another run"  # which may be a secret
        rules.setdefault(pattern, ResponseValueRule(url=url, reason=reason, pattern=pattern))
    return tuple(rules.values())


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
