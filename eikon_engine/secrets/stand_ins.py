"""Stand-ins: generated replacements of secrets, with the same length and alphabet; make, recognize and restore them."""

from __future__ import annotations

import hashlib
import hmac
import re
import string
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from eikon_engine.secrets.detection import MIN_SECRET_LENGTH, is_hex, looks_random
from eikon_engine.secrets.encodings import ENCODINGS
from eikon_engine.secrets.token_formats import find_tokens, may_have_token

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

PUBLIC_KEY: Final = b"eikon stand-in"
"""For values that cannot be guessed, and for those that pages derive from a public seed."""
MARK: Final = "eikonredacted"
SHORT_MARK: Final = "eikon"
HEX_MARK: Final = "e1c0ded"
_FULL_MARK_LENGTH: Final = 24
"""Minimum number of letters and digits for the full mark, which leaves enough of them to keep values distinct."""
_SHORT_MARK_LENGTH: Final = 13
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_FIXED_UUID_POSITIONS: Final = (14, 19)
"""Version and variant digits (RFC 9562, section 4)."""
_ESCAPE: Final = re.compile(r"%[0-9A-Fa-f]{2}")


def make_stand_in(value: str, key: bytes = PUBLIC_KEY) -> str:
    """Return the stand-in of a value: same length, digits for digits, letters for letters, everything else unchanged.

    Deterministic for a value and key; differs from the value unless that has no letters or digits.
    """
    places = [place for place, char in enumerate(value) if char.isascii() and char.isalnum()]
    kept = {place for found in _ESCAPE.finditer(value) for place in range(found.start(), found.end())}
    kept |= set(_FIXED_UUID_POSITIONS) if _UUID.fullmatch(value) else set()
    places = [place for place in places if place not in kept]
    for attempt in range(256):
        drawn = _draw(value, places, key + bytes([attempt]))
        if drawn != value:
            return drawn
    return value


def make_plain_stand_in(value: str, key: bytes) -> str:
    """Return the stand-in of a value that may be a number: it has no zero in front unless the value has one."""
    drawn = make_stand_in(value, key)
    for attempt in range(256):
        if drawn != value and (value[:1] == "0" or drawn[:1] != "0"):
            break
        drawn = make_stand_in(value, key + bytes([attempt]))
    return drawn


def looks_like_stand_in(text: str) -> bool:
    """Return whether a text is recognizable as a stand-in; short stand-ins are not."""
    lower = "".join(char for char in text if char.isalnum()).lower()
    marks = (
        (MARK, HEX_MARK)
        if len(lower) < _SHORT_MARK_LENGTH or len(lower) >= _FULL_MARK_LENGTH
        else (SHORT_MARK, HEX_MARK)
    )
    return lower.startswith(marks)


def _draw(value: str, places: list[int], key: bytes) -> str:
    chars, chance = list(value), _random_bytes(value, key)
    marked = dict(zip(places, _mark_for(value, len(places)), strict=False))
    upper, lower = string.ascii_uppercase, string.ascii_lowercase
    if is_hex(value):
        upper, lower = "ABCDEF", "abcdef"
    for place in places:
        old = value[place]
        alphabet = string.digits if old.isdigit() else upper if old.isupper() else lower
        drawn = alphabet[next(chance) % len(alphabet)]
        chars[place] = marked.get(place, drawn)
    return "".join(chars)


def _mark_for(value: str, length: int) -> str:
    if value.replace("-", "").isdigit() or length < _SHORT_MARK_LENGTH:
        return ""
    if is_hex(value):
        return HEX_MARK.upper() if any(map(str.isupper, value)) else HEX_MARK
    mark = MARK if length >= _FULL_MARK_LENGTH else SHORT_MARK
    return mark if any(map(str.islower, value)) else mark.upper()


def _random_bytes(value: str, key: bytes) -> Iterator[int]:
    """Yield bytes that are unpredictable without the key."""
    block = 0
    while True:
        yield from hmac.new(key, block.to_bytes(4) + value.encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
        block += 1


def make_password_stand_in(length: int, classes: tuple[bool, bool, bool, bool], number: int) -> str:
    """Return a stand-in for a password, with its length and kinds of characters.

    `classes` are those of `character_classes`; `number` makes stand-ins distinct.
    """
    drawn = _random_bytes(str(number), PUBLIC_KEY)
    alphabets = (string.ascii_lowercase, string.ascii_uppercase, string.digits, "!")
    expected = [alphabet for alphabet, is_included in zip(alphabets, classes, strict=True) if is_included] or alphabets[
        :1
    ]
    return "".join((each := expected[place % len(expected)])[next(drawn) % len(each)] for place in range(length))


def character_classes(value: str) -> tuple[bool, bool, bool, bool]:
    """Return whether a value has lower-case letters, upper-case letters, digits, and other characters."""
    plain = string.ascii_letters + string.digits
    return (
        any(char in string.ascii_lowercase for char in value),
        any(char in string.ascii_uppercase for char in value),
        any(char in string.digits for char in value),
        any(char not in plain for char in value),
    )


_ALONE_BEGIN: Final = r"(?:(?<![A-Za-z0-9%])(?<!&#)(?<![0-9][.,:])|(?<=%[0-9A-Fa-f][0-9A-Fa-f]))"
_ALONE_END: Final = r"(?![A-Za-z0-9]|[.,:][0-9])"


def alone_pattern(value: str) -> str:
    """Return a regular expression of a value that is no part of a word, of a longer number or time, or of an escape."""
    return f"{_ALONE_BEGIN}{re.escape(value)}{_ALONE_END}"


def is_replaced_alone(value: str) -> bool:
    """Return whether a found value is only replaced where it stands alone: a short one, or a number."""
    return len(value) < MIN_SECRET_LENGTH or (value.isdigit() and not looks_random(value))


_CANDIDATE: Final = re.compile(r"[A-Za-z0-9_-]{8,}")
_ENCODED_CANDIDATE: Final = re.compile(r"[A-Za-z0-9_+/-]{8,}")
"""Occurs in every text that contains such a value, also in Base64."""
_CANDIDATE_BYTES: Final = re.compile(rb"[A-Za-z0-9_-]{8,}")


class StandInMap:
    """Values and their stand-ins; mutable, because values are found while pages run.

    Each value is first searched for on its own, which is much faster than one pattern of all values.
    """

    def __init__(self) -> None:
        """Start without values."""
        self._replacements: dict[str, str] = {}
        self._byte_replacements: dict[bytes, bytes] = {}
        self._is_plain = True
        """Whether all values are long alphanumeric runs, so that a text without such a run needs no search."""
        self._alone: set[str] = set()
        """Short values, encoded, which are replaced where they stand alone."""
        self._shortest = MIN_SECRET_LENGTH
        """Length of the shortest text that is searched."""

    @property
    def is_noop(self) -> bool:
        """Whether no text is changed."""
        return not self._replacements

    def add(self, value: str, replacement: str) -> None:
        """Replace a value from now on, in all encodings; longer values take precedence over values they contain."""
        self.add_all({value: replacement})

    def add_all(self, replacements: Mapping[str, str]) -> None:
        """Replace several values from now on, as `add` does."""
        if not replacements:
            return
        for value, replacement in replacements.items():
            self._is_plain = self._is_plain and bool(_CANDIDATE.fullmatch(value))
            for _, encode in ENCODINGS:
                self._replacements.setdefault(encode(value), encode(replacement))
        self._replacements = dict(sorted(self._replacements.items(), key=lambda pair: (-len(pair[0]), pair[0])))
        self._byte_replacements = {old.encode(): new.encode() for old, new in self._replacements.items()}

    def add_alone(self, value: str, replacement: str) -> None:
        """Replace a value from now on where it is no part of a word or number."""
        self._search_alone((value, replacement))
        self.add(value, replacement)

    def _search_alone(self, values: Iterable[str]) -> None:
        for each in values:
            self._alone.update(encode(each) for _, encode in ENCODINGS)
            self._shortest = min(self._shortest, len(each))

    def replace_text(self, text: str) -> str:
        """Return a text with values replaced by stand-ins."""
        if len(text) < self._shortest or (self._is_plain and not _ENCODED_CANDIDATE.search(text)):
            return text
        present = [each for each in self._replacements if each in text]
        if not present:
            return text
        return re.sub("|".join(map(self._pattern, present)), lambda found: self._replacements[found[0]], text)

    def replace_bytes(self, data: bytes) -> bytes:
        """Return bytes with values replaced by stand-ins."""
        if len(data) < self._shortest:
            return data
        return self._replace_bytes(data, self._byte_replacements)

    def _pattern(self, value: str) -> str:
        return alone_pattern(value) if value in self._alone else re.escape(value)

    def _replace_bytes(self, data: bytes, replacements: Mapping[bytes, bytes]) -> bytes:
        present = [each for each in replacements if each in data]
        if not present:
            return data
        pattern = "|".join(self._pattern(each.decode()) for each in present).encode()
        return re.sub(pattern, lambda found: replacements[found[0]], data)

    def restore_bytes(self, data: bytes, *, is_own: bool = True) -> bytes:  # noqa: ARG002 - as below
        """Return the data unchanged: recording never restores values."""
        return data

    def is_recorded_in(self, _text: str) -> bool:
        """Return whether a recorded text has a stand-in: a recording in progress has none."""
        return False

    def unlearned(self) -> StandInMap:
        """Return the map without what it learns from texts: a recording learns nothing."""
        return self

    def learn(self, recorded: str, live: str) -> None:
        """Do nothing: a recording has no other one to compare with."""

    def learn_unknown(self, recorded: str, live: str) -> None:
        """Do nothing: as above."""

    def learn_from_equal(self, recorded: str, live: str) -> None:
        """Do nothing: as above."""

    def substitute(self, recorded: Mapping[str, str], urls: Collection[str] = ()) -> None:
        """Do nothing: as above."""


class RecordedStandIns(StandInMap):
    """The stand-ins of a recording, for its replay.

    Served values are stand-ins in the recording, and pages see nothing else. Values that pages generate themselves are
    recognized by their stand-ins, and restored in the responses the pages receive.
    """

    def __init__(self, known: Iterable[str]) -> None:
        """Recognize values whose stand-ins, made with the public key, are `known`."""
        super().__init__()
        self._known = frozenset(known)
        self._lengths = frozenset(map(len, self._known))
        self._seen: set[str] = set()
        self._restorations: dict[bytes, bytes] = {}
        self._generated: dict[bytes, bytes] = {}
        """The restorations of values that pages generated."""
        self._segments: dict[str, _DrawnSegments] = {}
        """By the path before them, the shortest first: a longer one is written with recorded segments."""

    @property
    def is_noop(self) -> bool:
        """Whether there is nothing to recognize or to replace."""
        return not self._known and not self._segments and super().is_noop

    def replace_text(self, text: str) -> str:
        """Return a text with recognized values replaced by stand-ins."""
        if self._known:
            self._recognize(_CANDIDATE.findall(text))
        text = super().replace_text(text)
        for each in self._segments.values():
            text = each.replace(text)
        return text

    def replace_bytes(self, data: bytes) -> bytes:
        """Return bytes with recognized values replaced by stand-ins."""
        if self._known:
            self._recognize(each.decode() for each in _CANDIDATE_BYTES.findall(data))
        data = super().replace_bytes(data)
        for each in self._segments.values():
            data = each.replace_bytes(data)
        return data

    def restore_bytes(self, data: bytes, *, is_own: bool = True) -> bytes:
        """Return recorded bytes with the values that the pages of this replay generated, and those that it learned.

        `is_own` is false for bytes of another recording than that of the stand-ins: then nothing that was learned is
        restored, since it was learned from that recording.
        """
        if not is_own:
            return self._replace_bytes(data, self._generated)
        data = self._replace_bytes(data, self._restorations)
        for each in reversed(self._segments.values()):
            data = each.restore_bytes(data)
        return data

    def restore_segments(self, text: str) -> str:
        """Return a recorded text with the live values of those that are only replaced in URLs."""
        for each in reversed(self._segments.values()):
            text = each.restore(text)
        return text

    def is_recorded_in(self, text: str) -> bool:
        """Return whether a recorded text has a stand-in."""
        return any(each in text for each in self._known)

    def unlearned(self) -> StandInMap:
        """Return another map that recognizes the same stand-ins, and has learned nothing yet."""
        return RecordedStandIns(self._known)

    def learn(self, recorded: str, live: str) -> None:
        """Recognize the values that a live text has in place of the stand-ins of a recorded one.

        A server draws new tokens for each session or document, so a live one has the value's place, and not its text:
        the same characters before and after it. If it has several places, the first one counts. The value learned last
        is the one that is restored.
        """
        self.substitute(self._pair(recorded, live))

    def learn_unknown(self, recorded: str, live: str) -> None:
        """Learn, as `learn` does, only values whose stand-ins stand for no live value yet."""
        pairs = self._pair(recorded, live)
        self.substitute({value: old for value, old in pairs.items() if old.encode() not in self._restorations})

    def learn_from_equal(self, recorded: str, live: str) -> None:
        """Learn, as `learn` does, from two texts that are equal but for such values; from no others."""
        pairs = self._pair(recorded, live)
        if pairs and re.sub("|".join(map(re.escape, pairs)), lambda found: pairs[found[0]], live) == recorded:
            self.substitute(pairs)

    def _pair(self, recorded: str, live: str) -> dict[str, str]:
        """Return the stand-ins of a recorded text by the live values that have their places."""
        learned: dict[str, str] = {}
        for value, replacement in _values_in_place(recorded, live, self._known):
            learned.setdefault(value, replacement)
        return learned

    def substitute(self, recorded: Mapping[str, str], urls: Collection[str] = ()) -> None:
        """Replace live values by recorded ones from now on; `recorded` has the recorded ones by the live ones.

        A short one is replaced where it stands alone: it is also a part of words and numbers by chance. With
        `urls`, such as `http://shop.test/items/`, values are only replaced as the segment that follows one, with or
        without its origin.
        """
        for url in urls:
            site, _, path = url.partition("://")[2].partition("/")
            self._segments.setdefault(f"/{path}", _DrawnSegments(f"/{path}")).add(f"//{site}", recorded)
        if urls:
            self._segments = dict(sorted(self._segments.items(), key=lambda pair: len(pair[0])))
            return
        for value, replacement in recorded.items():
            self._search_alone(each for each in (value, replacement) if len(each) < MIN_SECRET_LENGTH)
            for _, encode in ENCODINGS:
                self._replacements.pop(encode(value), None)
                self._restorations[encode(replacement).encode()] = encode(value).encode()
        self.add_all(recorded)

    def _recognize(self, candidates: Iterable[str]) -> None:
        """Recognize values, and the secret parts of tokens that begin with a prefix."""
        shortest = min(self._lengths)
        for candidate in candidates:
            if len(candidate) >= shortest and candidate not in self._seen:
                self._seen.add(candidate)
                tokens = find_tokens(candidate) if may_have_token(candidate) else ()
                self._recognize_exactly(candidate, *(token.secret for token in tokens))

    def _recognize_exactly(self, *values: str) -> None:
        for each in values:
            if len(each) not in self._lengths:
                continue
            replacement = make_stand_in(each)
            if replacement in self._known and each not in self._known:
                self.add(each, replacement)
                for _, encode in ENCODINGS:
                    self._restorations.setdefault(encode(replacement).encode(), encode(each).encode())
                    self._generated.setdefault(encode(replacement).encode(), encode(each).encode())


OTHER_RECORD: Final = "-other"
"""Follows a live segment that has the text of a recorded one, and names something else than in the recording."""
_ROOT: Final = r"(?<![\w./%:\\-])"
"""Where a path from the root of a site may begin."""


class _DrawnSegments:
    """Segments of URLs that stand for recorded ones where they follow one path, as it is or encoded; mutable.

    Different live segments are never shown as the same one: a link to another record must not look like the recorded
    link. One that has the text of a recorded one, and does not stand for one, is marked.
    """

    def __init__(self, path: str) -> None:
        """Replace what follows `path`, which begins and ends with a slash."""
        self._written = _spellings(path)
        self._sites: set[str] = set()
        """Hosts and ports after `//`."""
        self._live: dict[str, str] = {}
        """By the recorded ones."""
        self._recorded: dict[str, str] = {}
        """By the live ones, as far as only one stands for each."""
        self._ambiguous: set[str] = set()
        """Recorded ones in whose place there were several live ones."""

    def add(self, site: str, recorded: Mapping[str, str]) -> None:
        """Let live segments stand for recorded ones from now on, also after this `//host`."""
        self._sites.add(site)
        for live, one in recorded.items():
            if self._recorded.setdefault(live, one) == one and self._live.setdefault(one, live) != live:
                self._ambiguous.add(one)
        self._recorded = {live: one for live, one in self._recorded.items() if one not in self._ambiguous}

    def replace(self, text: str) -> str:
        """Return a text with live segments as they are recorded."""
        return self._substitute(text, {one: one + OTHER_RECORD for one in self._live} | self._recorded)

    def restore(self, text: str) -> str:
        """Return a recorded text with the live segments."""
        return self._substitute(text, {one: live for live, one in self._recorded.items()})

    def replace_bytes(self, data: bytes) -> bytes:
        """Return bytes with live segments as they are recorded."""
        return self._in_bytes(data, self.replace)

    def restore_bytes(self, data: bytes) -> bytes:
        """Return recorded bytes with the live segments."""
        return self._in_bytes(data, self.restore)

    def _in_bytes(self, data: bytes, change: Callable[[str], str]) -> bytes:
        if not any(each.encode() in data for each in self._written):
            return data
        return change(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def _substitute(self, text: str, targets: Mapping[str, str]) -> str:
        if not targets or not any(each in text for each in self._written):
            return text
        hosts = sorted({re.escape(re.sub(r":\d+$", "", each.removeprefix("//"))) for each in self._sites})
        root = rf"{_ROOT}(?:\.?(?:{'|'.join(hosts)}))?"  # a cookie is kept for a host and a path
        written = zip(_spellings(":"), *map(_spellings, sorted(self._sites)), strict=True)
        before = "|".join(
            f"(?:(?:(?:https?|wss?){re.escape(colon)})?(?:{'|'.join(map(re.escape, sites))})|{root}){re.escape(path)}"
            for (colon, *sites), path in zip(written, self._written, strict=True)
        )
        segments = "|".join(map(re.escape, sorted(targets, key=len, reverse=True)))
        pattern = rf"({before})({segments})(?![\w-])"
        return re.sub(pattern, lambda found: f"{found[1]}{targets[found[2]]}", text)


def _spellings(part: str) -> tuple[str, str, str]:
    """Return a part of a URL as it is, in JSON with escaped slashes, and as it is sent in a parameter."""
    return part, part.replace("/", "\\/"), quote(part, safe="")


_TOKEN: Final = re.compile(r"[A-Za-z0-9_.~+%-]+={0,2}")
"""A whole token; stand-ins replace only those of its segments that look random."""
_CLEAR_BASE64: Final = (
    r"(?=[A-Za-z0-9/]*[A-Za-z0-9]\+[A-Za-z0-9])"
    r"""(?=(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?["'])"""
)
"""A value of whole groups with a plus sign, which paths seldom have."""
_NO_PATH: Final = (
    r"""(?![^"']*/[a-z]{4,}["'/])(?![a-z]{4,}/|[a-z]+:)"""
    rf"(?:{_CLEAR_BASE64}|(?!/?(?:[A-Za-z]?[a-z]+|[A-Z]{{2,5}}|[a-z]?[0-9]+)/))"
)
"""No path and no URL: no word between slashes, nor a word or number before the first one unless it is surely Base64."""
_BASE64: Final = r"(?:[A-Za-z0-9_+-][A-Za-z0-9_+/:-]+|/[A-Za-z0-9+/]{23,})={0,2}"
_QUOTED_OR_PLAIN: Final = re.compile(rf"""(?<=["']){_NO_PATH}{_BASE64}(?=["'])|{_TOKEN.pattern}""")
"""A whole token, in quotes also in Base64 with its slashes, or of several parts with colons; no path, and no URL."""
_QUOTES: Final = ('"', "'")
_CONTEXT_LENGTHS: Final = (60, 24, 12)
"""Characters before a token that must be equal; fewer if something near it changed as well."""
_CONTEXT_AFTER: Final = 8
_MEMBER: Final = re.compile(r"""["'][^"'\n]{1,60}["']\s*:\s*["']$""")
"""The name of the member of an object whose value a token is."""


def _values_in_place(recorded: str, live: str, known: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield each token of a live text that has the place of a token with stand-ins, and that token."""
    if _has_none(recorded, known):
        return
    places: dict[tuple[str, str], list[str]] = {}
    tokens_found = [each for each in _QUOTED_OR_PLAIN.finditer(recorded) if not _has_none(each[0], known)]
    end = 0
    for place, found in enumerate(tokens_found):
        until = tokens_found[place + 1].start() if place + 1 < len(tokens_found) else len(recorded)
        before = recorded[max(end, found.start() - _CONTEXT_LENGTHS[0]) : found.start()].rpartition("\n")[2]
        after = recorded[found.end() : min(found.end() + _CONTEXT_AFTER, until)].partition("\n")[0]
        places.setdefault((before, after), []).append(found[0])
        end = found.end()
    for (before, after), tokens in places.items():
        values = _tokens_between(live, before, after)
        of_values = tokens if len(values) == len(tokens) else tokens[:1] * len(values) if len(set(tokens)) == 1 else []
        for pair in zip(values, of_values, strict=False):
            pairs = (pair, *_segments_in_place(*pair, known)) if _may_be_drawn(*pair) else ()
            yield from ((new, old) for new, old in pairs if new not in recorded and _has_none(new, known))


def _has_none(text: str, stand_ins: frozenset[str]) -> bool:
    return stand_ins.isdisjoint(_CANDIDATE.findall(text))


def _segments_in_place(value: str, token: str, known: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield the segments with stand-ins of a token of several parts, which pages may send alone, by the live ones.

    There are none unless all else is equal: the parts of a token in Base64 have no meaning.
    """
    if _TOKEN.sub("-", value) != _TOKEN.sub("-", token):
        return
    segments = list(zip(_TOKEN.findall(value), _TOKEN.findall(token), strict=True))
    drawn = [(new, old) for new, old in segments if not _has_none(old, known)]
    if len(segments) > 1 and all(pair in drawn or pair[0] == pair[1] for pair in segments):
        yield from (pair for pair in drawn if _may_be_drawn(*pair))


def _tokens_between(text: str, before: str, after: str) -> list[str]:
    member = _MEMBER.search(before)
    contexts = [(before[-length:], after) for length in _CONTEXT_LENGTHS]
    contexts += [] if member is None else [(member[0], after[:1])]
    for context, following in contexts:
        if not context.strip():
            return []
        is_quoted = context.endswith(_QUOTES) and following.startswith(_QUOTES)
        token = rf"{_NO_PATH}{_BASE64}|{_TOKEN.pattern}" if is_quoted else _TOKEN.pattern
        pattern = f"{re.escape(context)}({token}){re.escape(following)}"
        if found := re.findall(pattern, text):
            return found
    return []


def _may_be_drawn(value: str, token: str) -> bool:
    """Return whether a value may be drawn from what a token was: another one that looks random, of a similar length."""
    shortest, longest = sorted((len(value), len(token)))
    is_random = any(looks_random(each) for each in _CANDIDATE.findall(value)) or bool(_UUID.fullmatch(value))
    return value != token and is_random and longest <= 2 * shortest
