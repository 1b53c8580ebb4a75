"""Typed access to the JSON objects of a HAR file, which may contain unknown fields."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

from eikon_engine.trace.field_errors import field_error


@dataclass(frozen=True, slots=True, kw_only=True)
class HarNode:
    """One JSON object with its path in the file."""

    value: Mapping[str, object]
    path: str
    source: str

    def node(self, name: str) -> HarNode:
        """Return a required object."""
        return self._node(self.value.get(name), self._path(name))

    def optional_node(self, name: str) -> HarNode | None:
        """Return an optional object; None if it is absent or null."""
        return self.node(name) if self.value.get(name) is not None else None

    def nodes(self, name: str) -> tuple[HarNode, ...]:
        """Return a list of objects; empty if it is absent or null."""
        value = self.value.get(name)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise field_error(self.source, self._path(name), "a list", value)
        return tuple(self._node(item, f"{self._path(name)}[{place}]") for place, item in enumerate(value))

    def text(self, name: str) -> str:
        """Return a required string."""
        value = self.value.get(name)
        if not isinstance(value, str):
            raise field_error(self.source, self._path(name), "a string", value)
        return value

    def optional_text(self, name: str) -> str | None:
        """Return an optional string; None if it is absent or null."""
        return self.text(name) if self.value.get(name) is not None else None

    def number(self, name: str) -> float:
        """Return a required finite number."""
        value = self.value.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
            raise field_error(self.source, self._path(name), "a finite number", value)
        return float(value)

    def optional_number(self, name: str) -> float | None:
        """Return an optional finite number; None if it is absent or null."""
        return self.number(name) if self.value.get(name) is not None else None

    def pairs(self, name: str) -> tuple[tuple[str, str], ...]:
        """Return a list of objects with `name` and `value` as pairs, without HTTP/2 pseudo-headers."""
        pairs = ((each.text("name"), each.text("value")) for each in self.nodes(name))
        return tuple(pair for pair in pairs if not pair[0].startswith(":"))

    def _path(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def _node(self, value: object, path: str) -> HarNode:
        if not isinstance(value, Mapping):
            raise field_error(self.source, path, "an object", value)
        return HarNode(value=value, path=path, source=self.source)
