"""Find unnamed secrets while tool calls are recorded."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from eikon_engine.redact.found import SecretDetector
from eikon_engine.trace.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from eikon_engine.redact.rules import RedactionRules
    from eikon_engine.scenario.stored_result import ToolResultValue
    from eikon_engine.trace.found_secret import FoundSecret


class SecretFinder:
    """Redact named secrets, and those found while a run is recorded."""

    def __init__(self, secrets: Mapping[str, str], rules: RedactionRules | None, key: bytes) -> None:
        """Find secrets by `rules`, none if None; `key` is random per recording and never stored."""
        self._found = None if rules is None else SecretDetector(rules, key)
        self.redactor = Redactor(secrets, None if self._found is None else self._found.stand_ins)

    @property
    def found(self) -> tuple[FoundSecret, ...]:
        """Return the found secrets, without their values."""
        return () if self._found is None else self._found.table

    def find_in(self, value: ToolResultValue | Mapping[str, JsonValue], *, made: bool) -> None:
        """Search all strings and bytes of a value."""
        if self._found is None:
            return
        discover = self._found.search
        texts, blobs = _split_bytes(value)
        self._found.add(discover.in_values("body", texts), by_page=made)
        self._found.add(discover.in_text(json.dumps(texts, ensure_ascii=False)), by_page=made)
        for blob in blobs:
            self._found.add(discover.in_body(blob, ""), by_page=made)


def _split_bytes(value: object) -> tuple[JsonValue, list[bytes]]:
    """Split a value into JSON without bytes, and the bytes."""
    blobs: list[bytes] = []

    def plain(each: Any) -> JsonValue:  # noqa: ANN401 - any argument or result of a tool
        match each:
            case bytes():
                blobs.append(each)
                return None
            case list():
                return [plain(one) for one in each]
            case dict():
                return {name: plain(one) for name, one in each.items()}
            case _:
                return cast("JsonValue", each)

    return plain(value), blobs
