"""Read YAML written by people, as JSON values with their positions in the text.

YAML 1.2 with its core schema (https://yaml.org/spec/1.2.2/#103-core-schema): `no`, `on` and dates are strings. Only
what JSON can express is accepted: one document, string keys, no duplicate keys, anchors, aliases, tags or infinities.
ruamel.yaml is the parser, since it supports YAML 1.2 and reports positions; PyYAML supports YAML 1.1 only. Its scalar
resolution is not used: the core schema is implemented here.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from eikon_engine.errors import RequirementError, YamlError
from eikon_engine.trace.field_errors import fault_text, field_parts, path_text
from eikon_engine.trace.record import MAX_DEPTH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path as FilePath

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indices that lead to a value, from the root."""
Model = TypeVar("Model", bound=BaseModel)

_NULL: Final = re.compile(r"null|Null|NULL|~|")
_TRUE: Final = re.compile(r"true|True|TRUE")
_FALSE: Final = re.compile(r"false|False|FALSE")
_DECIMAL: Final = re.compile(r"[-+]?[0-9]+")
_OCTAL: Final = re.compile(r"0o([0-7]+)")
_HEXADECIMAL: Final = re.compile(r"0x([0-9a-fA-F]+)")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NO_NUMBER: Final = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_MOST_DIGITS: Final = 400
"""Limit of the digits of a number: Python refuses longer integers by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A position in a text, from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        """Return `line 3, column 5`."""
        return f"line {self.line}, column {self.column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlText:
    """A parsed YAML document with the positions of its values."""

    source: str
    """Names the file in messages."""
    data: JsonValue
    places: Mapping[Path, Place]
    """Start of each value; empty if the data was not parsed from a text."""
    keys: Mapping[Path, Place]
    """Start of the key of each mapping value."""

    def place(self, path: Path) -> Place:
        """Return the start of a value, or of its nearest ancestor with a known position."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, Place(line=1, column=1))

    def error(self, path: Path, message: str, *, at_key: bool = False) -> YamlError:
        """Build the error for a value, with its position."""
        place = (self.keys.get(path) if at_key else None) or self.place(path)
        where = f"{place}: " if self.places else ""
        name = path_text(path)
        return YamlError(f"{self.source}: {where}{name + ': ' if name else ''}{message}")

    def read_as(self, model: type[Model], path: Path = ()) -> Model:
        """Validate the value at `path` as a strict model.

        Raises:
            YamlError: a field is missing, unknown or invalid; the message contains its position.
        """
        value = self.value(path)
        try:
            return model.model_validate_json(json.dumps(value))
        except ValidationError as error:
            faults = error.errors(include_url=False)
            parts = field_parts(faults[0], value)
            here = [fault for fault in faults if field_parts(fault, value) == parts]
            is_key = faults[0]["type"] == "extra_forbidden" or faults[0]["loc"][-1:] == ("[key]",)
            raise self.error((*path, *parts), fault_text(here), at_key=is_key) from error

    def value(self, path: Path) -> JsonValue:
        """Return the value at an existing path."""
        value: Any = self.data
        for part in path:
            value = value[part]
        found: JsonValue = value
        return found


def read_yaml_file(path: FilePath) -> YamlText:
    """Read a YAML file.

    Raises:
        YamlError: the file cannot be read, or is not YAML as described above.
        RequirementError: ruamel.yaml is not installed.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise YamlError(f"{path}: cannot read the file ({error.strerror}); check the path") from error
    except UnicodeDecodeError as error:
        raise YamlError(f"{path}: expected UTF-8 text, got invalid bytes at offset {error.start}") from error
    return read_yaml(text, str(path))


def read_yaml(text: str, source: str) -> YamlText:
    """Parse a YAML text; `source` names it in messages. An empty text is null.

    Raises:
        YamlError: the text is not YAML as described above; the message contains line and column.
        RequirementError: ruamel.yaml is not installed.
    """
    builder = _Builder(source)
    for event in _events(text, source):
        builder.take(event)
    places = builder.places or {(): Place(line=1, column=1)}
    return YamlText(source=source, data=builder.data, places=places, keys=builder.keys)


def _events(text: str, source: str) -> Iterator[Any]:
    try:
        from ruamel.yaml import YAML  # noqa: PLC0415 - an extra, and slow to import
        from ruamel.yaml.error import MarkedYAMLError, YAMLError  # noqa: PLC0415 - as above
    except ImportError as error:
        message = f"{source}: missing library: ruamel.yaml, to read YAML; install eikon-engine[scenario]"
        raise RequirementError(message) from error
    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{Place(line=mark.line + 1, column=mark.column + 1)}: " if mark else ""
        problem = error.problem or error.context
        raise YamlError(f"{source}: {where}invalid YAML: {problem}; correct the line") from error
    except YAMLError as error:
        raise YamlError(f"{source}: invalid YAML: {str(error).partition(chr(10))[0]}") from error


@dataclass(slots=True)
class _Open:
    """A list or mapping that is still being read."""

    value: list[JsonValue] | dict[str, JsonValue]
    path: Path
    key: str | None = None
    """Key of the next value."""


@dataclass(slots=True)
class _Builder:
    """Builds values from parser events."""

    source: str
    data: JsonValue = None
    places: dict[Path, Place] = field(default_factory=dict)
    keys: dict[Path, Place] = field(default_factory=dict)
    open: list[_Open] = field(default_factory=list)
    documents: int = 0

    def take(self, event: Any) -> None:  # noqa: ANN401 - events of ruamel.yaml, imported where they are made
        """Process the next event."""
        place = Place(line=event.start_mark.line + 1, column=event.start_mark.column + 1)
        match type(event).__name__:
            case "DocumentStartEvent":
                self.documents += 1
                if self.documents > 1:
                    raise self._error(place, "expected one document, got a second one")
            case "ScalarEvent":
                self._demand_plain(event, place)
                self._scalar(event, place)
            case "SequenceStartEvent":
                self._begin(event, place, [])
            case "MappingStartEvent":
                self._begin(event, place, {})
            case "SequenceEndEvent" | "MappingEndEvent":
                self.open.pop()
            case "AliasEvent":
                raise self._error(place, f"expected a value, got the alias *{event.anchor}; write the value out")
            case _:
                pass

    def _scalar(self, event: Any, place: Place) -> None:  # noqa: ANN401 - as above
        value = self._plain_value(event.value, place) if event.style is None else self._text(event.value, place)
        inner = self.open[-1] if self.open else None
        if inner is not None and isinstance(inner.value, dict) and inner.key is None:
            self._key(inner, value, place)
        else:
            self._add(value, place)

    def _key(self, inner: _Open, value: JsonValue, place: Place) -> None:
        if not isinstance(value, str):
            raise self._error(place, f"expected a string as a key, got {json.dumps(value)}; write it in quotes")
        path = (*inner.path, value)
        if path in self.keys:
            raise self._error(place, f"duplicate key {value!r}, first in {self.keys[path]}; remove one of them")
        self.keys[path] = place
        inner.key = value

    def _begin(self, event: Any, place: Place, value: list[JsonValue] | dict[str, JsonValue]) -> None:  # noqa: ANN401 - as above
        self._demand_plain(event, place)
        if self.open and isinstance(self.open[-1].value, dict) and self.open[-1].key is None:
            raise self._error(place, "expected a string as a key, got a list or a mapping")
        if len(self.open) == MAX_DEPTH:
            raise self._error(place, f"expected at most {MAX_DEPTH} levels of lists and mappings, got more")
        self.open.append(_Open(value=value, path=self._add(value, place)))

    def _add(self, value: JsonValue, place: Place) -> Path:
        """Add a value to the open collection; return its path."""
        if not self.open:
            self.data = value
            self.places[()] = place
            return ()
        inner = self.open[-1]
        if isinstance(inner.value, list):
            path: Path = (*inner.path, len(inner.value))
            inner.value.append(value)
        else:
            key = str(inner.key)
            path = (*inner.path, key)
            inner.value[key] = value
            inner.key = None
        self.places[path] = place
        return path

    def _demand_plain(self, event: Any, place: Place) -> None:  # noqa: ANN401 - as above
        if event.anchor is not None:
            raise self._error(place, f"expected a plain value, got the anchor &{event.anchor}; write values out")
        if event.tag is not None:
            raise self._error(place, f"expected a plain value, got the tag {event.tag}; remove it")

    def _plain_value(self, text: str, place: Place) -> JsonValue:
        """Resolve an unquoted scalar by the core schema."""
        if _NULL.fullmatch(text):
            return None
        if _TRUE.fullmatch(text) or _FALSE.fullmatch(text):
            return _TRUE.fullmatch(text) is not None
        for pattern, base in ((_OCTAL, 8), (_HEXADECIMAL, 16)):
            if (found := pattern.fullmatch(text)) is not None:
                return int(found[1], base)
        if _FLOAT.fullmatch(text) is not None and len(text) <= _MOST_DIGITS:
            number = int(text) if _DECIMAL.fullmatch(text) else float(text)
            if number in (float("inf"), float("-inf")):
                raise self._error(place, f"expected a number, got {text}, which is too large")
            return number
        if _NO_NUMBER.fullmatch(text):
            raise self._error(place, f"expected a finite number, got {text}; write text in quotes")
        return text

    def _text(self, text: str, place: Place) -> str:
        """Join surrogate pairs, which JSON writes as two escapes, into one character."""
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError as error:
            raise self._error(place, "expected text, got a lone surrogate (half of a character)") from error

    def _error(self, place: Place, message: str) -> YamlError:
        return YamlError(f"{self.source}: {place}: {message}")
