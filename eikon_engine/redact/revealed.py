"""Restore secret values in requests to the site that issued them; nothing restored is written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eikon_engine.trace.encodings import ENCODINGS

if TYPE_CHECKING:
    from eikon_engine.redact.found import SecretDetector


class SecretRestorer:
    """Maps stand-ins back to the secrets found so far."""

    def __init__(self, detector: SecretDetector | None) -> None:
        """Take the current mapping; empty if secrets are not searched for."""
        values = {} if detector is None else detector.values_by_stand_in
        pairs = {encode(old): encode(new) for old, new in values.items() for _, encode in ENCODINGS}
        self._values = {old.encode(): new.encode() for old, new in pairs.items()}
        longest_first = sorted(self._values, key=lambda each: (-len(each), each))
        self._pattern = re.compile(b"|".join(map(re.escape, longest_first)))

    def restore_bytes(self, data: bytes) -> bytes:
        """Return bytes with the secret values."""
        return self._pattern.sub(lambda found: self._values[found[0]], data) if self._values else data

    def restore_text(self, text: str) -> str:
        """Return a text with the secret values."""
        return self.restore_bytes(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
