"""Replace found secrets by their stand-ins, and put back those that pages make themselves."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.trace.encodings import ENCODINGS
from eikon_engine.trace.secret_names import SHORTEST
from eikon_engine.trace.stand_in import stand_in

if TYPE_CHECKING:
    from collections.abc import Iterable

_CANDIDATE: Final = re.compile(r"[A-Za-z0-9_-]{8,}")
_RUN: Final = re.compile(r"[A-Za-z0-9_+/-]{8,}")
"""What is in every text that holds such a value, also in Base64."""
_CANDIDATE_BYTES: Final = re.compile(rb"[A-Za-z0-9_-]{8,}")


class StandIns:
    """Values and their stand-ins; mutable, since values are found while pages run.

    Texts are searched for each value first, which is many times quicker than one pattern of all of them.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._places: dict[str, str] = {}
        self._byte_places: dict[bytes, bytes] = {}
        self._is_plain = True
        """Whether all values are long runs of letters and digits, so that a text without one holds none."""

    @property
    def is_idle(self) -> bool:
        """Whether no text is ever changed."""
        return not self._places

    def add(self, value: str, replacement: str) -> None:
        """Replace a value from now on, in all encodings; longer ones first, so that one inside another is whole."""
        self._is_plain = self._is_plain and bool(_CANDIDATE.fullmatch(value))
        for _, encode in ENCODINGS:
            self._places.setdefault(encode(value), encode(replacement))
        self._places = dict(sorted(self._places.items(), key=lambda pair: (-len(pair[0]), pair[0])))
        self._byte_places = {old.encode(): new.encode() for old, new in self._places.items()}

    def text(self, text: str) -> str:
        """Return the text with stand-ins."""
        if len(text) < SHORTEST or (self._is_plain and not _RUN.search(text)):
            return text
        present = [each for each in self._places if each in text]
        if not present:
            return text
        return re.sub("|".join(map(re.escape, present)), lambda found: self._places[found[0]], text)

    def data(self, data: bytes) -> bytes:
        """Return the bytes with stand-ins."""
        if len(data) < SHORTEST:
            return data
        present = [each for each in self._byte_places if each in data]
        if not present:
            return data
        return re.sub(b"|".join(map(re.escape, present)), lambda found: self._byte_places[found[0]], data)

    def restore(self, data: bytes) -> bytes:
        """Return recorded bytes: in a recording, stand-ins stay what they are."""
        return data


class KnownStandIns(StandIns):
    """The stand-ins of a recording, for a replay of it.

    What was served stands in the recording as its stand-in, and pages have nothing else. What pages make themselves
    they make again: it is known by what its stand-in would be, and put back into what they are answered.
    """

    def __init__(self, known: Iterable[str]) -> None:
        """Recognize the values behind stand-ins that are made with the public key."""
        super().__init__()
        self._known = frozenset(known)
        self._lengths = frozenset(map(len, self._known))
        self._seen: set[str] = set()
        self._made: dict[bytes, bytes] = {}

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to recognize."""
        return not self._known

    def text(self, text: str) -> str:
        """Return the text with the stand-ins of what is recognized in it."""
        if self._known:
            self._learn(_CANDIDATE.findall(text))
        return super().text(text)

    def data(self, data: bytes) -> bytes:
        """Return the bytes with the stand-ins of what is recognized in them."""
        if self._known:
            self._learn(each.decode() for each in _CANDIDATE_BYTES.findall(data))
        return super().data(data)

    def restore(self, data: bytes) -> bytes:
        """Return recorded bytes with what the pages of this replay made themselves."""
        present = [each for each in self._made if each in data]
        if not present:
            return data
        return re.sub(b"|".join(map(re.escape, present)), lambda found: self._made[found[0]], data)

    def _learn(self, candidates: Iterable[str]) -> None:
        for each in candidates:
            if len(each) not in self._lengths or each in self._seen:
                continue
            self._seen.add(each)
            replacement = stand_in(each)
            if replacement in self._known and each not in self._known:
                self.add(each, replacement)
                for _, encode in ENCODINGS:
                    self._made.setdefault(encode(replacement).encode(), encode(each).encode())
