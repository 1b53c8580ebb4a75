"""Replace found secrets by their stand-ins, and restore those that pages generate themselves."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.trace.encodings import ENCODINGS
from eikon_engine.trace.secret_names import MIN_SECRET_LENGTH
from eikon_engine.trace.stand_in import make_stand_in

if TYPE_CHECKING:
    from collections.abc import Iterable

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

    @property
    def is_noop(self) -> bool:
        """Whether no text is changed."""
        return not self._replacements

    def add(self, value: str, replacement: str) -> None:
        """Replace a value from now on, in all encodings; longer values take precedence over values they contain."""
        self._is_plain = self._is_plain and bool(_CANDIDATE.fullmatch(value))
        for _, encode in ENCODINGS:
            self._replacements.setdefault(encode(value), encode(replacement))
        self._replacements = dict(sorted(self._replacements.items(), key=lambda pair: (-len(pair[0]), pair[0])))
        self._byte_replacements = {old.encode(): new.encode() for old, new in self._replacements.items()}

    def replace_text(self, text: str) -> str:
        """Return a text with values replaced by stand-ins."""
        if len(text) < MIN_SECRET_LENGTH or (self._is_plain and not _ENCODED_CANDIDATE.search(text)):
            return text
        present = [each for each in self._replacements if each in text]
        if not present:
            return text
        return re.sub("|".join(map(re.escape, present)), lambda found: self._replacements[found[0]], text)

    def replace_bytes(self, data: bytes) -> bytes:
        """Return bytes with values replaced by stand-ins."""
        if len(data) < MIN_SECRET_LENGTH:
            return data
        present = [each for each in self._byte_replacements if each in data]
        if not present:
            return data
        return re.sub(b"|".join(map(re.escape, present)), lambda found: self._byte_replacements[found[0]], data)

    def restore_bytes(self, data: bytes) -> bytes:
        """Return the data unchanged: recording never restores values."""
        return data


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

    @property
    def is_noop(self) -> bool:
        """Whether there is nothing to recognize."""
        return not self._known

    def replace_text(self, text: str) -> str:
        """Return a text with recognized values replaced by stand-ins."""
        if self._known:
            self._recognize(_CANDIDATE.findall(text))
        return super().replace_text(text)

    def replace_bytes(self, data: bytes) -> bytes:
        """Return bytes with recognized values replaced by stand-ins."""
        if self._known:
            self._recognize(each.decode() for each in _CANDIDATE_BYTES.findall(data))
        return super().replace_bytes(data)

    def restore_bytes(self, data: bytes) -> bytes:
        """Return recorded bytes with the values that the pages of this replay generated."""
        present = [each for each in self._restorations if each in data]
        if not present:
            return data
        return re.sub(b"|".join(map(re.escape, present)), lambda found: self._restorations[found[0]], data)

    def _recognize(self, candidates: Iterable[str]) -> None:
        for each in candidates:
            if len(each) not in self._lengths or each in self._seen:
                continue
            self._seen.add(each)
            replacement = make_stand_in(each)
            if replacement in self._known and each not in self._known:
                self.add(each, replacement)
                for _, encode in ENCODINGS:
                    self._restorations.setdefault(encode(replacement).encode(), encode(each).encode())
